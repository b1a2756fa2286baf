"""SciPy's own tests run over preflow's drop-in functions."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from preflow.integrations import scipy_compat
from tests.support import scipy_suite
from tests.support.paths import ROOT

SUITE = (
    "scipy.sparse.csgraph.tests.test_flow",
    "scipy.sparse.csgraph.tests.test_matching",
    "scipy.sparse.csgraph.tests.test_reordering",
    "scipy.sparse.csgraph.tests.test_pydata_sparse",
    "scipy.optimize.tests.test_linear_assignment",
    "scipy.stats.tests.test_stats::TestWassersteinDistanceND",
)


def test_scipy_own_tests(tmp_path: Path) -> None:
    """SciPy's tests pass with preflow's functions in the place of its own."""
    if importlib.util.find_spec("scipy.sparse.csgraph.tests") is None:
        pytest.skip("SciPy is installed without its tests")
    plugin = ("-p", "no:cacheprovider", "-p", "tests.support.scipy_suite")
    command = [sys.executable, "-m", "pytest", "-q", *plugin, "--pyargs", *SUITE]
    source = Path(scipy_compat.__file__).parents[2]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(ROOT), str(source)])}
    done = subprocess.run(command, env=environment, cwd=tmp_path, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-2000:]
    assert json.loads(done.stdout.splitlines()[-1]).keys() == scipy_suite.REPLACED.keys()
