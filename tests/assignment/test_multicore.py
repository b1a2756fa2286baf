"""What holds for every multicore assignment method: any number of threads gives a proved optimum."""

from __future__ import annotations

import zlib
from functools import partial
from typing import Any

import numpy as np
import pytest
import scipy.sparse
import scipy.sparse.csgraph
from scipy.optimize import linear_sum_assignment

import preflow
from preflow.assignment import cuda_lockfree, lockfree_scaling, shortest_paths
from preflow.assignment.lockfree_scaling import (
    COLUMN,
    NOWHERE,
    Arcs,
    Flow,
    fixing_threshold,
    make_flow,
    scaled,
)
from preflow.assignment.problem import METHODS
from preflow.assignment.solution import STOPPED
from preflow.cuda import runtime
from preflow.errors import InfeasibleError, InvalidInputError, SolverError, UnsuitableMethodError
from preflow.generators import COST_FAMILIES
from preflow.graph.cost_input import as_costs
from preflow.papers.lupinska import multicore_lockfree
from preflow.parallel.delays import make_delays
from preflow.solving import call
from preflow.solving.dispatch import find_method
from preflow.solving.run import Control
from tests.assignment.test_assignment import random_costs
from tests.invariants.lockfree_scaling import check_invariants as check_lockfree_scaling
from tests.support.cuda_on_cpu.device import CpuDevice, Sanitizer

pytestmark = pytest.mark.jit

PARALLEL = [method.name for method in METHODS if method.parallel]
NAME = "multicore-shortest-path"
KINDS = ["integer", "float", "ties", "large", "forbidden"]
THREADS = [1, 2, 5]


