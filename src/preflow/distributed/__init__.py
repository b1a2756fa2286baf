"""Beyond one process and one machine: batches of independent problems, and problems cut into regions.

Importing loads nothing; a name of ``__init__.pyi`` is loaded when it is first used.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
