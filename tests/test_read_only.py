"""No array of a result can be written, whatever way leads to it; nor in copies."""

from __future__ import annotations

import copy
import dataclasses
import pickle
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from tests import test_pickling
from tests.support import damage

#: Fields with the problem as it was given: its arrays may be the caller's, which stay as they are.
GIVEN = {"costs", "graph", "network", "networks", "energy_terms", "given"}
TRIPS: dict[str, Callable[[Any], Any]] = {
    "as it is": lambda result: result,
    "pickled": lambda result: pickle.loads(pickle.dumps(result)),
    "deepcopy": copy.deepcopy,
}


def results() -> dict[str, Callable[[], Any]]:
    """Return makers of results by the name of a sample."""
    by_class = {name: sample.one for name, sample in damage.samples().items()}
    return {"DulmageMendelsohn": test_pickling.samples()["DulmageMendelsohn"], **by_class}


def parts_of(thing: Any) -> Iterator[tuple[str, Any]]:
    """Yield what is stored in a result, public fields and what properties keep."""
    names = [field.name for field in dataclasses.fields(thing)] if dataclasses.is_dataclass(thing) else []
    names += list(getattr(thing, "__dict__", {})) + list(getattr(thing, "_fields", ()))
    for kind in type(thing).__mro__:
        names += [name for name, each in vars(kind).items() if "property" in type(each).__name__]
    for name in dict.fromkeys(names):
        if name.startswith("_") or name in GIVEN:
            continue
        try:
            one, again = getattr(thing, name), getattr(thing, name)
        except Exception:  # a property that this result does not have
            continue
        if not isinstance(one, np.ndarray) or np.shares_memory(one, again):  # not made anew each time
            yield f".{name}", one


def writable(thing: Any, path: str, seen: dict[int, Any]) -> Iterator[str]:
    """Yield the ways to arrays that can be written."""
    if id(thing) in seen:
        return
    seen[id(thing)] = thing
    if isinstance(thing, np.ndarray):
        if thing.flags.writeable and thing.size:
            yield path
        return
    parts: Iterator[tuple[str, Any]]
    if isinstance(thing, tuple | list) and not hasattr(thing, "_fields"):
        parts = ((f"[{i}]", each) for i, each in enumerate(thing))
    elif isinstance(thing, dict):
        parts = ((f"[{key!r}]", each) for key, each in thing.items())
    elif type(thing).__module__.startswith("preflow"):
        parts = parts_of(thing)
    else:
        return
    for name, part in parts:
        yield from writable(part, path + name, seen)


@pytest.mark.parametrize("name", results())
def test_no_array_of_a_result_can_be_written(name: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        result = results()[name]()
        for way, trip in TRIPS.items():
            assert list(writable(trip(result), name, {})) == [], way
