"""The samples of all problems, which lie in ``tests/<folder>/problem.py``."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from importlib import import_module
from typing import Any

import preflow
from preflow.registry import FUNCTIONS, PROBLEMS

from .sample import Sample

#: By the names of problems.
SAMPLES: dict[str, Sample] = {
    problem.name: import_module(f"tests.{problem.folder}.problem").SAMPLE for problem in PROBLEMS
}


def small_calls() -> dict[str, Callable[..., Any]]:
    """Return a small call of each function of a problem, by the name of the function."""
    return {
        name: partial(getattr(preflow, name), *SAMPLES[problem.name].arguments)
        for name, problem in FUNCTIONS.items()
    }
