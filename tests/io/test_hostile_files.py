"""Damaged and hostile files: every reader ends in a ParseError, and allocates only what a file can hold."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import os
import pickle
import random
import struct
import threading
import tracemalloc
import zipfile
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import networkx
import numpy as np
import pytest
import scipy.sparse

from preflow.errors import InvalidInputError, ParseError
from preflow.graph.bipartite import BipartiteGraph
from preflow.graph.network import FlowNetwork, MaxFlowProblem
from preflow.io import files
from preflow.io.bipartite import read_bipartite_graph
from preflow.io.costs import read_costs, read_masses
from preflow.io.dimacs import read_dimacs, write_dimacs
from preflow.io.edge_list import read_edge_list
from preflow.io.flo import read_flo, write_flo
from preflow.io.graphs import read_graph, read_list
from preflow.io.matrix_market import read_matrix_market, write_matrix_market
from preflow.io.npz import load_npz, save_npz
from preflow.io.solution import read_solution, write_solution
from preflow.io.undirected import read_undirected_graph

pytestmark = pytest.mark.fast

Reader = Callable[[Any], Any]

MATRIX = b"%%MatrixMarket matrix coordinate pattern general\n"
ARRAY = b"%%MatrixMarket matrix array integer general\n"
READERS: list[Reader] = [
    read_dimacs,
    read_solution,
    load_npz,
    read_costs,
    read_edge_list,
    read_matrix_market,
    read_bipartite_graph,
    read_flo,
]
#: Bytes that a reader may allocate for a file of a few bytes.
MOST_ALLOCATED = 1 << 27


def npy(header: bytes, content: bytes = b"") -> bytes:
    """Return an .npy file with this header."""
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header + content


def npz(**members: bytes) -> bytes:
    """Return an archive with these members."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(f"{name}.npy", content)
    return file.getvalue()


def saved(array: Any) -> bytes:
    """Return an array as an .npy file."""
    file = io.BytesIO()
    np.save(file, array)
    return file.getvalue()


def sparse(form: str = "csr", shape: Any = (2, 2), **arrays: Any) -> bytes:
    """Return an archive that names its arrays as SciPy does, whether they fit each other or not."""
    entries = {"format": np.array(form.encode()), "shape": np.array(shape), **arrays}
    return npz(**{name: saved(np.asarray(array)) for name, array in entries.items()})


def huge(shape: bytes, dtype: bytes = b"<i8") -> bytes:
    """Return an .npy file that announces a shape and holds eight bytes."""
    return npy(b"{'descr': '%s', 'fortran_order': False, 'shape': %s}\n" % (dtype, shape), bytes(8))


def written(tmp_path: Path, content: bytes, name: str = "file") -> Path:
    path = tmp_path / name
    path.write_bytes(content)
    return path


def refused(read: Reader, path: Path) -> str:
    """Return the message of the ParseError with which reading a file ends, having allocated little."""
    tracemalloc.start()
    try:
        with pytest.raises(ParseError) as caught:
            read(path)
        assert tracemalloc.get_traced_memory()[1] < MOST_ALLOCATED
    finally:
        tracemalloc.stop()
    message = str(caught.value)
    assert message.startswith(f"{path}:")
    assert "\n" not in message
    assert len(message) < len(str(path)) + 400
    return message.removeprefix(str(path))