@pytest.fixture(autouse=True)
def small_costs_like_large_ones(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let small matrices be solved as large ones are, by threads that are held up at random."""
    monkeypatch.setattr(shortest_paths, "FEW_COLUMNS", 0)
    seed = zlib.crc32(request.node.name.encode())
    monkeypatch.setattr(call, "Control", partial(Control, delays=make_delays(16, seed)))


def expected_cost(costs: np.ndarray) -> Any:
    """Return the optimum, exact where costs are integers; None where there is no assignment."""
    try:
        rows, columns = linear_sum_assignment(costs)
    except ValueError:
        return None
    return sum(costs[rows, columns].tolist())


def check(costs: Any, expected: Any, **arguments: Any) -> None:
    """Solve and verify; the cost is the expected one, or there is none."""
    if expected is None:
        with pytest.raises(InfeasibleError):
            preflow.linear_assignment(costs, **arguments)
        return
    result = preflow.linear_assignment(costs, **arguments)
    result.verify()
    assert result.cost == (expected if isinstance(expected, int) else pytest.approx(expected, rel=1e-9))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("method", PARALLEL)
def test_agrees_with_scipy(method: str, kind: str) -> None:
    for seed in range(40):
        shape = tuple(np.random.default_rng(seed).integers(1, 10 if seed % 4 else 40, 2).tolist())
        costs = random_costs(shape, kind, seed)
        check(costs, expected_cost(costs), method=method, threads=THREADS[seed % 3])


@pytest.mark.parametrize("method", PARALLEL)
def test_sparse_and_partial(method: str) -> None:
    for seed in range(10):
        costs = random_costs((12, 9 + seed % 5), "forbidden", seed)
        stored = np.isfinite(costs)
        matrix = scipy.sparse.coo_array((costs[stored], np.nonzero(stored)), shape=costs.shape)
        check(matrix, expected_cost(costs), method=method, threads=2)
    costs[:3] = np.inf
    found = preflow.linear_assignment(costs, method=method, threads=2, partial=True)
    found.verify()
    assert found.cost == pytest.approx(preflow.linear_assignment(costs, partial=True).cost)


@pytest.mark.parametrize("method", ["multicore-auction", "multicore-lockfree"])
@pytest.mark.parametrize("family", ["uniform-integer", "geometric", "machol-wien", "low-rank", "neighbors"])
def test_families(method: str, family: str) -> None:
    costs = COST_FAMILIES[family](120)
    expected = preflow.linear_assignment(costs).cost
    for threads in (1, 3):
        result = preflow.linear_assignment(costs, method=method, threads=threads)
        result.verify()
        assert result.cost == pytest.approx(expected)


@pytest.mark.parametrize("method", ["multicore-auction", "multicore-lockfree"])
def test_more_threads_than_cores(method: str) -> None:
    for seed in range(60):
        costs = random_costs((4 + seed % 13,) * 2, KINDS[seed % 4], seed)
        check(costs, expected_cost(costs), method=method, threads=2 + seed % 13)


@pytest.mark.parametrize("threads", [2, 5, 16])
def test_stacks(threads: int) -> None:
    stack = random_costs((203, 6, 7), "integer", 1)
    one = preflow.linear_assignment(stack)
    many = preflow.linear_assignment(stack, method="multicore-shortest-path", threads=threads)
    many.verify()
    for part in ("row", "column", "u", "v", "cost"):
        np.testing.assert_array_equal(getattr(one, part), getattr(many, part))
    assert many.stats.augmentations == one.stats.augmentations


def test_a_stack_names_the_first_matrix_without_an_assignment() -> None:
    stack = random_costs((100, 4, 4), "float", 0)
    stack[[17, 40, 99], :3, :2] = np.inf
    stack[[17, 40, 99], :3, 2] = 1.0
    with pytest.raises(InfeasibleError) as caught:
        preflow.linear_assignment(stack, method="multicore-shortest-path", threads=4)
    assert caught.value.item == (17,)
    assert (len(caught.value.violating), len(caught.value.allowed)) in ((2, 1), (3, 2))


def put(costs: np.ndarray, item: int, cost: Any) -> np.ndarray:
    """Return a stack in which one cost of an item is replaced."""
    costs = costs.copy()
    costs[item, 1, 2] = cost
    return costs


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize(("shape", "maximize"), [((90, 4, 4), False), ((90, 6, 3), True)])
def test_costs_of_stacks_are_refused_as_others_are(
    shape: tuple[int, ...], maximize: bool, threads: int
) -> None:
    """Those that the method looks at itself, also behind a matrix that has no assignment."""
    floats, integers = random_costs(shape, "float", 1), random_costs(shape, "integer", 1)
    hopeless = floats.copy()
    hopeless[3] = -np.inf if maximize else np.inf
    bad = [
        put(put(floats, 50, np.inf), 60, -np.inf),
        put(put(floats, 50, np.nan), 3, np.inf),
        put(hopeless, 88, np.nan),
        put(floats.astype(np.float32), 40, np.nan),
        put(integers, 17, 2**60 + 99),
        put(integers, 89, -(2**63)),
    ]
    for costs in bad:
        messages = []
        for arguments in ({"method": "serial-shortest-path"}, {"method": NAME, "threads": threads}):
            with pytest.raises(InvalidInputError) as caught:
                preflow.linear_assignment(costs, maximize=maximize, **arguments)
            messages.append(str(caught.value))
        assert messages[0] == messages[1]
    large = [put(integers, 5, 2**59), put(integers, 5, -(2**59)), put(integers, 5, 2**59 + 1)]
    for costs in (*large, put(floats, 89, 1e300), put(floats, 0, -1e300)):
        preflow.linear_assignment(costs, maximize=maximize, method=NAME, threads=threads).verify()


def stack_of_a_kind(shape: tuple[int, ...], kind: str) -> np.ndarray:
    if kind == "float32":
        return random_costs(shape, "float", 2).astype(np.float32)
    if kind == "too large for sums":
        return random_costs(shape, "large", 2) * 60
    costs = random_costs(shape, "forbidden" if kind == "partial" else kind, 2)
    if kind == "forbidden":
        costs[:, range(min(shape[1:])), range(min(shape[1:]))] = 1.0
    return costs


@pytest.mark.parametrize(
    "kind", ["integer", "float", "float32", "large", "too large for sums", "forbidden", "partial"]
)
@pytest.mark.parametrize(("shape", "maximize"), [((60, 5, 5), True), ((60, 7, 4), False), ((60, 4, 6), True)])
def test_stacks_agree_with_one_thread(kind: str, shape: tuple[int, ...], maximize: bool) -> None:
    costs = stack_of_a_kind(shape, kind)
    if maximize and kind in ("forbidden", "partial"):
        costs = -costs
    one, many = (
        preflow.linear_assignment(
            costs, maximize=maximize, partial=kind == "partial", method=method, threads=threads
        )
        for method, threads in [("serial-shortest-path", 1), (NAME, 4)]
    )
    many.verify()
    for part in ("row", "column", "u", "v"):
        np.testing.assert_array_equal(getattr(one, part), getattr(many, part))
        assert getattr(one, part).dtype == getattr(many, part).dtype
    assert one.cost.dtype == many.cost.dtype
    assert one.cost.tolist() == pytest.approx(many.cost.tolist(), rel=1e-13, abs=1e-13)


@pytest.mark.parametrize("threads", [1, 3])
def test_stacks_that_are_stopped(threads: int) -> None:
    costs = random_costs((500, 30, 31), "integer", 4)
    control = Control(threads)
    control.stop[0] = 1
    method = find_method(METHODS, NAME)
    found = method.solve(as_costs(costs, False), method.make_options(None), control)
    assert (found.ending == STOPPED).all()
    assert (found.match == -1).all()
    assert not found.u.any()
    assert not found.v.any()
    result = preflow.linear_assignment(
        np.tile(costs, (40, 1, 1)), method=NAME, threads=threads, time_limit=1e-9
    )
    result.verify()
    assert result.status == "time-limit"


def test_the_auction_gives_up_where_it_takes_too_long() -> None:
    costs = random_costs((60, 60), "float", 3)
    check(costs, expected_cost(costs), method="multicore-auction", threads=2, options={"effort": 1e-6})


def test_time_limit_gives_a_proved_bound() -> None:
    costs = COST_FAMILIES["machol-wien"](800)
    for method in ("multicore-auction", "multicore-lockfree"):
        result = preflow.linear_assignment(costs, method=method, threads=2, time_limit=0.01)
        result.verify()
        assert result.status == "time-limit"


# Cost scaling by pushes and relabels


@pytest.mark.parametrize("arc_fixing", [False, True])
@pytest.mark.parametrize("kind", ["integer", "ties", "float"])
def test_every_refine_ends_epsilon_optimal(
    kind: str, arc_fixing: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = []
    inner = lockfree_scaling.refine_all

    def refine_all(
        largest: int, size: int, alpha: float, fixing: bool, control: Control, refine: Any
    ) -> bool:
        def checked(epsilon: int, threshold: int) -> bool:
            done = refine(epsilon, threshold)
            step = refine.__closure__[refine.__code__.co_freevars.index("until_meeting")].cell_contents
            cells = dict(zip(step.__code__.co_freevars, step.__closure__, strict=True))
            arcs, flow = cells["arcs"].cell_contents, cells["flow"].cell_contents
            check_lockfree_scaling(arcs, flow, epsilon)
            seen.append(int(arcs.size.sum()))
            return done

        return inner(largest, size, alpha, fixing, control, checked)

    monkeypatch.setattr(multicore_lockfree, "refine_all", refine_all)
    costs = random_costs((25, 25), kind, 5)
    options = {"arc_fixing": arc_fixing, "alpha": 3}
    check(costs, expected_cost(costs), method="multicore-lockfree", threads=3, options=options)
    assert len(seen) > 3
    assert (seen[-1] < seen[0]) == (arc_fixing and kind != "ties")


def interrupted(seed: int, epsilon: int) -> tuple[Arcs, Flow]:
    """Return a flow in the middle of a refine: some pushes and relabels were made, one after the other."""
    rng = np.random.default_rng(seed)
    arcs = scaled(as_costs(rng.integers(0, 50, (8, 8)), False).to_sparse()).arcs
    flow = make_flow(8)
    lockfree_scaling.start_refine(arcs, flow, np.int64(epsilon), np.uint64(0), np.uint64(8))
    state = multicore_lockfree.make_state(8, Control())
    one, zero, size, step = np.uint64(1), np.uint64(0), np.uint64(8), np.int64(epsilon)
    multicore_lockfree.list_rows(flow, state, zero, one)
    for _ in range(int(rng.integers(0, 30))):
        if multicore_lockfree.inboxes.is_empty(state.lists, zero):
            break
        vertex = multicore_lockfree.inboxes.pop(state.lists, zero)
        if vertex < size:
            multicore_lockfree.discharge_row(arcs, flow, state, zero, one, vertex, step)
        else:
            multicore_lockfree.discharge_column(arcs, flow, state, zero, one, vertex - size, step)
    return arcs, flow


def test_price_updates_keep_the_flow_epsilon_optimal() -> None:
    lowered = 0
    for seed in range(60):
        epsilon = (1, 20, 300)[seed % 3]
        arcs, flow = interrupted(seed, epsilon)
        update = lockfree_scaling.PriceUpdate(arcs)
        assert update.saturate(flow, epsilon) == 0
        before = np.concatenate([flow.row_price, flow.column_price])
        update.update(flow, epsilon)
        after = np.concatenate([flow.row_price, flow.column_price])
        assert (after <= before).all()
        assert (flow.column_price[flow.excess < 0] == before[8:][flow.excess < 0]).all()
        assert lockfree_scaling.reduced_costs(arcs, flow).min() >= -epsilon
        lowered += int((after < before).any())
    assert lowered > 20


def test_units_on_arcs_that_are_too_cheap_are_sent_back() -> None:
    arcs, flow = interrupted(2, 20)
    matched = np.flatnonzero(flow.at != NOWHERE)
    column = int(flow.at[matched[0]] & COLUMN)
    flow.column_price[column] -= 10**6
    on_it = (flow.at[matched] & COLUMN) == column
    assert lockfree_scaling.PriceUpdate(arcs).saturate(flow, 20) == on_it.sum()
    assert flow.excess[column] == -1


def test_fixed_arcs_carry_no_flow() -> None:
    for seed in range(20):
        costs = random_costs((12, 12), "integer", seed)
        columns = linear_sum_assignment(costs)[1]
        found = scaled(as_costs(costs, False).to_sparse())
        epsilon = 40
        flow = make_flow(12)
        state = multicore_lockfree.make_state(12, Control())
        zero, one, step = np.uint64(0), np.uint64(1), np.int64(epsilon)
        multicore_lockfree.refine_share(
            found.arcs, flow, state, zero, one, step, np.int64(fixing_threshold(12, epsilon)), False
        )
        ends = zip(found.arcs.first.tolist(), found.arcs.size.tolist(), strict=False)
        left = np.full((12, 12), 10**6)
        for row, (first, size) in enumerate(ends):
            kept = found.arcs.column[first : first + size]
            left[row, kept] = costs[row, kept]
        assert found.arcs.size.sum() < 144
        assert expected_cost(left) == costs[np.arange(12), columns].sum()


@pytest.mark.parametrize("method", ["multicore-lockfree", "cuda-lockfree"])
@pytest.mark.parametrize(
    ("options", "message"),
    [({"alpha": 1}, "alpha"), ({"alpha": "x"}, "alpha"), ({"arc_fixing": 1}, "arc_fixing")],
)
def test_impossible_options(method: str, options: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidInputError, match=message):
        find_method(METHODS, method).make_options(options)


def test_too_many_arcs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lockfree_scaling, "MOST_ARCS", 50)
    with pytest.raises(UnsuitableMethodError, match="arcs"):
        preflow.linear_assignment(np.zeros((3, 8)), method="multicore-lockfree", threads=1)


# On a GPU


def use(monkeypatch: pytest.MonkeyPatch, sanitizer: Sanitizer | None = None) -> CpuDevice:
    device = CpuDevice(sanitizer=sanitizer)
    monkeypatch.setattr(runtime, "find_device", lambda: device)
    return device


def test_the_papers_constants() -> None:
    options = find_method(METHODS, "cuda-lockfree").options
    assert (options["alpha"], options["cycles"], options["block_threads"]) == (10.0, 500_000, 32 * 16)


@pytest.mark.parametrize("cycles", [500_000, 1, 3])
def test_cuda_lockfree_agrees_with_scipy(cycles: int, monkeypatch: pytest.MonkeyPatch) -> None:
    use(monkeypatch)
    for seed in range(10):
        shape = tuple(np.random.default_rng(seed).integers(2, 9, 2).tolist())
        costs = random_costs(shape, KINDS[seed % 5], seed)
        options = {"cycles": cycles, "price_updates": seed % 3, "arc_fixing": seed % 2 == 0}
        check(costs, expected_cost(costs), method="cuda-lockfree", options=options)


def test_sparse_costs_on_a_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    use(monkeypatch)
    costs = scipy.sparse.csr_array(np.diag([3, 1, 2, 4]) + np.diag([1, 1, 5], 1) + np.diag([2, 2, 2], -1))
    result = preflow.linear_assignment(costs, device="cuda")
    result.verify()
    assert result.stats.method == "cuda-lockfree"
    assert result.cost == preflow.linear_assignment(costs, device="cpu").cost


def test_more_vertices_than_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    use(monkeypatch)
    costs = random_costs((40, 40), "integer", 0)
    check(costs, expected_cost(costs), method="cuda-lockfree")


@pytest.mark.parametrize("sanitizer", ["address", "thread"])
def test_cuda_lockfree_under_sanitizers(sanitizer: Sanitizer, monkeypatch: pytest.MonkeyPatch) -> None:
    use(monkeypatch, sanitizer)
    costs = random_costs((6, 6), "ties", 1)
    check(costs, expected_cost(costs), method="cuda-lockfree", options={"cycles": 40, "alpha": 30})


def test_too_many_kernels_are_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    use(monkeypatch)
    monkeypatch.setattr(cuda_lockfree, "MOST_KERNELS", 1)
    with pytest.raises(SolverError, match="gave up"):
        preflow.linear_assignment(
            random_costs((8, 8), "ties", 0), method="cuda-lockfree", options={"cycles": 1}
        )


@pytest.mark.parametrize("largest", [2**59, 2**56])
def test_prices_of_an_auction_that_fall_far(largest: int) -> None:
    """They wrapped as they became integers, and searches from there found no assignment, or no room."""
    rng = np.random.default_rng(1)
    for _ in range(25):
        n = int(rng.integers(2, 40))
        shape = (n, n + int(rng.integers(0, 3)))
        allowed = rng.random(shape) < 0.15
        allowed[np.arange(n), np.arange(n)] = True
        costs = rng.integers(-largest, largest, int(allowed.sum()))
        matrix = scipy.sparse.coo_array((costs, np.nonzero(allowed)), shape=shape)
        try:
            expected = preflow.linear_assignment(matrix, method="serial-shortest-path").cost
        except InvalidInputError:
            continue
        result = preflow.linear_assignment(matrix, method="multicore-auction", threads=2)
        result.verify()
        assert result.cost == expected


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("largest", [1, 3, 1000, 2**46])
def test_sparse_costs_on_threads(largest: int, seed: int) -> None:
    """More threads than cores, held up at random, agree with SciPy and with the most pairs of one thread."""
    rng = np.random.default_rng([seed, largest])
    n = int(rng.integers(2, 150))
    row, column = np.repeat(np.arange(n), 3), rng.integers(0, n, 3 * n)
    if seed % 3:  # otherwise most matrices have no assignment of all rows
        row, column = np.append(row, np.arange(n)), np.append(column, rng.permutation(n))
    places = np.unique(np.column_stack([row, column]), axis=0).T
    costs = np.sign(rng.random(places.shape[1]) - 0.3) * np.exp(rng.random(places.shape[1]) * np.log(largest))
    matrix = scipy.sparse.coo_array((costs.astype(np.int64), tuple(places)), shape=(n, n)).tocsr()
    found = preflow.linear_assignment(matrix, method="multicore-auction", threads=5, partial=True)
    found.verify()
    alone = preflow.linear_assignment(matrix, method="serial-shortest-path", partial=True)
    assert (len(found.row), found.cost) == (len(alone.row), alone.cost)
    if len(found.row) == n:
        positive = matrix.copy()
        positive.data = (positive.data + 2 * largest).astype(np.float64)  # SciPy takes zeros for no entries
        pairs = scipy.sparse.csgraph.min_weight_full_bipartite_matching(positive)
        assert found.cost == matrix[pairs].sum()
    else:
        with pytest.raises(InfeasibleError):
            preflow.linear_assignment(matrix, method="multicore-auction", threads=5)


def test_an_auction_without_pairs() -> None:
    nothing = scipy.sparse.csr_array((3, 4), dtype=np.int64)
    result = preflow.linear_assignment(nothing, method="multicore-auction", partial=True)
    result.verify()
    assert len(result.row) == 0
    with pytest.raises(InfeasibleError):
        preflow.linear_assignment(nothing, method="multicore-auction")


@pytest.mark.parametrize("price_updates", [1, 1000])
@pytest.mark.parametrize("kind", KINDS)
def test_price_updates_of_lock_free_threads(kind: str, price_updates: int) -> None:
    for seed in range(4):
        costs = random_costs((9, 9), kind, seed)
        for threads, cycles in ((1, 1), (1, 7), (2, 3), (3, 10)):
            check(
                costs,
                expected_cost(costs),
                method="multicore-lockfree",
                threads=threads,
                options={"price_updates": price_updates, "cycles": cycles},
            )


def test_price_updates_save_operations_where_they_run() -> None:
    """No refine of the paper's size has 500,000 steps; with meetings after 60 discharges half of them go."""
    costs = preflow.generators.costs.uniform_integer_costs(30, largest=100, seed=0)

    def stats(**options: Any) -> Any:
        result = preflow.linear_assignment(costs, method="multicore-lockfree", threads=1, options=options)
        result.verify()
        return result.stats

    without, printed = stats(), stats(price_updates=1)
    once, often = stats(price_updates=1, cycles=60), stats(price_updates=1000, cycles=60)
    assert (printed.global_relabels, printed.pushes) == (0, without.pushes)
    assert 0 < once.global_relabels < often.global_relabels
    assert often.pushes < once.pushes < without.pushes


@pytest.mark.parametrize("options", [{"price_updates": True}, {"price_updates": -1}, {"cycles": 0}])
def test_bad_options_of_lock_free_threads(options: dict[str, object]) -> None:
    with pytest.raises(InvalidInputError):
        preflow.linear_assignment([[1]], method="multicore-lockfree", options=options)
