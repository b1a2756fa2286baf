"""Maximum flow, minimum cut, matching, assignment, minimum-cost flow and transport, fast and proved.

Importing preflow loads neither NumPy nor SciPy. A name of ``__init__.pyi`` is loaded when it is first used.
"""

from .lazy import names_of_stub

__version__ = "0.1.0"

__getattr__, __dir__, __all__ = names_of_stub(__name__, __file__)
