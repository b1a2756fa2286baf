"""Mutated files of every format: each is read, or refused with an error of preflow's own."""

from __future__ import annotations

import gzip
import io
import os
import resource
import tempfile
import time
import warnings
import zipfile
from collections.abc import Callable
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import scipy.sparse as sp

import preflow
from preflow.errors import PreflowError
from preflow.io.bipartite import read_bipartite_graph
from preflow.io.costs import read_costs
from preflow.io.flo import read_flo, write_flo
from preflow.io.solution import read_solution
from preflow.solving.timing import compile_seconds

from .harness import Case, Driver, Tally, require

#: More memory than this beyond what the process has is more than a small file can need.
MEMORY = 4 << 30
#: Seconds of the CPU after which reading a small file takes too long.
SLOW = 5.0
#: Rows and vertices up to which what was read is solved, too.
SOLVED = 64

READERS: dict[str, Callable[[Any], Any]] = {
    "network": preflow.read_dimacs,
    "solution": read_solution,
    "graph": read_bipartite_graph,
    "costs": read_costs,
    "archive": preflow.load_npz,
    "flo": read_flo,
}
NUMBERS = [
    *b"0 -1 1 2 00 1000000000000 4000000000 9223372036854775807 9223372036854775808".split(),
    *b"99999999999999999999999 -9223372036854775808 2147483648 4294967295 1e400 1e-400 nan inf -inf".split(),
    *b"0x10 1_0 +3 .5 5. 1e --1 1.5 \xd9\xa3".split(),
    b"1" * 5000,
]
JUNK = [
    b"",
    b" ",
    b"\r",
    b"\0",
    b"\n\n",
    b"\x1a",
    b"\t",
    b"\xff",
    b"(" * 3000,
    b"%",
    b"#",
    b"c",
    b"\xef\xbb\xbf",
]


def _bytes(save: Callable[[Any], None]) -> bytes:
    file = io.BytesIO()
    save(file)
    return file.getvalue()


def _written(write: Callable[[Path], None], name: str = "file") -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / name
        write(path)
        return path.read_bytes()


@cache
def seeds() -> list[tuple[str, bytes]]:
    """Return valid files with their kinds."""
    network = preflow.FlowNetwork.from_arrays(
        [0, 0, 1, 2], [1, 2, 3, 3], [3, 2, 2, 4], reverse_capacity=[1, 0, 0, 2]
    )
    problem = preflow.MaxFlowProblem(network, 0, 3, name="small")
    labelled = preflow.FlowNetwork.from_arrays([0], [1], [2.5])
    matrix = np.array([[4, 1, 3], [2, 0, 5], [3, 2, 2]])
    stored = sp.csr_array(matrix)

    def savez(**arrays: Any) -> bytes:
        return _bytes(lambda file: np.savez(file, **arrays))

    def pickled(file: Any) -> None:
        np.save(file, np.array([[None, 1], [2, 3]], dtype=object), allow_pickle=True)

    csr = {"format": np.array(b"csr"), "shape": [2, 2]}
    pattern = b"%%MatrixMarket matrix coordinate "
    return [
        ("network", b"c two paths\np max 4 5\nn 1 s\nn 4 t\na 1 2 3\na 1 3 2\na 2 4 2\na 3 4 4\na 2 3 1\n"),
        ("network", b"p max 3 3\nn 1 s\nn 3 t\na 1 2 1.5\na 2 3 inf\na 1 3 7\n"),
        ("network", b"p min 3 3\nn 1 4\nn 3 -4\na 1 2 0 4 3\na 2 3 1 inf -5\na 1 3 0 2 7\n"),
        ("network", b"p min 2 2\nn 1 1.5\nn 2 -1.5\na 1 2 0 1 2.5\na 1 2 0 3 4\n"),
        ("network", b"p asn 4 3\nn 1\nn 2\na 1 3 5\na 1 4 -2\na 2 3 1\n"),
        ("solution", b"c flow\ns 4\nf 1 2 2\nf 1 3 2\nf 2 4 2\nf 3 4 2\n"),
        ("solution", b"s 1.5\nf 1 2 1.5\n"),
        ("graph", b"# edges\n0 1\n0 2\n1 1\n2 0\n% more\n3 3 0.5\n"),
        ("graph", pattern + b"pattern general\n% comment\n3 3 4\n1 1\n1 2\n2 3\n3 3\n"),
        ("graph", pattern + b"real general\n3 3 3\n1 1 2.5\n2 2 0\n3 3 1 "),
        ("graph", pattern + b"integer symmetric\n3 3 3\n1 1 2\n2 1 4\n3 3 1\n"),
        ("graph", b"%%MatrixMarket matrix array real general\n2 2\n1\n0\n0\n4\n"),
        ("graph", pattern + b"complex hermitian\n2 2 2\n1 1 2 0\n2 1 4 1\n"),
        ("costs", b"c costs\np asn 4 4\nn 1\nn 2\na 1 3 5\na 1 4 2\na 2 3 1\na 2 4 9\n"),
        ("costs", b"3\n4 1 3\n2 0 5\n3 2 2\n"),
        ("costs", b"2\n1.5 2\n3 4e0\n"),
        ("costs", _bytes(lambda file: np.save(file, matrix))),
        ("costs", _bytes(lambda file: np.save(file, matrix / 2))),
        ("costs", _bytes(lambda file: np.save(file, np.asfortranarray(matrix.astype(">i2"))))),
        ("costs", _bytes(pickled)),
        ("costs", _bytes(lambda file: sp.save_npz(file, stored))),
        ("costs", _bytes(lambda file: sp.save_npz(file, stored.tocoo(), compressed=False))),
        ("costs", _bytes(lambda file: sp.save_npz(file, stored.tocsc()))),
        ("costs", savez(**csr, indptr=[0, 1, 2], indices=[0, 5], data=[1, 1])),
        ("costs", savez(**csr, indptr=[0, 9, 2], indices=[0, 1], data=[1, 1])),
        ("archive", _written(lambda path: preflow.save_npz(path, problem))),
        ("archive", _written(lambda path: preflow.save_npz(path, labelled))),
        ("flo", _written(lambda path: write_flo(path, np.ones((2, 2, 3))))),
    ]  # fmt: skip


