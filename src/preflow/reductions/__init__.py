"""Reductions between problems: build another problem, solve it, and carry answer and proof back.

Each reduction is a frozen class. Its class method ``of`` builds the other problem, ``solve`` solves it, and
``solution(result)`` turns a result of it into an answer for the problem that was given. An answer proves
itself: ``verify()`` checks it against the data as given. Importing loads nothing; a name of ``__init__.pyi``
is loaded when it is first used.
"""

from ..lazy import names_of_stub

__getattr__, __dir__, __all__ = names_of_stub(__name__, __file__)
