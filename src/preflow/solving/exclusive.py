"""Objects that several threads may share: one thread at a time is in a public method."""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import wraps
from types import FunctionType
from typing import Self


class Exclusive:
    """A base class whose public methods and properties hold one lock of the object, as does a copy.

    The lock is re-entrant, so methods may call each other in the thread that holds it. The thread of a solver
    does not hold it, and must call private methods only. A copy has a lock of its own. A `__getstate__` of a
    subclass starts from the state that this class returns.
    """

    _lock: threading.RLock

    def __new__(cls, *_arguments: object, **_named: object) -> Self:
        """Make the lock, which no subclass has to think of."""
        made = super().__new__(cls)
        made._lock = threading.RLock()
        return made

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        for name, member in list(vars(cls).items()):
            if name.startswith("_") and name != "__getstate__":
                continue
            if isinstance(member, FunctionType):
                setattr(cls, name, _locked(member))
            elif isinstance(member, property) and member.fget is not None:
                setattr(cls, name, member.getter(_locked(member.fget)))

    def __getstate__(self) -> dict[str, object]:
        """Return the attributes without the lock."""
        with self._lock:
            state = self.__dict__.copy()
        del state["_lock"]
        return state

    def __setstate__(self, state: dict[str, object]) -> None:
        self.__dict__.update(state, _lock=threading.RLock())


def _locked(method: Callable[..., object]) -> Callable[..., object]:
    @wraps(method)
    def call(self: Exclusive, *arguments: object, **named: object) -> object:
        with self._lock:
            return method(self, *arguments, **named)

    return call
