"""What the benchmarks on a GPU write: rows, with the machine and the versions that made them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import cupy

from preflow.bench.machine import describe_machine, package_versions


def write_rows(path: str, rows: Sequence[dict[str, Any]], packages: Sequence[str]) -> None:
    """Write rows to a JSON file, with the versions of the packages beside preflow."""
    record = {
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "machine": describe_machine(),
        "versions": {
            **package_versions(packages),
            "cupy": cupy.__version__,
            "cuda": cupy.cuda.runtime.runtimeGetVersion(),
        },
        "rows": rows,
    }
    Path(path).write_text(json.dumps(record, indent=1) + "\n")
