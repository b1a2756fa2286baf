"""The part of a paper to measure: its tables and figures by name, the size of the instances, the seeds."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

from preflow.errors import InvalidInputError

from ..problem import Suite


class Selection(NamedTuple):
    """The choice of the user.

    Attributes
    ----------
    parts : tuple of str
        Names of tables and figures; empty for all.
    small : bool
        Whether to measure smaller instances than those of the paper.
    seeds : int or None
        How many instances of each family, None for as many as the suite has by default.
    """

    parts: tuple[str, ...] = ()
    small: bool = False
    seeds: int | None = None

    def wants(self, part: str) -> bool:
        """Return whether a part is measured."""
        return not self.parts or part in self.parts


class Program(NamedTuple):
    """A part of a paper that is no suite of instances and methods.

    Attributes
    ----------
    text : str
        What it shows.
    run : function
        Measures the part and prints its table. Its arguments are those of the command, without the names of
        the paper and of the part; `--small`, `--seeds N`, `--repeats N`, `--out FOLDER` and `--resume` mean
        the same for every program.
    """

    text: str
    run: Callable[[Sequence[str]], None]


class Paper(NamedTuple):
    """A publication.

    Attributes
    ----------
    title : str
    parts : mapping
        The names of its tables and figures, and what they show.
    suites : function
        Returns the suites of a selection by problem.
    seeded : bool
        Whether the number of seeds can be chosen.
    full, small : str
        How long all of it takes at the paper's sizes and at the small ones, and on what.
    apart : tuple of str
        Parts whose instances or tables are not those of the others. Each is measured in a run of its own.
    programs : mapping
        Further parts, by name.
    """

    title: str
    parts: Mapping[str, str]
    suites: Callable[[Selection], Mapping[str, Suite]]
    seeded: bool
    full: str
    small: str
    apart: tuple[str, ...] = ()
    programs: Mapping[str, Program] = MappingProxyType({})

    @property
    def all_parts(self) -> dict[str, str]:
        """The names of all parts, and what they show."""
        return {**self.parts, **{name: program.text for name, program in self.programs.items()}}


def select(paper: Paper, names: Sequence[str], small: bool, seeds: int | None) -> Selection:
    """Return the selection of the named parts, in any case of letters.

    Raises
    ------
    InvalidInputError
        The paper has no such part, or no seeds, or the number of seeds is not positive.
    """
    known = {part.lower(): part for part in paper.all_parts}
    chosen = []
    for name in names:
        if name.lower() not in known:
            raise InvalidInputError(f"unknown part {name!r}; there are: {', '.join(paper.all_parts)}")
        chosen.append(known[name.lower()])
    if seeds is not None and not paper.seeded:
        raise InvalidInputError("the instances of this paper have no seeds")
    if seeds is not None and seeds < 1:
        raise InvalidInputError(f"seeds must be positive, got {seeds}")
    return Selection(tuple(chosen), small, seeds)


def runs_of(paper: Paper, selection: Selection) -> dict[str, Selection]:
    """Return the parts of each run that a selection takes, by name; the name of the main run is empty."""
    wanted = [part for part in paper.all_parts if selection.wants(part)]
    alone = [part for part in wanted if part in paper.apart or part in paper.programs]
    together = tuple(part for part in wanted if part not in alone)
    runs = {"": together} if together else {}
    return {
        name: selection._replace(parts=parts)
        for name, parts in {**runs, **{part: (part,) for part in alone}}.items()
    }
