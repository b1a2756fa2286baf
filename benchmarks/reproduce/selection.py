"""The part of a paper to measure: its tables and figures by name, the size of the instances, the seeds."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from preflow.bench.problem import Suite
from preflow.errors import InvalidInputError


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
    """

    title: str
    parts: Mapping[str, str]
    suites: Callable[[Selection], Mapping[str, Suite]]
    seeded: bool
    full: str
    small: str


def select(paper: Paper, names: Sequence[str], small: bool, seeds: int | None) -> Selection:
    """Return the selection of the named parts, in any case of letters.

    Raises
    ------
    InvalidInputError
        The paper has no such part, or no seeds, or the number of seeds is not positive.
    """
    known = {part.lower(): part for part in paper.parts}
    chosen = []
    for name in names:
        if name.lower() not in known:
            raise InvalidInputError(f"unknown part {name!r}; there are: {', '.join(paper.parts)}")
        chosen.append(known[name.lower()])
    if seeds is not None and not paper.seeded:
        raise InvalidInputError("the instances of this paper have no seeds")
    if seeds is not None and seeds < 1:
        raise InvalidInputError(f"seeds must be positive, got {seeds}")
    return Selection(tuple(chosen), small, seeds)
