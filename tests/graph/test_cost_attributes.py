"""Networks with costs from attributes and columns: no number that is given gets lost."""

from __future__ import annotations

import pandas
import pytest

import preflow
from preflow import CostNetwork
from preflow.errors import InfeasibleError, InvalidInputError


@pytest.mark.parametrize("name", ["weight", "cost"])
@pytest.mark.parametrize("kind", ["tuples", "dict"])
def test_attributes_are_not_dropped(kind: str, name: str) -> None:
    """Lower bounds count, and costs under another name are an error."""
    attributes = {"capacity": 4, name: 3, "lower": 2}

    def build(**names: str) -> CostNetwork:
        if kind == "tuples":
            return CostNetwork.from_edges([("a", "b", attributes)], **names)
        return CostNetwork.from_dict({"a": {"b": attributes}}, **names)

    if name != "weight":
        with pytest.raises(InvalidInputError, match=r"no edge has the attribute 'weight'.*'cost'"):
            build()
    network = build(weight=name)
    assert (network.cost.tolist(), network.lower.tolist(), network.capacity.tolist()) == ([3], [2], [4])


def test_tables_have_lower_bounds() -> None:
    table = {"source": ["a"], "target": ["b"], "capacity": [4], "cost": [1]}
    assert CostNetwork.from_pandas(pandas.DataFrame(table)).lower is None
    frame = pandas.DataFrame(table | {"lower": [3]})
    assert CostNetwork.from_pandas(frame).lower.tolist() == [3]
    assert CostNetwork.from_pandas(frame, lower=None).lower is None
    with pytest.raises(InfeasibleError):
        preflow.min_cost_flow(frame, {"a": 1, "b": -1})
