"""A plugin of pytest that runs SciPy's own tests over preflow's drop-in functions.

python -m pytest -p tests.support.scipy_suite --pyargs scipy.sparse.csgraph.tests.test_matching
"""

from __future__ import annotations

import functools
import json
from collections import Counter
from typing import Any

import scipy.optimize
import scipy.sparse.csgraph
import scipy.stats

from preflow.integrations import scipy_compat

#: The functions that are replaced, with the modules where tests find them.
REPLACED = {
    "maximum_flow": scipy.sparse.csgraph,
    "maximum_bipartite_matching": scipy.sparse.csgraph,
    "min_weight_full_bipartite_matching": scipy.sparse.csgraph,
    "structural_rank": scipy.sparse.csgraph,
    "linear_sum_assignment": scipy.optimize,
    "wasserstein_distance_nd": scipy.stats,
}
#: How often each of preflow's functions was called.
CALLS: Counter[str] = Counter()


def _counted(name: str) -> Any:
    function = getattr(scipy_compat, name)

    @functools.wraps(function)
    def call(*args: Any, **keywords: Any) -> Any:
        CALLS[name] += 1
        return function(*args, **keywords)

    return call


def pytest_configure() -> None:
    """Replace the functions before test modules import them. To import this module changes nothing."""
    for name, module in REPLACED.items():
        setattr(module, name, _counted(name))


def pytest_unconfigure() -> None:
    """Print how often each function was called."""
    print(json.dumps(CALLS))