def make(random: Random, quick: bool = False) -> Case:
    kind, data = random.choice(seeds())
    zipped = data.startswith(b"PK")
    compressed = random.random() < 0.1
    if compressed and random.random() < 0.5:
        data = gzip.compress(data, 1, mtime=0)
    elif zipped and random.random() < 0.6:
        data = _with_member_mutated(random, data)
        if random.random() < 0.7:
            return {"kind": kind, "data": data.decode("latin-1")}
    for _ in range(random.choice([1, 1, 1, 2, 3])):
        data = mutated(random, data)
    if compressed and not data.startswith(b"\x1f\x8b"):
        data = gzip.compress(data, 1, mtime=0)
    return {"kind": kind, "data": data.decode("latin-1")}


def mutated(random: Random, data: bytes) -> bytes:
    """Return data with one thing changed."""
    how = random.randrange(12)
    place = random.randrange(len(data) + 1)
    if how == 0:
        return data[:place]
    if how == 1:
        return data[:place] + bytes([random.randrange(256)]) + data[place + 1 :]
    if how == 2:
        return data[:place] + random.choice(JUNK) + data[place:]
    if how == 3:
        return data[:place] + data[place + random.choice([1, 2, 8]) :]
    if how == 4:
        return data + random.choice(JUNK)
    if how == 5:
        return data[:place] + data[place : place + 9] * random.choice([2, 3]) + data[place + 9 :]
    if how == 6 and data:
        place = min(place, len(data) - 1)
        return data[:place] + bytes([data[place] ^ (1 << random.randrange(8))]) + data[place + 1 :]
    if how == 7:  # a word of 4 or 8 bytes, as binary formats have sizes
        word = random.choice([0, 1, 2**31 - 1, 2**32 - 1, 2**63 - 1, 2**40, 255]).to_bytes(8, "little")
        size = random.choice([4, 8])
        return data[:place] + word[:size] + data[place + size :]
    lines = data.split(b"\n")
    line = random.randrange(len(lines))
    if how == 8:
        other = random.randrange(len(lines))
        lines[line], lines[other] = lines[other], lines[line]
    elif how == 9:
        lines[line : line + 1] = lines[line : line + 1] * random.choice([0, 2])
    else:  # a number, or another word, becomes one that is odd
        words = lines[line].split(b" ")
        words[random.randrange(len(words))] = random.choice(NUMBERS)
        lines[line] = b" ".join(words)
    return b"\n".join(lines)


def _with_member_mutated(random: Random, data: bytes) -> bytes:
    """Return a ZIP archive of which one member is mutated, and the checksum right."""
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        members = [(name, archive.read(name)) for name in archive.namelist()]
    chosen = random.randrange(len(members))
    name, content = members[chosen]
    how = random.random()
    if how < 0.1:
        members[chosen] = (name, b"")
    elif how < 0.15:
        del members[chosen]
    elif how < 0.2:
        members[chosen] = (name.replace(".npy", ""), content)
    else:
        members[chosen] = (name, mutated(random, content))
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", random.choice([zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])) as archive:
        for name, content in members:
            archive.writestr(zipfile.ZipInfo(name), content)
    return file.getvalue()


@cache
def _path(process: int) -> Path:
    folder = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    return Path(tempfile.mkdtemp(prefix="preflow-fuzz-", dir=folder)) / f"file-{process}"


def check(case: Case, tally: Tally) -> None:
    path = _path(os.getpid())
    path.write_bytes(case["data"].encode("latin-1"))
    tally["files"] += 1
    tally[f"files of kind {case['kind']}"] += 1
    begin, compiled = time.process_time(), compile_seconds()
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    used = int(Path("/proc/self/statm").read_bytes().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + MEMORY, hard))
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = READERS[case["kind"]](path)
            tally["read"] += 1
            _use(found)
    except PreflowError as error:
        tally["refused"] += 1
        tally[f"error {type(error).__name__}"] += 1
    finally:
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))
        path.unlink()
    taken = time.process_time() - begin - (compile_seconds() - compiled)
    require(taken < SLOW, "slow to read", f"{taken:.1f} s")


def _use(found: Any) -> None:
    """Solve what was read, where it is small: kernels must never see what is inconsistent."""
    if isinstance(found, preflow.CostNetwork) and found.num_vertices <= SOLVED:
        preflow.min_cost_flow(found, threads=1)
    elif isinstance(found, preflow.MaxFlowProblem) and found.network.num_vertices <= SOLVED:
        preflow.min_cut(found, method="serial-fifo", threads=1)
    elif isinstance(found, preflow.BipartiteGraph) and max(found.shape) <= SOLVED:
        preflow.bipartite_matching(found, method="serial-hopcroft-karp", threads=1, initial="none")
    elif hasattr(found, "costs") and max(found.costs.shape) <= SOLVED:
        preflow.linear_assignment(found.costs, method="serial-shortest-path", threads=1, partial=True)


DRIVERS = [Driver("readers", make, check, share=9.0)]
