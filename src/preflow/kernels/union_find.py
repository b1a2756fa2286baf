"""Union-find: disjoint sets as trees, in an array with the next member on the way to the representative."""

from __future__ import annotations

from ..arrays import Index, Int64, Integers, Number
from .kernel import kernel


@kernel
def find_set(sets: Integers, member: Index | Int64) -> Number:
    """Return the representative of the set of a member, and halve the way to it."""
    while sets[member] != member:
        sets[member] = sets[sets[member]]
        member = sets[member]
    return member
