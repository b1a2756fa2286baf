"""Measure the peak memory of max_flow and min_cut on a grid that is given as a network of arcs.

Usage: python -m benchmarks.scripts.flow_memory FILE [SIDE]. It writes FILE. Each measurement has a process
of its own, which reads the arrays of the arcs from files. The peak counts everything: Python, the libraries,
the arrays. These are kept until the end, as by a caller who needs them afterwards, or freed when the network
is built. The flow of every arc is read from the result of max_flow. "auto" solves the network as a grid;
another measurement is of the method on arcs that is the fastest.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

import preflow
from preflow.generators import grid_2d

from ..probe import resident_bytes
from ..records import write_rows

ARRAYS = ("tail", "head", "capacity", "reverse_capacity")
CALLS = ("min_cut", "max_flow without the flow", "max_flow", "max_flow of arcs")
OF_ARCS = "serial-boykov-kolmogorov"
SEED = 35


def peak(folder: Path, call: str, keep: bool) -> dict[str, Any]:
    """Return the peak memory of this process after one call, in MB, and where it was before."""
    start = resident_bytes("VmRSS")
    arrays = {name: np.load(folder / f"{name}.npy") for name in ARRAYS}
    given = resident_bytes("VmRSS")
    network = preflow.FlowNetwork.from_arrays(**arrays)
    if not keep:
        arrays.clear()
    built = resident_bytes("VmHWM")
    source, sink = network.num_vertices - 2, network.num_vertices - 1
    solve = preflow.min_cut if call == "min_cut" else preflow.max_flow
    method = OF_ARCS if call == "max_flow of arcs" else "auto"
    result = solve(network, source, sink, method=method, threads=1, device="cpu")
    solved = resident_bytes("VmHWM")
    if call in ("max_flow", "max_flow of arcs") and isinstance(result, preflow.MaxFlowResult):
        assert len(result.flow) == network.num_arcs
    whole = resident_bytes("VmHWM")
    found = {"start": start, "arrays": given, "network": built, "solve": solved, "all": whole}
    return {
        "value": result.value,
        "method": result.stats.method,
        "peak_mb": {phase: round(size / 1e6) for phase, size in found.items() if size is not None},
    }


def main() -> None:
    """Measure all calls and write the file."""
    if len(sys.argv) > 3:
        print(json.dumps(peak(Path(sys.argv[1]), sys.argv[2], sys.argv[3] == "kept")))
        return
    side = int(sys.argv[2]) if len(sys.argv) > 2 else 2000
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        problem = grid_2d(side, side, seed=SEED)
        network = problem.network
        for name in ARRAYS:
            np.save(f"{folder}/{name}.npy", getattr(network, name))
        for call in CALLS:
            for state in ("freed", "kept"):
                output = subprocess.check_output(
                    [sys.executable, "-m", __spec__.name, folder, call, state], text=True
                )
                found = {"call": call, "arrays": state, **json.loads(output)}
                rows.append(
                    {
                        "instance": f"grid {side}x{side}",
                        "seed": SEED,
                        "vertices": network.num_vertices,
                        "arcs": network.num_arcs,
                        **found,
                    }
                )
                print(found, flush=True)
    write_rows(sys.argv[1], rows, ["numpy"])


if __name__ == "__main__":
    main()
