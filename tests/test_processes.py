"""Solves in child processes after solves in the parent, and what repeated solves leave behind."""

from __future__ import annotations

import multiprocessing
import os
from multiprocessing.connection import Connection
from pathlib import Path

import pytest

import preflow
from preflow.generators import FAMILIES

PARALLEL = [method.name for method in preflow.methods("max_flow") if method.parallel]
#: Seconds after which a child is taken to hang; a spawned one imports preflow and loads its kernels.
PATIENCE = 120
WARM_UP = 30
#: Bytes that the allocator may keep for itself, after 100 solves; a leak of one index a vertex takes 4 MB.
SLACK = 3 << 20


def solve(method: str) -> int | float:
    problem = FAMILIES["grid-2d"].generate("30x30", seed=1)
    result = preflow.max_flow(problem, method=method, threads=4)
    result.verify()
    return result.value


def solve_and_send(methods: list[str], connection: Connection) -> None:
    for method in methods:
        connection.send(solve(method))


@pytest.mark.parametrize("start", ["fork", "spawn"])
def test_child_solves_after_its_parent(start: str) -> None:
    if start not in multiprocessing.get_all_start_methods():
        pytest.skip(f"processes cannot {start} here")
    context = multiprocessing.get_context(start)
    expected = {method: solve(method) for method in PARALLEL}
    receiver, sender = context.Pipe(duplex=False)
    child = context.Process(target=solve_and_send, args=(PARALLEL, sender))
    child.start()
    sender.close()
    try:
        for method, value in expected.items():
            assert receiver.poll(PATIENCE), f"{method} hangs in the child"
            assert receiver.recv() == value
        child.join(PATIENCE)
        assert child.exitcode == 0
    finally:
        child.kill()
        child.join()
    assert {method: solve(method) for method in PARALLEL} == expected


def resident_bytes() -> int:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="resident memory is read from /proc")
@pytest.mark.parametrize("method", [*PARALLEL, "serial-fifo", "serial-hi-pr"])
def test_repeated_solves_leave_no_more_memory(method: str) -> None:
    problem = FAMILIES["grid-2d"].generate("100x100", seed=0)

    def solve_often(times: int) -> int:
        for _ in range(times):
            preflow.max_flow(problem, method=method, threads=2 if method in PARALLEL else None)
        return resident_bytes()

    before = solve_often(WARM_UP)
    assert solve_often(100) - before < SLACK
