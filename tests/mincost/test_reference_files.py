"""Every method finds the known optima of reference files, networks and assignments."""

from __future__ import annotations

import pytest

import preflow
from tests.support.paths import DATA, reference_instances

METHODS = [method.name for method in preflow.methods("min_cost_flow") if method.device == "cpu"]
#: The files of the repository come first; the same files elsewhere are not read again.
FILES = {path.name: (path, optimum) for path, optimum in reversed(reference_instances(".min", ".asn"))}


def test_the_files_are_there() -> None:
    assert sum(path.parent == DATA / "dimacs" for path, _ in FILES.values()) >= 9


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("name", FILES)
def test_known_optima(name: str, method: str) -> None:
    path, optimum = FILES[name]
    network = preflow.read_dimacs(path)
    result = preflow.min_cost_flow(network, method=method)
    assert result.cost == optimum
    result.verify()
