"""Fetching matrices from a folder and from a server that play the collection."""

from __future__ import annotations

import io
import random
import tarfile
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from click.testing import CliRunner

from preflow.cli import app
from preflow.errors import InvalidInputError, ParseError, StorageError
from preflow.io import matrix_collection as collection

pytestmark = pytest.mark.fast

NAME = "amazon0505"
CONTENT = b"%%MatrixMarket matrix coordinate pattern general\n% a comment\n3 3 2\n1 1\n2 3\n"
MATRIX = collection.CollectionMatrix("SNAP", 3, 3, 2)


def packed(member: str = f"{NAME}/{NAME}.mtx", content: bytes = CONTENT) -> bytes:
    """Return an archive with a file that is not wanted, and another one."""
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w:gz") as archive:
        for name, data in ((f"{NAME}/readme.txt", b"hello"), (member, content)):
            info = tarfile.TarInfo(name)
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
    return stream.getvalue()


@pytest.fixture
def mirror(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """Return the address of a folder with one small matrix, which the set has alone."""
    monkeypatch.setattr(collection, "SETS", {"deveci28": {NAME: MATRIX}})
    put(tmp_path, packed())
    return tmp_path.joinpath("collection").as_uri()


def put(folder: Path, archive: bytes) -> None:
    path = folder / "collection" / MATRIX.group / f"{NAME}.tar.gz"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(archive)


class Server(ThreadingHTTPServer):
    """Serves an archive at any address; breaks off after `breaks` bytes; knows parts of files or does not."""

    archive = packed()
    breaks: int | None = None
    knows_parts = True
    asked: list[str | None]

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.server_port}/MM/"


class Handler(BaseHTTPRequestHandler):
    server: Server

    def do_GET(self) -> None:
        server, wanted = self.server, self.headers.get("Range")
        server.asked.append(wanted)
        if "missing" in self.path:
            self.send_error(404)
            return
        if "broken" in self.path:
            self.send_error(503)
            return
        begin = int(wanted.removeprefix("bytes=").rstrip("-")) if wanted and server.knows_parts else 0
        if begin >= len(server.archive):
            self.send_error(416)
            return
        body = server.archive[begin:]
        self.send_response(206 if begin else 200)
        if begin:
            self.send_header(
                "Content-Range", f"bytes {begin}-{len(server.archive) - 1}/{len(server.archive)}"
            )
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body[: server.breaks])

    def log_message(self, format: str, *arguments: object) -> None:
        """Print nothing."""


@pytest.fixture
def server() -> Iterator[Server]:
    with Server(("127.0.0.1", 0), Handler) as running:
        running.asked = []
        thread = threading.Thread(target=running.serve_forever, args=(0.01,))
        thread.start()
        yield running
        running.shutdown()
        thread.join()


def files(folder: Path) -> list[str]:
    return sorted(each.name for each in folder.iterdir() if each.is_file())


def test_sets() -> None:
    assert len(collection.DEVECI28) == 28
    assert {each.group for each in collection.DEVECI28.values()} >= {"SNAP", "LAW", "DIMACS10"}


def test_fetches_and_notes_the_checksum(tmp_path: Path, mirror: str) -> None:
    folder = tmp_path / "matrices"
    ran = CliRunner().invoke(app, ["fetch", "deveci28", "--folder", str(folder), "--mirror", mirror + "/"])
    path = folder / f"{NAME}.mtx"
    assert ran.exit_code == 0
    assert ran.stdout == f"{path}\n"
    assert path.read_bytes() == CONTENT
    assert collection.read_sums(folder) == {path.name: collection.checksum(path)}
    assert files(folder) == [collection.SUMS, path.name]
    collection.fetch_matrix(NAME, MATRIX, folder, "file:///nowhere")  # it is there: only checked


def test_a_changed_file_is_found(tmp_path: Path, mirror: str) -> None:
    path = collection.fetch_matrix(NAME, MATRIX, tmp_path, mirror)
    path.write_bytes(CONTENT.replace(b"1 1", b"1 2"))
    with pytest.raises(InvalidInputError, match="SHA-256"):
        collection.fetch_matrix(NAME, MATRIX, tmp_path, mirror)
    path.write_bytes(CONTENT.replace(b"3 3 2", b"4 3 2"))
    with pytest.raises(InvalidInputError, match=r"= \(4, 3, 2\), not \(3, 3, 2\) as published"):
        collection.fetch_matrix(NAME, MATRIX, tmp_path, mirror)


@pytest.mark.parametrize(
    ("archive", "words"),
    [
        (packed(f"../{NAME}.mtx"), "there is no amazon0505/amazon0505.mtx"),
        (packed(content=b"%\n"), "has no line of sizes"),
        (packed(content=b"3 3\n"), "has no line of sizes"),
        (packed(content=b"3 3 5\n"), "not .* as published"),
        (packed()[:-20], "damaged"),
        (b"no archive", "no archive, or a damaged one"),
        (b"", "no archive, or a damaged one"),
    ],
)
def test_other_archives(tmp_path: Path, mirror: str, archive: bytes, words: str) -> None:
    put(tmp_path, archive)
    with pytest.raises((InvalidInputError, ParseError), match=words):
        collection.fetch_matrix(NAME, MATRIX, tmp_path, mirror)
    assert files(tmp_path) == []


