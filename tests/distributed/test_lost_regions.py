"""Regions that are lost in the middle of a sweep, and their successors: the cut stays the same."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import preflow
from preflow.distributed.exchange import Order, RegionTask, Report, Worker
from preflow.distributed.grid_region import GridRegion
from preflow.distributed.grid_source import GridSource, grid_tasks
from preflow.distributed.memory import MemoryExchange
from preflow.distributed.partition import divide
from preflow.distributed.sweeps import Progress, relabel, run_sweeps
from preflow.errors import VerificationError
from preflow.solving.run import Control
from tests.distributed.test_regions import grids, proved
from tests.support.long_paths import serpentine


class LosingExchange(MemoryExchange):
    """Loses some regions now and then, before or after others have got their messages."""

    def __init__(self, seed: int, share: float, losses: int = 10, threads: int = 1) -> None:
        super().__init__(threads)
        self.lost = 0
        self._random = np.random.default_rng(seed)
        self._share, self._most = share, losses

    def scatter(self, tasks: Sequence[RegionTask], control: Control) -> list[Report]:
        """Build all regions."""
        self._tasks = tasks
        return super().scatter(tasks, control)

    def sweep(self, order: Order) -> list[Report]:
        """Run one sweep, or come back from a loss within it."""
        if self.lost >= self._most or self._random.random() >= self._share:
            reports = super().sweep(order)
        else:
            reports = self._lose(order)
        for worker in self.workers:
            worker.check_labels()
        return reports

    def _lose(self, order: Order) -> list[Report]:
        kept = [worker.residual.copy() for worker in self.workers]
        sent = [worker.discharge(order, self._control) for worker in self.workers]
        is_lost = self._random.random(len(sent)) < 0.4
        is_lost[self._random.integers(len(sent))] = True
        self.lost += int(is_lost.sum())
        for worker in self.workers:
            before = None
            if is_lost[worker.number]:
                new = Worker(worker.number, self._tasks[worker.number].build())
                new.send_again(kept[worker.number], self._control)
                self.workers[worker.number] = new
                continue
            if self._random.random() < 0.5:
                before = worker.outgoing()
                worker.receive({other: sent[other][worker.number] for other in worker.border.neighbours})
            worker.take_back(before)
        posts = [{i: worker.idle_message(i) for i in worker.border.neighbours} for worker in self.workers]
        raised = relabel(
            [
                worker.receive({other: posts[other][worker.number] for other in worker.border.neighbours})
                for worker in self.workers
            ],
            may_fall=True,
        )
        for worker in self.workers:
            worker.raise_labels(raised)
        return [worker.report() for worker in self.workers]


def check_bounds(value: int) -> Any:
    def check(progress: Progress) -> None:
        assert progress.lower <= value <= progress.upper

    return check


def check(
    network: preflow.GridNetwork, regions: int, exchange: LosingExchange, *, on_gpu: bool = False
) -> None:
    """Solve, compare the cut with that of `grid_cut`, and prove it."""
    expected = preflow.grid_cut(network, method="serial-incremental-bfs")
    boxes = divide(network.shape, regions)
    tasks = grid_tasks(GridSource.of(network, None, None, None), boxes)
    tasks = [replace(task, on_gpu=on_gpu) for task in tasks]
    progress = run_sweeps(exchange, tasks, Control(), check_bounds(int(expected.value)))
    assert progress.lower == progress.upper == expected.value
    for box, side in zip(boxes.boxes(), exchange.collect(Worker.sink_side), strict=True):
        assert np.array_equal(expected.labels[box], ~side)
    assert proved(exchange) == expected.value
    exchange.close()


@given(grids(), st.integers(1, 27), st.integers(0, 2**32), st.sampled_from([0.3, 0.8]))
@settings(max_examples=80, deadline=None)
def test_grids(network: preflow.GridNetwork, regions: int, seed: int, share: float) -> None:
    check(network, regions, LosingExchange(seed, share))


@given(grids(), st.integers(1, 4), st.integers(0, 2**32))
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_grids_on_several_threads(
    monkeypatch: pytest.MonkeyPatch, network: preflow.GridNetwork, regions: int, seed: int
) -> None:
    monkeypatch.setattr(GridRegion, "_threads_for", lambda region, control: control.threads)
    check(network, regions, LosingExchange(seed, 0.5, threads=8))


@pytest.mark.parametrize("seed", range(4))
def test_a_path_through_all_regions(seed: int) -> None:
    """Flow passes a region many times; what a lost one has sent on must come from what it had got."""
    network = preflow.GridNetwork.from_arrays(*serpentine(100, 9))
    exchange = LosingExchange(seed, 0.2)
    check(network, 6, exchange)
    assert exchange.lost


@given(st.integers(0, 2**32), st.integers(1, 12))
@settings(max_examples=60, deadline=None)
def test_networks(seed: int, regions: int) -> None:
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 40))
    tail, head = rng.integers(0, n, (2, 5 * n))
    capacity = rng.integers(0, (3, 30, 2**40)[seed % 3], 5 * n)
    expected = preflow.min_cut((tail, head, capacity), 0, n - 1)
    exchange = LosingExchange(seed, 0.5)
    partition = rng.integers(0, regions, n)
    result = preflow.distributed.min_cut(
        (tail, head, capacity), 0, n - 1, partition=partition, exchange=exchange
    )
    assert result.value == expected.value
    result.verify()


@given(st.integers(0, 2**32), st.integers(2, 6), st.booleans())
@settings(max_examples=8, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_regions_on_a_gpu(device: Any, seed: int, regions: int, is_volume: bool) -> None:
    rng = np.random.default_rng(seed)
    shape = (18, 9, 5) if is_volume else (50, 20)
    source, sink = rng.integers(0, 40, (2, *shape)) * (rng.random((2, *shape)) < 0.4)
    network = preflow.GridNetwork.from_arrays(source, sink, rng.integers(0, 20, (len(shape), *shape)))
    check(network, regions, LosingExchange(seed, 0.5, losses=4), on_gpu=True)


def test_a_solve_that_is_stopped_after_a_loss() -> None:
    """Its bounds are valid, and it goes on."""
    rng = np.random.default_rng(5)
    source, sink = rng.integers(0, 40, (2, 40, 40)) * (rng.random((2, 40, 40)) < 0.4)
    network = preflow.GridNetwork.from_arrays(source, sink, 9)
    value = preflow.grid_cut(network).value
    exchange, control, sweeps = LosingExchange(1, 1.0, losses=1), Control(), []

    def stop(progress: Progress) -> None:
        assert progress.lower <= value <= progress.upper
        sweeps.append(progress)
        control.stop[0] = exchange.lost > 0

    run_sweeps(
        exchange, grid_tasks(GridSource.of(network, None, None, None), divide((40, 40), 4)), control, stop
    )
    assert exchange.lost


def lose_flow(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(GridRegion, "send_again", lambda region, flow, threads: None)


def keep_what_was_sent(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Worker, "take_back", lambda worker, before: None)


def keep_labels(patch: pytest.MonkeyPatch) -> None:
    only_raise = relabel
    patch.setitem(globals(), "relabel", lambda reports, may_fall: only_raise(reports))


@pytest.mark.parametrize("mutant", [lose_flow, keep_what_was_sent, keep_labels])
def test_mutants_are_found(mutant: Any) -> None:
    for seed in range(40):
        rng = np.random.default_rng(seed)
        source, sink = rng.integers(0, 40, (2, 30, 12)) * (rng.random((2, 30, 12)) < 0.3)
        network = preflow.GridNetwork.from_arrays(source, sink, rng.integers(0, 20, (2, 30, 12)))
        check(network, 6, LosingExchange(seed, 0.6))
        with pytest.MonkeyPatch.context() as patch:
            mutant(patch)
            try:
                check(network, 6, LosingExchange(seed, 0.6))
            except (AssertionError, VerificationError, ValueError):
                return
    pytest.fail("no grid told the mutant from the right one")
