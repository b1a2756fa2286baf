"""Fetching the matrices of Deveci et al. from a folder that plays the collection."""

from __future__ import annotations

import io
import tarfile
from pathlib import Path

import pytest

from benchmarks.reproduce import deveci, fetch
from preflow.errors import InvalidInputError

NAME = "amazon0505"
CONTENT = b"%%MatrixMarket matrix coordinate pattern general\n% a comment\n3 3 2\n1 1\n2 3\n"


@pytest.fixture
def mirror(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """Return the address of a collection with one small matrix, which Table I has."""
    matrix = deveci.TABLE[NAME]._replace(rows=3, columns=3, edges=2)
    monkeypatch.setattr(fetch, "TABLE", {**deveci.TABLE, NAME: matrix})
    put(tmp_path, f"{NAME}/{NAME}.mtx", CONTENT)
    return tmp_path.joinpath("collection").as_uri()


def put(folder: Path, member: str, content: bytes) -> None:
    path = folder / "collection" / fetch.GROUPS[NAME] / f"{NAME}.tar.gz"
    path.parent.mkdir(parents=True, exist_ok=True)
    with tarfile.open(path, "w:gz") as archive:
        for name, data in ((f"{NAME}/readme.txt", b"hello"), (member, content)):
            info = tarfile.TarInfo(name)
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))


def test_every_matrix_of_the_table_has_a_group() -> None:
    assert list(fetch.GROUPS) == list(deveci.TABLE)


def test_fetches_and_notes_the_checksum(
    tmp_path: Path, mirror: str, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "matrices"
    fetch.main([str(folder), "--mirror", mirror + "/", NAME])
    path = folder / f"{NAME}.mtx"
    assert capsys.readouterr().out == f"{path}\n"
    assert path.read_bytes() == CONTENT
    assert fetch.read_sums(folder) == {path.name: fetch.checksum(path)}
    assert sorted(each.name for each in folder.iterdir()) == [fetch.SUMS, path.name]
    fetch.main([str(folder), "--mirror", "file:///nowhere", NAME])  # it is there: only checked


def test_a_changed_file_is_found(tmp_path: Path, mirror: str) -> None:
    fetch.main([str(tmp_path), "--mirror", mirror, NAME])
    path = tmp_path / f"{NAME}.mtx"
    path.write_bytes(CONTENT.replace(b"1 1", b"1 2"))
    with pytest.raises(InvalidInputError, match="SHA-256"):
        fetch.fetch(NAME, tmp_path, mirror)
    path.write_bytes(CONTENT.replace(b"3 3 2", b"4 3 2"))
    with pytest.raises(InvalidInputError, match=r"= \(4, 3, 2\), not \(3, 3, 2\) as in Table I"):
        fetch.fetch(NAME, tmp_path, mirror)


@pytest.mark.parametrize(
    ("member", "content", "words"),
    [
        (f"../{NAME}.mtx", CONTENT, "there is no amazon0505/amazon0505.mtx"),
        (f"{NAME}/{NAME}.mtx", b"%\n", "has no line of sizes"),
        (f"{NAME}/{NAME}.mtx", b"3 3\n", "has no line of sizes"),
        (f"{NAME}/{NAME}.mtx", b"3 3 5\n", "not .* as in Table I"),
    ],
)
def test_other_archives(tmp_path: Path, mirror: str, member: str, content: bytes, words: str) -> None:
    put(tmp_path, member, content)
    with pytest.raises(InvalidInputError, match=words):
        fetch.fetch(NAME, tmp_path, mirror)
    assert not list(tmp_path.glob("*.mtx*"))


def test_addresses_and_names_that_are_wrong(tmp_path: Path, mirror: str) -> None:
    with pytest.raises(SystemExit, match="cannot fetch file:///nowhere/SNAP"):
        fetch.main([str(tmp_path), "--mirror", "file:///nowhere", NAME])
    with pytest.raises(InvalidInputError, match="cannot fetch nonsense"):
        fetch.fetch(NAME, tmp_path, "nonsense")
    with pytest.raises(SystemExit):
        fetch.main([str(tmp_path), "--mirror", mirror, "unknown"])
