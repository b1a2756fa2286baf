"""The record of a solver in its problem's registry."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any

from ..errors import InvalidInputError


@dataclass(frozen=True)
class Method:
    """A solver under its name; reading it loads nothing heavy.

    Attributes
    ----------
    name : str
    module : str
        Module, relative to the package ``preflow``, that has the function ``solve`` and, where it can work on
        a network in the memory of a GPU, ``solve_on_device``.
    options_class : str
        Dataclass in that module which validates the options.
    summary : str
        What it is, in one line.
    paper : str
        Where it is described.
    device : str
        "cpu" or "cuda".
    parallel : bool
        Whether it can use more than one CPU thread.
    points : bool
        Whether it takes costs of points that are not stored.
    checks : bool
        Whether it checks dense costs itself.
    preset : mapping
        Options that differ from the dataclass's defaults.
    aliases : tuple of str
        Other names, as in the papers.
    old_names : tuple of str
        Names that earlier versions had; to use one gives a DeprecationWarning.
    """

    name: str
    module: str
    options_class: str
    summary: str
    paper: str
    device: str = "cpu"
    parallel: bool = False
    points: bool = False
    checks: bool = False
    preset: Mapping[str, Any] = field(default_factory=dict)
    aliases: tuple[str, ...] = ()
    old_names: tuple[str, ...] = ()

    def _module(self) -> Any:
        return import_module(f"preflow.{self.module}")

    @property
    def options(self) -> dict[str, Any]:
        """The options with their defaults."""
        return dataclasses.asdict(self.make_options(None))

    @property
    def solve(self) -> Callable[..., Any]:
        """The solver function."""
        return self._module().solve  # type: ignore[no-any-return]

    @property
    def streams(self) -> bool:
        """Whether a method that runs on a GPU also takes what is on the host, a part at a time."""
        return self.device == "cuda" and hasattr(self._module(), "solve")

    @property
    def solve_on_device(self) -> Callable[..., Any] | None:
        """The solver function for a network that is on the GPU already, where the module has one."""
        return getattr(self._module(), "solve_on_device", None)

    def make_options(self, given: Mapping[str, Any] | None) -> Any:
        """Return the validated options.

        Raises
        ------
        InvalidInputError
            An option is unknown or has an impossible value.
        """
        if given is not None and not isinstance(given, Mapping):
            raise InvalidInputError(f"options is a mapping, got {given!r}")
        options_class = getattr(self._module(), self.options_class)
        known = [option.name for option in dataclasses.fields(options_class)]
        for name in given or {}:
            if name not in known:
                raise InvalidInputError(
                    f"method {self.name!r} has no option {name!r}; it has: {', '.join(known) or 'none'}"
                )
        return options_class(**{**self.preset, **(given or {})})
