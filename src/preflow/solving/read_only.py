"""Results stay as they are: arrays are read-only, in copies, too, and damage is found by the proof."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import ClassVar, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from ..arrays import Untyped
from ..eager import eager
from ..errors import NotOptimalError, SolverError, VerificationError

#: The type of the numbers of an array.
Scalar = TypeVar("Scalar", bound=np.generic)
#: The sections of numpydoc with which the docstrings of these methods end, the same in all results.
SECTIONS = {
    "verify": """

Raises
------
VerificationError
    The proof fails: please report it as a bug.
""",
    "plot": """

Parameters
----------
ax : matplotlib.axes.Axes, optional
    The axes to draw into; by default those of a new figure.

Returns
-------
matplotlib.axes.Axes

Raises
------
MissingDependencyError
    Matplotlib is not installed.
""",
}


class ReadOnlyArrays:
    """An object whose public NumPy arrays are read-only, also once it was pickled or copied.

    A dataclass does this for its public fields that are annotated as arrays; for tuples of arrays a class
    does it itself. What is no array is left to `verify`.

    A field that is damaged, of a wrong type say, may make a proof fail with any error. So `verify` of each
    subclass raises VerificationError in place of errors of Python and NumPy, and of InvalidInputError. Where
    `verify` may raise InvalidInputError for another reason, the proof itself is the method `_prove`.

    Docstrings of the methods of SECTIONS get their sections here, unless they say themselves what is raised.
    """

    _arrays: ClassVar[tuple[str, ...]] = ()  #: the fields that are annotated as arrays

    def __init_subclass__(cls, **keywords: object) -> None:
        super().__init_subclass__(**keywords)
        own = vars(cls).get("__annotations__", {}).items()
        cls._arrays += tuple(name for name, kind in own if "Array" in kind and name[0] != "_")
        name = "_prove" if "_prove" in cls.__dict__ else "verify"
        if name in cls.__dict__:
            setattr(cls, name, _damage_found(cls.__dict__[name]))
        for name, sections in SECTIONS.items():
            method = cls.__dict__.get(name)
            text = method and inspect.getdoc(method)
            if text and "Raises\n------" not in text:
                method.__doc__ = text + sections
        eager(cls)

    def __post_init__(self) -> None:
        for name in self._arrays:
            value = self.__dict__.get(name)
            if isinstance(value, np.ndarray):
                value.flags.writeable = False

    @classmethod
    def _made_later(cls, fields: dict[str, object], later: Callable[[], dict[str, object]]) -> Self:
        """Return an object with some fields; `later` returns the others when one of them is first read.

        Arrays in `fields` are read-only.
        """
        made = object.__new__(cls)
        fields["_later"] = later
        object.__setattr__(made, "__dict__", fields)
        return made

    def __getattr__(self, name: str) -> Untyped:
        later = self.__dict__.get("_later")
        if later is not None and name in self.__dataclass_fields__:
            self.__dict__.update(later())
            self.__dict__.pop("_later", None)
        return object.__getattribute__(self, name)

    def __getstate__(self) -> dict[str, object]:
        later = self.__dict__.get("_later")
        if later is not None:
            self.__dict__.update(later())
            self.__dict__.pop("_later", None)
        return self.__dict__

    def __setstate__(self, state: dict[str, object]) -> None:
        self.__dict__.update(state)
        for name, value in state.items():
            if not name.startswith("_"):
                make_read_only(value)


def read_only_view(values: NDArray[Scalar]) -> NDArray[Scalar]:
    """Return a contiguous view that nobody may write to: kernels are compiled for one kind of array."""
    view = np.asarray(values, order="C").view()
    view.flags.writeable = False
    return view


def make_read_only(value: object) -> None:
    """Make an array read-only, or all arrays in a tuple or a dictionary."""
    if isinstance(value, np.ndarray):
        value.flags.writeable = False
    elif isinstance(value, tuple | dict):
        for each in value.values() if isinstance(value, dict) else value:
            make_read_only(each)


def _damage_found(proof: Callable[..., None]) -> Callable[..., None]:
    """Return a proof that fails with VerificationError where fields of a result are damaged."""

    @functools.wraps(proof)
    def prove(self: object, *arguments: object, **keywords: object) -> None:
        try:
            proof(self, *arguments, **keywords)
        except VerificationError:
            raise
        except (
            TypeError,
            ValueError,  # InvalidInputError is one
            NotOptimalError,
            SolverError,
            AttributeError,
            LookupError,
            ArithmeticError,
            AssertionError,
        ) as error:
            raise VerificationError(f"the result is damaged: {type(error).__name__}: {error}") from error

    return prove
