"""preflow as a backend of NetworkX, and as a ``flow_func`` of its flow functions.

With preflow installed, ``nx.maximum_flow(G, s, t, backend="preflow")`` asks for it, and
``nx.config.backend_priority = ["preflow"]`` lets NetworkX take it wherever it pays. `backend.py` has the
functions, `info.py` what NetworkX reads to know them when it is imported, which loads nothing else.
"""

from ...lazy import names_of_stub

__getattr__, __dir__, __all__ = names_of_stub(__name__, __file__)