@pytest.mark.parametrize("knows_parts", [True, False])
def test_goes_on_where_it_broke_off(tmp_path: Path, server: Server, knows_parts: bool) -> None:
    server.breaks, server.knows_parts = 100, knows_parts
    with pytest.raises(StorageError, match=r"broke off after 100 of .* the same command goes on"):
        collection.fetch_matrix(NAME, MATRIX, tmp_path, server.address)
    assert files(tmp_path) == [f"{NAME}.tar.gz.part"]
    server.breaks = None
    path = collection.fetch_matrix(NAME, MATRIX, tmp_path, server.address)
    assert path.read_bytes() == CONTENT
    assert server.asked == [None, "bytes=100-"]
    assert files(tmp_path) == [collection.SUMS, path.name]


def test_parts_of_files(tmp_path: Path, server: Server) -> None:
    part = tmp_path / f"{NAME}.tar.gz.part"
    part.write_bytes(server.archive)  # all of it, but not extracted yet
    assert collection.fetch_matrix(NAME, MATRIX, tmp_path, server.address).read_bytes() == CONTENT
    tmp_path.joinpath(f"{NAME}.mtx").unlink()
    part.write_bytes(b"another file")
    with pytest.raises(ParseError, match="damaged"):
        collection.fetch_matrix(NAME, MATRIX, tmp_path, server.address)
    assert collection.fetch_matrix(NAME, MATRIX, tmp_path, server.address).read_bytes() == CONTENT


def test_no_room_keeps_the_archive(tmp_path: Path, mirror: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*arguments: object) -> None:
        raise OSError(28, "No space left on device")

    extract = collection._extract

    def without_room(*arguments: object) -> None:
        monkeypatch.setattr(collection.shutil, "copyfileobj", full)
        extract(*arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(collection, "_extract", without_room)
    with pytest.raises(StorageError, match=r"mtx.part: cannot be written: No space left"):
        collection.fetch_matrix(NAME, MATRIX, tmp_path, mirror)
    assert files(tmp_path) == [f"{NAME}.tar.gz.part"]


def test_errors_of_the_command(tmp_path: Path, mirror: str, server: Server) -> None:
    def run(*arguments: str) -> tuple[int, str]:
        ran = CliRunner().invoke(app, ["fetch", *arguments])
        return ran.exit_code, ran.stderr

    folder = str(tmp_path / "matrices")
    address = f"http://127.0.0.1:{server.server_port}"
    assert run("deveci") == (2, "preflow: error: there is no set 'deveci': there are deveci28\n")
    assert run("deveci28", "x") == (2, f"preflow: error: deveci28 has no matrix 'x': it has {NAME}\n")
    code, text = run("deveci28", "--folder", folder, "--mirror", f"{address}/missing")
    assert (code, text.splitlines()) == (
        2,
        [
            f"preflow: error: {address}/missing/SNAP/{NAME}.tar.gz: is not there (404 Not Found)",
            "preflow: 1 of 1 matrices could not be fetched",
        ],
    )
    code, text = run("deveci28", "--folder", folder, "--mirror", f"{address}/broken")
    assert (code, text.count("\n")) == (2, 1)
    assert "503" in text
    code, text = run("deveci28", "--folder", folder, "--mirror", "http://127.0.0.1:9")
    assert (code, text.count("\n")) == (2, 1)
    assert "cannot be read" in text
    assert "replace what is missing by generated graphs" in text
    assert "is not there" in run("deveci28", "--folder", folder, "--mirror", "file:///nowhere")[1]
    assert "begins with https:" in run("deveci28", "--folder", folder, "--mirror", "nowhere")[1]
    assert files(Path(folder)) == []


def test_lists_addresses(mirror: str) -> None:
    ran = CliRunner().invoke(app, ["fetch", "deveci28", "--list"])
    assert ran.stdout == f"https://sparse.tamu.edu/MM/SNAP/{NAME}.tar.gz\n"


@pytest.mark.parametrize("place", [f"{NAME}/{NAME}.mtx", f"{NAME}/other.txt"])
def test_archives_that_expand_without_end(
    tmp_path: Path, mirror: str, monkeypatch: pytest.MonkeyPatch, place: str
) -> None:
    monkeypatch.setattr(collection, "SPARE", 1 << 20)
    put(tmp_path, packed(place, CONTENT + bytes(1 << 22)))
    with pytest.raises(ParseError, match=r"it has more than .* bytes, and the matrix is far smaller"):
        collection.fetch_matrix(NAME, MATRIX, tmp_path, mirror)
    assert files(tmp_path) == []


def test_servers_that_send_without_end(
    tmp_path: Path, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(collection, "SPARE", 1 << 10)
    monkeypatch.setattr(Server, "archive", random.Random(1).randbytes(1 << 15))
    with pytest.raises(ParseError, match=r"it has more than .* bytes"):
        collection.fetch_matrix(NAME, MATRIX, tmp_path, server.address)
    assert files(tmp_path) == []
