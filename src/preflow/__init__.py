"""Maximum flow, minimum cut, matching and assignment, fast and proved.

Importing preflow loads neither NumPy nor SciPy. A name of ``__init__.pyi`` is loaded when it is first used.
"""

import lazy_loader

__version__ = "0.1.0.dev0"

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
