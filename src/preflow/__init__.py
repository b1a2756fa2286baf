"""Maximum flow, minimum cut, matching and assignment, fast and proved.

Importing preflow loads neither NumPy nor SciPy. A name of ``__init__.pyi`` is loaded when it is first used.
"""

from __future__ import annotations

import lazy_loader

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

__version__ = "0.1.0"

_load: Callable[[str], object]
_load, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)


def __getattr__(name: str) -> object:
    """Load a name of ``__init__.pyi``; say which of them is close to a name that is not there."""
    if name in __all__ or name.startswith("_"):
        return _load(name)
    from difflib import get_close_matches

    close = get_close_matches(name, __all__, 1, 0.6)
    hint = f"; did you mean {close[0]}?" if close else ""
    raise AttributeError(f"module 'preflow' has no attribute {name}{hint}")