HOSTILE: dict[str, tuple[Reader, bytes, str]] = {
    # Sizes that the file cannot hold
    "asn vertices": (read_costs, b"p asn 1000000000000 1\n", "1 arcs were announced"),
    "asn vertices with an arc": (
        read_costs,
        b"p asn 1000000000000 1\nn 1\na 1 2 3\n",
        "1: 1,000,000,000,000 vertices for 2 entries",
    ),
    "asn arcs": (read_costs, b"p asn 4 1000000000000\n", "arcs were announced"),
    "asn negative": (read_costs, b"p asn -4 1\n", "less than 0"),
    "min vertices": (
        read_dimacs,
        b"p min 1000000000000 1\nn 1 3\nn 2 -3\na 1 2 0 3 4\n",
        "1: 1,000,000,000,000 vertices for 3 entries",
    ),
    "min arcs": (read_dimacs, b"p min 4 1000000000000\n", "arcs were announced"),
    "max vertices": (
        read_dimacs,
        b"p max 1000000000000 1\nn 1 s\nn 2 t\na 1 2 3\n",
        "1: 1,000,000,000,000 vertices for 1 entries",
    ),
    "npy": (read_costs, huge(b"(1000000000000000,)"), "8,000,000,000,000,000 bytes, the file has 8"),
    "npy past int64": (read_costs, huge(b"(10000000000, 10000000000)"), "bytes, the file has 8"),
    "npy of nothing": (read_costs, huge(b"(0, 1000000000000)")[:-8], "1,000,000,000,000 vertices"),
    "npy of no bytes": (read_costs, huge(b"(1000000000000,)", b"|V0"), "expected numbers"),
    "npy negative": (read_costs, huge(b"(-1, -8)", b"|i1"), "shape (-1, -8)"),
    "mtx rows": (
        read_bipartite_graph,
        MATRIX + b"1000000000000 3 3\n1 1\n2 2\n3 3\n",
        "2: 1,000,000,000,003",
    ),
    "mtx entries": (
        read_bipartite_graph,
        MATRIX + b"3 3 1000000000000\n1 1\n",
        "2: 1,000,000,000,000 entries",
    ),
    "mtx array": (read_bipartite_graph, ARRAY + b"1000000 1000000\n1\n", "entries were announced"),
    "mtx symmetric array": (
        read_bipartite_graph,
        ARRAY.replace(b"general", b"symmetric") + b"1000000 1000000\n1\n",
        "entries were announced",
    ),
    "mtx negative": (read_bipartite_graph, MATRIX + b"-3 3 1\n1 1\n", "no line of sizes"),
    "mtx without sizes": (read_matrix_market, MATRIX, "no line of sizes"),
    "edge": (read_edge_list, b"0 4000000000\n", "numpy.unique"),
    "edge past int64": (read_edge_list, b"0 99999999999999999999\n", "does not fit int64"),
    "OR-Library": (read_costs, b"1000000000\n1 2 3\n", "expected 1000000000 x 1000000000 costs"),
    "flo": (read_flo, struct.pack("<fii", 202021.25, 99_999, 99_999), "bytes, it has 12"),
    "npz member": (load_npz, npz(header=huge(b"(1000000000000000,)"), tail=b"", head=b""), "the file has 8"),
    "npz sizes": (
        read_costs,
        sparse(shape=(10**12, 1), data=[1], indices=[0], indptr=[0, 1]),
        "1,000,000,000,001 vertices",
    ),
    # Numbers
    "digits": (read_costs, b"9" * 5000 + b"\n1\n", "behind the number of rows, got 1"),
    "many digits": (read_costs, b"9" * 4000 + b"\n1\n", "got 1"),
    "digits of a vertex": (read_dimacs, b"p max " + b"9" * 5000 + b" 1\n", "64-bit integer"),
    "digits of an edge": (read_edge_list, b"1 " + b"9" * 5000 + b"\n", "does not fit int64"),
    "digits of mtx": (read_matrix_market, MATRIX + b"9" * 5000 + b" 1 1\n1 1\n", "no line of sizes"),
    "underscore": (read_costs, b"1\n1_000\n", "all of them numbers"),
    "mixed": (read_costs, b"2\n9007199254740993 0.5 1 1\n", "mixes floats with integers"),
    # Headers
    "parentheses": (read_costs, npy(b"(" * 3000), "no NumPy array"),
    "braces": (read_costs, npy(b"{" * 90), "no NumPy array"),
    "minuses": (read_costs, npy(b"-" * 5000 + b"1"), "no NumPy array"),
    "no header": (read_costs, npy(b""), "no NumPy array"),
    "no ASCII": (read_costs, npy(b"\xff\xfe\n"), "no NumPy array"),
    "half a header": (read_costs, b"\x93NUMPY\x01\x00\xff\xff{", "no NumPy array"),
    "version": (read_costs, b"\x93NUMPY\x09\x00\x01\x00 ", "version"),
    "second p line": (read_costs, b"p asn 2 0\np asn 2 0\n", "2: a second p line"),
    "second vertex line": (read_costs, b"p asn 2 0\nn 1\nn 1\n", "two n lines"),
    "second banner": (read_matrix_market, MATRIX + MATRIX + b"x\n", "no line of sizes"),
    # What SciPy's parser reads past
    "dense, without rows": (read_matrix_market, ARRAY + b"0 2\n1\n", "2: no entries were announced"),
    "NUL": (read_matrix_market, MATRIX + b"3 3 1\n1 1\0\n", "3: no Matrix Market file: it has a NUL"),
    # Archives
    "empty member": (load_npz, npz(header=b"", tail=b"", head=b"", capacity=b""), "no NumPy array header"),
    "no member": (load_npz, npz(), "it has no array header"),
    "text header": (
        load_npz,
        npz(**dict.fromkeys(("header", "tail", "head", "capacity"), saved([1]))),
        "no network",
    ),
    "empty sparse member": (read_costs, npz(format=b"", shape=b""), "no NumPy array format"),
    "index out of range": (
        read_costs,
        sparse(data=[1, 1], indices=[0, 5], indptr=[0, 1, 2]),
        "sparse matrix",
    ),
    "negative index": (read_costs, sparse(data=[1, 1], indices=[0, -5], indptr=[0, 1, 2]), "sparse matrix"),
    "indptr past the end": (
        read_costs,
        sparse(data=[1, 1], indices=[0, 1], indptr=[0, 9, 2]),
        "sparse matrix",
    ),
    "indptr descends": (read_costs, sparse(data=[1, 1], indices=[0, 1], indptr=[0, -9, 2]), "sparse matrix"),
    "short indptr": (read_costs, sparse(data=[1, 1], indices=[0, 1], indptr=[0, 2]), "sparse matrix"),
    "long indptr": (read_costs, sparse(data=[1, 1], indices=[0, 1], indptr=[0, 1, 9]), "sparse matrix"),
    "unsigned index": (
        read_costs,
        sparse(data=[1, 1], indices=np.array([0, 2**64 - 1], np.uint64), indptr=[0, 1, 2]),
        "sparse matrix",
    ),
    "csc index": (read_costs, sparse("csc", data=[1, 1], indices=[0, 5], indptr=[0, 1, 2]), "sparse matrix"),
    "bsr index": (
        read_costs,
        sparse("bsr", data=np.ones((1, 2, 2)), indices=[7], indptr=[0, 1]),
        "sparse matrix",
    ),
    "bsr of no blocks": (
        read_costs,
        sparse("bsr", data=np.ones((1, 0, 2)), indices=[0], indptr=[0, 1]),
        "no ",
    ),
    "coo index": (read_costs, sparse("coo", data=[1, 1], row=[0, 5], col=[0, 1]), "sparse matrix"),
    "coo lengths": (read_costs, sparse("coo", data=[1, 1], row=[0], col=[0, 1]), "sparse matrix"),
    "dia offset": (read_costs, sparse("dia", data=[[1, 1]], offsets=[2**62]), "sparse matrix"),
    "unknown format": (read_costs, sparse("xyz", data=[1]), "sparse matrix"),
    "missing array": (read_costs, sparse(data=[1], indices=[0]), "sparse matrix"),
    "three dimensions": (
        read_costs,
        sparse(shape=(1, 1, 1), data=[1], indices=[0], indptr=[0, 1]),
        "its shape",
    ),
    "negative shape": (read_costs, sparse(shape=(-1, 1), data=[1], indices=[0], indptr=[0, 1]), "its shape"),
    "float indices": (read_costs, sparse(data=[1], indices=[0.5], indptr=[0, 1, 1]), "no integers"),
    "text as costs": (read_costs, sparse(data=["a"], indices=[0], indptr=[0, 1, 1]), "no numbers"),
    # Streams
    "not gzip": (read_edge_list, b"\x1f\x8bnothing", "damaged gzip"),
    "zstd": (read_edge_list, b"(\xb5/\xfd\x04\x00", "compressed by zstd"),
    "half of bzip2": (read_edge_list, bz2.compress(b"0 1\n")[:-4], "damaged bzip2"),
    "half of xz": (read_edge_list, lzma.compress(b"0 1\n")[:-4], "damaged xz"),
}


