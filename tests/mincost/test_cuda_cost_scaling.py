"""cuda-cost-scaling, with its kernel on CPU threads, against successive shortest paths."""

from __future__ import annotations

import numpy as np
import pytest

from preflow.errors import CostOverflowError, SolverError
from preflow.graph.standard_form import StandardForm
from preflow.mincost import cuda_cost_scaling, serial_shortest_path
from preflow.mincost.cost_scaling import on_gpu as engine
from preflow.mincost.cuda_cost_scaling import CudaCostScalingOptions, epsilons
from preflow.mincost.solution import FlowState
from preflow.solving.run import Control
from tests.support.cuda_min_cost import prove, random_form, use

#: Short rounds: here each thread does little in them.
OPTIONS = CudaCostScalingOptions(pushing=20_000, searching=8_000)


def solve(form: StandardForm, options: CudaCostScalingOptions = OPTIONS) -> FlowState:
    return cuda_cost_scaling.solve(form, None, options, Control())


def expected(form: StandardForm) -> FlowState:
    return serial_shortest_path.solve(form, None, serial_shortest_path.NoOptions(), Control())


@pytest.mark.parametrize("seed", range(12))
def test_agrees_with_shortest_paths(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    use(monkeypatch)
    rng = np.random.default_rng(seed)
    form = random_form(rng, int(rng.integers(2, 12)), int(rng.integers(1, 40)))
    found, best = solve(form), expected(form)
    assert found.ending == best.ending == "optimal"
    prove(form, found)
    assert (found.flow * form.cost).sum() == (best.flow * form.cost).sum()


@pytest.mark.parametrize("alpha", [2.0, 100.0])
def test_more_vertices_than_threads(alpha: float, monkeypatch: pytest.MonkeyPatch) -> None:
    use(monkeypatch)
    form = random_form(np.random.default_rng(5), 100, 300)
    prove(form, solve(form, CudaCostScalingOptions(alpha=alpha, pushing=20_000, searching=8_000)))


@pytest.mark.parametrize("updates", [1, 60])
@pytest.mark.parametrize("rounds", [1, 3])
@pytest.mark.parametrize("seed", range(3))
def test_repairs_from_prices_that_are_not_exact(
    seed: int, rounds: int, updates: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    use(monkeypatch)
    monkeypatch.setattr(cuda_cost_scaling, "TRIAL_EPSILON", 16)
    monkeypatch.setattr(cuda_cost_scaling, "TRIAL_ROUNDS", rounds)
    monkeypatch.setattr(cuda_cost_scaling, "REPAIR_UPDATES", updates)
    repaired: list[bool] = []
    repair = cuda_cost_scaling._repaired
    monkeypatch.setattr(
        cuda_cost_scaling, "_repaired", lambda *args: repaired.append(repair(*args)) or repaired[-1]
    )
    form = random_form(np.random.default_rng(seed), 40, 160)
    found, best = solve(form), expected(form)
    prove(form, found)
    assert (found.flow * form.cost).sum() == (best.flow * form.cost).sum()
    if rounds == 1:
        assert repaired
        assert repaired[-1] or updates == 1


@pytest.mark.parametrize("seed", range(3))
def test_infeasible(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    use(monkeypatch)
    form = random_form(np.random.default_rng(seed), 8, 15, feasible=False)
    assert solve(form).ending == expected(form).ending == "infeasible"


@pytest.mark.fast
def test_no_arcs(monkeypatch: pytest.MonkeyPatch) -> None:
    use(monkeypatch)
    none = np.zeros(0, dtype=np.int64)
    form = StandardForm(
        none.astype(np.uint32), none.astype(np.uint32), none, none, np.zeros(3, dtype=np.int64)
    )
    assert solve(form).ending == "optimal"


def test_self_loop_of_negative_cost(monkeypatch: pytest.MonkeyPatch) -> None:
    use(monkeypatch)
    ends = np.zeros(2, dtype=np.uint32)
    form = StandardForm(ends, ends, np.array([4, 5]), np.array([-3, 2]), np.zeros(1, dtype=np.int64))
    assert solve(form).flow.tolist() == [4, 0]


@pytest.mark.fast
def test_large_costs_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    use(monkeypatch)
    form = random_form(np.random.default_rng(0), 10, 20)
    with pytest.raises(CostOverflowError, match="may be at most"):
        solve(form._replace(cost=form.cost * 2**52))


@pytest.mark.fast
def test_stops(monkeypatch: pytest.MonkeyPatch) -> None:
    use(monkeypatch)
    form = random_form(np.random.default_rng(0), 10, 20)
    control = Control()
    control.stop[0] = 1
    found = cuda_cost_scaling.solve(form, None, OPTIONS, control)
    assert found.ending == "stopped"
    assert (found.flow >= 0).all()
    assert (found.flow <= form.capacity).all()


def test_an_earlier_flow_is_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    use(monkeypatch)
    form = random_form(np.random.default_rng(1), 6, 20)
    control = Control()
    prove(form, cuda_cost_scaling.solve(form, expected(form), OPTIONS, control))
    assert any("earlier" in remark for remark in control.remarks)


def test_too_many_launches_are_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    use(monkeypatch)
    monkeypatch.setattr(engine, "MOST_LAUNCHES", 1)
    monkeypatch.setattr(engine, "UPDATES_A_LAUNCH", 1)
    with pytest.raises(SolverError, match="gave up"):
        solve(random_form(np.random.default_rng(1), 12, 40))


def test_too_many_rounds_are_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    use(monkeypatch)
    monkeypatch.setattr(engine, "MOST_ROUNDS", 1)
    with pytest.raises(SolverError, match="1 rounds"):
        solve(random_form(np.random.default_rng(1), 12, 40))


@pytest.mark.fast
def test_epsilons_end_with_one() -> None:
    assert epsilons(100, 10.0) == [100, 10, 1]
    assert epsilons(0, 10.0) == [1]


def test_under_address_sanitizer(monkeypatch: pytest.MonkeyPatch) -> None:
    use(monkeypatch, "address")
    form = random_form(np.random.default_rng(3), 6, 20)
    prove(form, solve(form))


def test_under_thread_sanitizer(monkeypatch: pytest.MonkeyPatch) -> None:
    use(monkeypatch, "thread")
    form = random_form(np.random.default_rng(3), 6, 20)
    prove(form, solve(form))
