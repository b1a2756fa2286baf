"""Beyond one process and one machine: batches of independent problems, and problems cut into regions.

Importing loads nothing; a name of ``__init__.pyi`` is loaded when it is first used.
"""

from ..lazy import names_of_stub

__getattr__, __dir__, __all__ = names_of_stub(__name__, __file__)