@pytest.mark.parametrize("case", HOSTILE)
def test_hostile_file(case: str, tmp_path: Path) -> None:
    read, content, message = HOSTILE[case]
    assert message in refused(read, written(tmp_path, content))


@pytest.mark.parametrize("read", READERS)
def test_paths_that_are_none(read: Reader, tmp_path: Path) -> None:
    """An integer is a file descriptor to Python, which would be closed."""
    for path in (1, True, None, 2.5, b"bytes"):
        with pytest.raises(InvalidInputError, match="path must be a str or a Path"):
            read(path)
    os.fstat(1)
    for path in (str(tmp_path / "missing"), str(tmp_path), "a\0b", "\ud800"):
        with pytest.raises(ParseError, match="cannot be read"):
            read(path)


def test_writers_refuse_what_is_no_path() -> None:
    problem = MaxFlowProblem(FlowNetwork.from_arrays([0], [1], [3]), 0, 1)
    graph = BipartiteGraph.from_arrays([0], [0])
    writers: list[Callable[[Any], None]] = [
        lambda path: save_npz(path, problem),
        lambda path: write_dimacs(path, problem),
        lambda path: write_solution(path, 3, [0], [1], [3]),
        lambda path: write_matrix_market(path, graph),
        lambda path: write_flo(path, np.zeros((2, 1, 1))),
    ]
    for write in writers:
        for path in (1, True, None, "a\0b"):
            with pytest.raises(InvalidInputError, match=r"path must be a str or a Path|cannot be written"):
                write(path)
    os.fstat(1)


