"""The record of a method: what a problem's ``methods.py`` says about a solver."""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any, Literal

from ..errors import InvalidInputError


def check_options(options: object) -> None:
    """Raise InvalidInputError unless `options` is None or a mapping."""
    if options is not None and not isinstance(options, Mapping):
        raise InvalidInputError(f"options must be a mapping, got {options!r}")


@dataclass(frozen=True)
class Method:
    """The record of a solver; reading it imports no solver.

    Attributes
    ----------
    name : str
    module : str
        Module, relative to the package ``preflow``, that has the function ``solve``. Its signature is that of
        the problem's protocol, see :mod:`preflow.solving.protocol`.
    options_class : str
        Name of the dataclass in that module which validates the options.
    summary : str
        What the method does, in one line.
    paper : str
        Where it is described.
    device : {"cpu", "cuda"}
        Where the method runs.
    parallel : bool
        Whether it can use more than one CPU thread.
    copies : bool
        Whether a method for a GPU takes arrays in host memory and copies them itself.
    streams : bool
        Whether a method for a GPU can also solve an instance that exceeds the GPU's memory: its module then
        has a function ``solve_streamed`` with the signature of ``solve``, which takes arrays in host memory.
    points : bool
        Whether it takes costs that are computed from points.
    weighted : bool
        Whether it takes the weights of the edges of a graph, and no graph without weights.
    approximate : bool
        Whether it promises a fraction of the optimum only, with proved bounds; it takes graphs with weights
        and without. Its results have the status "approximate".
    checks : bool
        Whether it checks the size of dense costs itself.
    preset : mapping
        Options that differ from the defaults of the dataclass.
    aliases : tuple of str
        Other names, as in the papers. A serial method and the same method on several threads may share one.
    variants : mapping of str to mapping
        Names of codes in papers which are the method with other presets: the options of each.
    old_names : tuple of str
        Names that earlier versions had; to use one gives a DeprecationWarning.
    """

    name: str
    module: str
    options_class: str
    summary: str
    paper: str
    device: Literal["cpu", "cuda"] = "cpu"
    parallel: bool = False
    copies: bool = False
    streams: bool = False
    points: bool = False
    checks: bool = False
    weighted: bool = False
    approximate: bool = False
    preset: Mapping[str, Any] = field(default_factory=dict)
    aliases: tuple[str, ...] = ()
    variants: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    old_names: tuple[str, ...] = ()

    def _module(self) -> Any:
        return import_module(f"preflow.{self.module}")

    @property
    def explanation(self) -> str:
        """The docstring of its module: the algorithm, its invariants and its pseudo-code."""
        return inspect.cleandoc(self._module().__doc__ or self.summary)

    @property
    def available(self) -> bool:
        """Whether it can run here: methods for a GPU need one, and the software to use it."""
        if self.device == "cpu":
            return True
        # Records come before the code for GPUs, which this loads only when it is asked.
        return import_module("preflow.cuda.runtime").device_if_any() is not None

    @property
    def memory(self) -> Literal["host", "device"]:
        """Where the arrays lie that ``solve`` takes: in host memory, or in the memory of a GPU."""
        return "device" if self.device == "cuda" and not self.copies else "host"

    @property
    def other_names(self) -> tuple[str, ...]:
        """The names in papers of the method, and of the method with other presets."""
        return (*self.aliases, *self.variants)

    def variant(self, name: str) -> Method:
        """Return the method with the presets that one of its variants has."""
        return dataclasses.replace(self, preset={**self.preset, **self.variants[name]})

    @property
    def options(self) -> dict[str, object]:
        """The options with their defaults."""
        return dataclasses.asdict(self.make_options(None))

    @property
    def solve(self) -> Callable[..., Any]:
        """The solver, of the type that the problem's ``methods.py`` declares."""
        return self._module().solve  # type: ignore[no-any-return]

    @property
    def solve_streamed(self) -> Callable[..., Any]:
        """The solver of a method that `streams`."""
        return self._module().solve_streamed  # type: ignore[no-any-return]

    def make_options(self, given: Mapping[str, Any] | None) -> Any:
        """Return the validated options.

        Raises
        ------
        InvalidInputError
            An option is unknown or has an impossible value.
        """
        check_options(given)
        options_class = getattr(self._module(), self.options_class)
        known = [option.name for option in dataclasses.fields(options_class)]
        for name in given or {}:
            if name not in known:
                raise InvalidInputError(
                    f"method {self.name!r} has no option {name!r}; it has: {', '.join(known) or 'none'}"
                )
        return options_class(**{**self.preset, **(given or {})})
