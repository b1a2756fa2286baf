"""A plugin for NetworkX's own tests: its functions forget which algorithm they are to use.

Without it preflow leaves the calls that give a `flow_func` to NetworkX. These are most of the tests.
"""

from __future__ import annotations

import functools
import inspect
from typing import Any

from preflow.integrations.networkx import backend
from preflow.integrations.networkx.info import WORTH_IT


def _without_flow_func(function: Any) -> Any:
    @functools.wraps(function)
    def call(*args: Any, **keywords: Any) -> Any:
        if callable(keywords.get("flow_func")):
            del keywords["flow_func"]
        return function(*args, **keywords)

    return call


for name in WORTH_IT:
    if "flow_func" in inspect.signature(getattr(backend, name)).parameters:
        setattr(backend, name, _without_flow_func(getattr(backend, name)))
