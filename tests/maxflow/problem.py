"""The sample of maximum flow for the tests of all problems: see tests/support/sample.py."""

from __future__ import annotations

from typing import Any

import numpy as np

from preflow.generators import FAMILIES
from preflow.graph.residual import ResidualArrays, build_residual
from preflow.network import distances_to_sink
from preflow.solving.method import Method
from preflow.solving.run import Control
from tests.support.sample import Sample

COUNTED = {"rmf-wide": "8x6", "rmf-long": "4x16", "rlg-wide": "16x8", "ac-dense": "40", "dinic-bad": "60"}


def exact_heights(net: ResidualArrays) -> Any:
    n, zero = len(net.excess), np.uint64(0)
    height, order = np.full(n, n + 1, dtype=np.uint32), np.empty(n, dtype=np.uint32)
    distances_to_sink(net, height, order, zero, zero, zero, False)
    return height


def solve(method: Method, control: Control) -> bool:
    problem = FAMILIES["rmf-wide"].generate("4x3", seed=1)
    net = build_residual(problem.network, np.array([problem.source]), np.array([problem.sink])).arrays
    before = net.residual + net.residual[net.reverse]
    total = net.excess.sum() - net.sink_residual.sum()
    height = method.solve(net, method.make_options(None), control)
    np.testing.assert_array_equal(height, exact_heights(net))
    np.testing.assert_array_equal(net.residual + net.residual[net.reverse], before)
    assert net.excess.sum() - net.sink_residual.sum() == total
    assert all((part >= 0).all() for part in (net.residual, net.excess, net.sink_residual))
    return not net.excess[height <= len(height)].any()


def counted(method: Method) -> dict[str, tuple[Any, ...]]:
    return {f"{name} {size}": (FAMILIES[name].generate(size),) for name, size in COUNTED.items()}


def rounds(method: Method) -> dict[str, tuple[tuple[Any, ...], dict[str, Any]]]:
    return {"max_flow": ((FAMILIES["rmf-wide"].generate("16x8", seed=1),), {})}


SAMPLE = Sample(
    arguments=([(0, 1, 3), (1, 2, 2)], 0, 2),
    modules={"max_flow": 67, "min_cut": 68},  # eager.py
    solve=solve,
    counted=counted,
    answer=("flow",),
    rounds=rounds,
    fuzz="flows",
)