class Evil:
    """An object whose unpickling makes a folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def __reduce__(self) -> tuple[Any, ...]:
        return os.mkdir, (str(self.folder),)


def test_nothing_is_unpickled(tmp_path: Path) -> None:
    folder = tmp_path / "hacked"
    objects = np.array([[Evil(folder)]], dtype=object)
    evil = io.BytesIO()
    np.save(evil, objects, allow_pickle=True)
    names = ("header", "tail", "head", "capacity", "format", "shape", "data", "indices", "indptr")
    for content in (evil.getvalue(), npz(**dict.fromkeys(names, evil.getvalue())), pickle.dumps(objects)):
        for read in READERS:
            refused(read, written(tmp_path, content))
    assert not folder.exists()
    pickle.loads(pickle.dumps(Evil(folder)))
    assert folder.exists(), "unpickling the object does what the test looks for"


# Valid files that SciPy's parser reads past the end of


@pytest.mark.parametrize("ending", [b"", b" ", b"\r", b"\t \r", b"\n", b"\r\n", b"\n\n \n"])
@pytest.mark.parametrize("compress", [bytes, gzip.compress])
def test_matrix_market_may_end_in_anything_blank(
    ending: bytes, compress: Callable[[bytes], bytes], tmp_path: Path
) -> None:
    content = MATRIX.replace(b"pattern", b"integer") + b"% comment\n\n3 3 2\n1 2 1\n3 3 1" + ending
    graph = read_matrix_market(written(tmp_path, compress(content)))
    assert (graph.shape, graph.rows.neighbour.tolist()) == ((3, 3), [1, 2])


def test_matrix_market_from_a_stream(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    writer = threading.Thread(target=pipe.write_bytes, args=(MATRIX + b"3 3 1\n1 2 ",))
    writer.start()
    assert read_matrix_market(pipe).rows.neighbour.tolist() == [1]
    writer.join()


# Compressed files


def bomb(head: bytes, size: int) -> bytes:
    """Return a gzip file of a head and then of zeros, 1,000 times smaller than its content."""
    return gzip.compress(head) + gzip.compress(bytes(size // 4)) * 4


@pytest.mark.parametrize(
    ("read", "head"),
    [
        (read_dimacs, b"p max 4 4\n"),
        (read_dimacs, b"p min 4 4\n"),
        (read_solution, b"s 4\n"),
        (read_costs, b"p asn 4 4\n"),
        (read_costs, b"3\n1 2 3 4 5 6 7 8 9\n"),
        (read_costs, saved(np.zeros((3, 3)))),
        (read_edge_list, b"0 1\n"),
        (read_matrix_market, MATRIX + b"3 3 1\n1 1\n"),
        (read_bipartite_graph, b"0 1\n"),
        (read_flo, struct.pack("<fii", 202021.25, 1, 1)),
    ],
)
def test_bombs(read: Reader, head: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("preflow.io.files.MOST_UNANNOUNCED", "preflow.io.record_reader.MOST_COMMENTS"):
        monkeypatch.setattr(name, 1 << 20)
    monkeypatch.setattr(files, "SPARE", 1 << 20)
    for content in (
        bomb(head, 1 << 26),
        bz2.compress(head + bytes(1 << 26)),
        lzma.compress(head + bytes(1 << 26)),
    ):
        path = written(tmp_path, content)
        with pytest.raises(ParseError, match="expands to more than"):
            read(path)


def test_what_compresses_well_is_no_bomb(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "MOST_UNANNOUNCED", 1 << 10)
    costs = np.zeros((1000, 1000))
    path = written(tmp_path, gzip.compress(saved(costs)))
    assert 8 * costs.size > files.MOST_EXPANSION * path.stat().st_size
    assert read_costs(path).costs.shape == (1000, 1000)
    path = written(tmp_path, gzip.compress(b"500\n" + b"7 " * 500**2))
    assert read_costs(path).costs.shape == (500, 500)
    np.savez_compressed(tmp_path / "x.npz", **{"format": b"coo", "shape": (2, 2)}, data=[1], row=[1], col=[0])
    assert read_costs(tmp_path / "x.npz").costs.toarray().tolist() == [[0, 0], [1, 0]]


def test_members_and_padding_of_gzip(tmp_path: Path) -> None:
    text = b"p asn 5 2\nn 4\nn 2\na 4 1 3\na 2 3 5\n"
    for content in (
        gzip.compress(text) + bytes(100),
        b"".join(gzip.compress(text[i : i + 1]) for i in range(len(text))),
        gzip.compress(b"") + gzip.compress(text[:9]) + bytes(3) + gzip.compress(text[9:]),
    ):
        assert gzip.decompress(content) == text
        assert read_costs(written(tmp_path, content)).costs.shape == (2, 3)
    for content in (
        gzip.compress(text)[:-1],
        gzip.compress(text) + b"x",
        gzip.compress(text)[:-6] + bytes(6),
    ):
        assert "damaged gzip" in refused(read_costs, written(tmp_path, content))


def test_archives_of_other_compressions(tmp_path: Path) -> None:
    for method in (zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA):
        with zipfile.ZipFile(tmp_path / "x.npz", "w", method) as archive:
            for name in ("header", "tail", "head", "capacity"):
                archive.writestr(f"{name}.npy", saved(np.zeros(3, np.int64)))
        assert "neither stored nor deflated" in refused(load_npz, tmp_path / "x.npz")


@pytest.mark.parametrize("form", ["csr", "csc", "bsr", "coo", "dia"])
@pytest.mark.parametrize("compressed", [False, True])
def test_every_format_of_sparse_costs_is_read(form: str, compressed: bool, tmp_path: Path) -> None:
    costs = np.array([[1.5, 0, 2], [0, 3, 0]])
    for kind in (scipy.sparse.csr_array, scipy.sparse.csr_matrix):
        scipy.sparse.save_npz(tmp_path / "x.npz", kind(costs).asformat(form), compressed=compressed)
        read = read_costs(tmp_path / "x.npz").costs
        assert read.format == "csr"
        assert read.toarray().tolist() == costs.tolist()


# Files changed at random


def mutated(content: bytes, rng: random.Random) -> bytes:
    data = bytearray(content)
    for _ in range(rng.randint(1, 3)):
        begin = rng.randrange(len(data) + 1)
        change = rng.choice([b"", b"\0", b"9" * 20, b"-", b"(", rng.randbytes(1), rng.randbytes(8)])
        data[begin : begin + rng.randint(0, 3)] = change
    return bytes(data[: rng.choice([len(data), rng.randrange(len(data) + 1)])])


def named(read: Reader, name: str) -> Reader:
    """Return a reader that reads a file under another name."""

    def reads(path: Path) -> Any:
        return read(path.rename(path.with_name(name)))

    return reads


def sample_files() -> Iterator[tuple[str, Reader, bytes]]:
    costs = np.array([[4, 1, 3], [2, 0, 5], [3, 2, 2]])
    yield "npy", read_costs, saved(costs)
    yield "asn", read_costs, b"p asn 5 5\nn 4\nn 2\na 4 1 3\na 4 3 5\na 2 1 9\na 2 1 1\na 2 5 7\n"
    yield "asn network", read_dimacs, b"p asn 4 3\nn 4\nn 2\na 4 1 3\na 4 3 5\na 2 1 9\n"
    yield "min", read_dimacs, b"p min 3 3\nn 1 4\nn 3 -4\na 1 2 0 4 3\na 2 3 1 inf -5\na 1 3 0 2 2.5\n"
    yield "OR-Library", read_costs, b"3\n4 1 3\n2 0 5\n3 2 2\n"
    for form in ("csr", "coo", "bsr", "dia"):
        file = io.BytesIO()
        scipy.sparse.save_npz(file, scipy.sparse.csr_array(costs).asformat(form), compressed=False)
        yield form, read_costs, file.getvalue()
    yield "edges", read_bipartite_graph, b"# a\n0 3 1\n2\t1  0.5\n0 1 2 # here\n"
    yield "numbers", read_costs, b"# costs\n4,1,3\n2,0.5,5\n\n3,2,inf\n"
    yield "masses", read_masses, b"4 1.5 3\n"
    yield "list", read_list, b"4 3\ns a 3\na t 2.5 # narrow\ns t 1\n"
    yield "weights", read_undirected_graph, b"4 3\n1 2 3\n2 3 2.5\n1 4 7\n"
    yield "colouring", read_undirected_graph, b"c x\np edge 3 2\ne 1 2\ne 2 3\n"
    yield "metis", named(read_undirected_graph, "a.graph"), b"% x\n3 2 11\n1 2 5 3 6\n1 1 5\n1 1 6\n"
    traffic = b"<FIRST THRU NODE> 1\n<END OF METADATA>\n~ a\tb\tcapacity\t;\n\t1\t2\t7.5\t;\n\t2\t3\t6\t;\n"
    yield "tntp", named(read_list, "a.tntp"), traffic
    graph = networkx.DiGraph([("s", "t", {"capacity": 3, "weight": 2.5}), ("t", "u", {"weight": 1.0})])
    for name in ("graphml", "gml", "gexf", "pajek"):
        file = io.BytesIO()
        getattr(networkx, f"write_{name}")(graph, file)
        yield name, named(read_graph, f"a.{name.replace('pajek', 'net')}"), file.getvalue()
    yield "mtx", read_bipartite_graph, MATRIX.replace(b"pattern", b"real") + b"% a\n3 3 2\n1 2 .5\n3 3 1e3\n"
    yield "array", read_bipartite_graph, ARRAY + b"2 2\n1\n0\n-3\n4\n"
    yield "symmetric", read_bipartite_graph, MATRIX.replace(b"general", b"symmetric") + b"3 3 2\n2 1\n3 3\n"
    yield "flo", read_flo, struct.pack("<fii4f", 202021.25, 2, 1, 1, 2, 3, 4)


SAMPLES = {name: (read, content) for name, read, content in sample_files()}


@pytest.mark.parametrize("name", SAMPLES)
def test_mutated_files_are_read_or_refused(name: str, tmp_path: Path) -> None:
    read, content = SAMPLES[name]
    rng = random.Random(name)
    path = written(tmp_path, content)
    read(path)
    for number in range(150):
        changed = mutated(content, rng)
        path.write_bytes(gzip.compress(changed, 1) if number % 3 == 0 else changed)
        with suppress(ParseError):
            read(path)
