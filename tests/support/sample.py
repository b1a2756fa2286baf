"""Facts about a problem that the tests of all problems need: SAMPLE of ``tests/<folder>/problem.py``."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from preflow.solving.method import Method
from preflow.solving.run import Control


@dataclass(frozen=True, kw_only=True)
class Sample:
    """Instances of a problem, and what is right of their answers."""

    #: The positional arguments of a small call: lists, tuples and numbers.
    arguments: tuple[Any, ...]
    #: The most modules of the package that the first call of each function imports.
    modules: dict[str, int]
    #: Lets a solver solve an instance, checks what it leaves behind, and returns whether it has finished.
    solve: Callable[[Method, Control], bool]
    #: Instances whose operations are counted, by name: the positional arguments of a call of the method.
    counted: Callable[[Method], dict[str, tuple[Any, ...]]]
    #: The fields of a result that the hash of an answer covers.
    answer: tuple[str, ...]
    #: Instances that take the method some rounds, by name: positional and other arguments.
    rounds: Callable[[Method], dict[str, tuple[tuple[Any, ...], dict[str, Any]]]]
    #: The module of tests.fuzz that has its drivers, and in OPTIONS, if they draw some, methods and options.
    fuzz: str
