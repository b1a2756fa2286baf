"""Arguments of the kernels of ``toolbox_for_tests.cu``."""

from __future__ import annotations

from typing import Annotated, NamedTuple

from preflow.arrays import AnyArray
from preflow.cuda.structs import U32, U64, ConstU32


class Adding(NamedTuple):
    """Arguments of "adding_rounds"."""

    words: U64
    written: U32  #: for each round and block, by the last thread of a block that tells
    errors: U32
    rounds: int


class Owners(NamedTuple):
    """Arguments of "find_owners"."""

    vertices: ConstU32
    owners: U32
    num_vertices: int
    num_owners: int


class Places(NamedTuple):
    """Arguments of "take_places"."""

    first: ConstU32
    second: ConstU32
    size: U32
    listed: U32  #: who stands at each place: its thread's number, twice, and one more for the second thing


class Pushes(NamedTuple):
    """Arguments of "push_back_and_forth"."""

    arcs: Annotated[AnyArray, "Arc*"]
    errors: U32
    pushes: int
