"""Names from inside Numba that kernels need, and any version of it may change.

All else in the package takes only ``numba``, ``numba.types`` and ``numba.extending``. The build of the
library needs more, in ``native/translate.py``; this is in the package since an installation without the
library compiles kernels, too. ``tests/kernels/test_numba_internals.py`` names the versions that both fit.
"""

from __future__ import annotations

import inspect
import pickle
from collections.abc import Callable

import numba
from numba import types
from numba.core import cgutils
from numba.core.compiler import CompileResult
from numba.core.registry import cpu_target
from numba.core.serialize import dumps
from numba.extending import lower_builtin, type_callable
from numba.np.arrayobj import make_array, populate_array

from ..arrays import Untyped

__all__ = ["cgutils", "compiled_as", "dispatcher_with", "make_array", "populate_array"]


def compiled_as(
    function: Callable[..., Untyped], result: Callable[..., Untyped], generate: Callable[..., Untyped]
) -> None:
    """Let kernels run other instructions in place of a plain function.

    ``generate(context, builder, types, values)`` writes them and returns the value, ``result(*types)`` its
    type, None for types that it does not take.
    """

    def typer(*given: Untyped) -> Untyped:
        return result(*given)

    typer.pysig = inspect.signature(function)  # type: ignore[attr-defined]
    type_callable(function)(lambda context: typer)
    lower_builtin(function, *[types.Any] * len(inspect.signature(function).parameters))(
        lambda context, builder, signature, values: generate(context, builder, signature.args, values)
    )


def dispatcher_with(cache: Untyped, function: Callable[..., Untyped], **options: Untyped) -> Untyped:
    """Return Numba's dispatcher of a function.

    It calls ``cache.load_overload(signature, context)`` before it compiles, and after it
    ``cache.save_overload(signature, compiled)``. ``cache.cache_path`` is in its statistics.
    """
    dispatcher = numba.njit(**options)(function)
    dispatcher._cache = cache
    return dispatcher


def machine_of(context: Untyped) -> str:
    """Return which CPU a context compiles for."""
    return repr(context.codegen().magic_tuple())


def machine_code(compiled: Untyped) -> bytes | None:
    """Return a compiled kernel as bytes, None if it has addresses of this process in it."""
    return None if compiled.library.has_dynamic_globals else bytes(dumps(compiled._reduce()))


def loaded(content: memoryview, context: Untyped) -> Untyped:
    """Return a compiled kernel from bytes, which nobody but this user can have written."""
    return CompileResult._rebuild(context, *pickle.loads(content))


def type_of(value: Untyped) -> Untyped:
    """Return Numba's type of an intrinsic."""
    return cpu_target.typing_context.resolve_value_type(value)
