"""Write measurements to a file, with the machine and the versions of the packages."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from preflow.bench.machine import describe_machine, package_versions


def write_rows(path: str, rows: Sequence[dict[str, Any]], packages: Sequence[str]) -> None:
    """Write rows to a JSON file, with the versions of preflow and of further packages."""
    record = {
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "machine": describe_machine(),
        "versions": {
            **package_versions(packages),
            **_gpu_versions(),
        },
        "rows": rows,
    }
    Path(path).write_text(json.dumps(record, indent=1) + "\n")


def _gpu_versions() -> dict[str, Any]:
    """Return the versions of CuPy and CUDA if the process uses them."""
    cupy = sys.modules.get("cupy")
    if cupy is None:
        return {}
    return {"cupy": cupy.__version__, "cuda": cupy.cuda.runtime.runtimeGetVersion()}
