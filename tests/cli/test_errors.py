"""Commands end in one line on standard error and an exit code, whatever they read; inputs stay as is."""

from __future__ import annotations

import copy
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from preflow.cli import app
from preflow.cli.costs import assign
from preflow.cli.problem_files import solve
from preflow.cli.session import as_told_by
from preflow.errors import InvalidInputError
from preflow.generators import FAMILIES
from preflow.io.npz import save_npz

pytestmark = pytest.mark.fast

PROGRAM = [sys.executable, "-c", "from preflow.cli import main; main()"]
TWO_PATHS = "p max 4 4\nn 1 s\nn 4 t\na 1 2 3\na 2 4 2\na 1 3 1\na 3 4 5\n"
MATRIX = "%%MatrixMarket matrix coordinate pattern general\n3 3 3\n1 1\n2 1\n3 2\n"
SEEDS = ("--foreground", "15,15,20,20", "--background", "2,2 45,2")

#: Every command that reads a file, with FILE where a file is read and OUT where one is written.
COMMANDS = {
    "solve": ["solve", "FILE", "--output", "OUT"],
    "info": ["info", "FILE"],
    "verify": ["verify", "FILE", "FILE"],
    "match": ["match", "FILE", "--output", "OUT"],
    "assign": ["assign", "FILE", "--output", "OUT"],
    "segment": ["segment", "FILE", "--out", "OUT.png", *SEEDS],
    "scribbles": ["segment", "PICTURE", "--out", "OUT.png", "--scribbles", "FILE"],
    "denoise": ["denoise", "FILE", "--out", "OUT.png", "--weight", "1"],
    "stereo": ["stereo", "FILE", "FILE", "--out", "OUT.png", "--max-disparity", "2"],
    "optical-flow": ["optical-flow", "FILE", "PICTURE", "--out", "OUT.png"],
    "truth": ["optical-flow", "PICTURE", "PICTURE", "--out", "OUT.png", "--truth", "FILE"],
}


@pytest.fixture
def picture(tmp_path: Path) -> str:
    """A bright square in a dark image."""
    imageio = pytest.importorskip("imageio.v3")
    pixels = np.zeros((40, 50), dtype=np.uint8)
    pixels[10:30, 10:35] = 220
    imageio.imwrite(tmp_path / "square.png", pixels)
    return str(tmp_path / "square.png")


def bad_files(folder: Path) -> list[str]:
    """Return files that no command can read, and one that is not there."""
    contents = {
        "binary": bytes(range(256)),
        "text": b"no such thing\n",
        "half.gz": b"\x1f\x8b\x08\x00",
        "huge": b"p asn 1000000000000 1\n",
        "huge.npz": b"PK\x03\x04" + bytes(30),
        "parentheses.npy": b"\x93NUMPY\x01\x00\x10\x00" + b"(" * 16,
        "short.png": b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\xff\xff\xff\xff\xff\xff\xff\xff\x08\x06\0\0\0",
        "volume.nii": b"\x5c\x01\0\0" + b"\x7f" * 400,
    }
    for name, content in contents.items():
        (folder / name).write_bytes(content)
    return [*(str(folder / name) for name in contents), str(folder), str(folder / "missing"), "a\0b"]


@pytest.mark.parametrize("command", COMMANDS)
def test_bad_input_ends_in_one_line(command: str, picture: str, tmp_path: Path) -> None:
    folder = tmp_path / "inputs"
    folder.mkdir()
    for file in bad_files(folder):
        replaced = {"FILE": file, "PICTURE": picture}
        arguments = [
            replaced.get(word, word.replace("OUT", str(tmp_path / "out"))) for word in COMMANDS[command]
        ]
        result = CliRunner().invoke(app, arguments, catch_exceptions=False)
        assert result.exit_code == 2, (file, result.output)
        assert result.stdout == ""
        lines = [line for line in result.stderr.splitlines() if "compiling" not in line]
        assert [line.startswith("preflow: error: ") for line in lines] == [True], (file, result.stderr)
        assert not [path for path in tmp_path.iterdir() if path.suffix == ".png" and str(path) != picture]


# Inputs stay as they are


@pytest.fixture
def inputs(tmp_path: Path, picture: str) -> dict[str, str]:
    """A file of each kind, by the way to name its output."""
    (tmp_path / "x.max").write_text(TWO_PATHS)
    (tmp_path / "x.mtx").write_text(MATRIX)
    np.save(tmp_path / "x.npy", np.array([[1, 2], [3, 4]]))
    return {suffix: str(tmp_path / f"x.{suffix}") for suffix in ("max", "mtx", "npy")} | {"png": picture}


@pytest.mark.parametrize("name", ["same", "relative", "symlink", "hardlink"])
@pytest.mark.parametrize(
    "arguments",
    [
        ["solve", "max", "--output", "OUT"],
        ["solve", "max", "--min-cut", "--output", "OUT"],
        ["match", "mtx", "--output", "OUT"],
        ["match", "mtx", "--permutation", "OUT"],
        ["match", "mtx", "--spy", "OUT"],
        ["assign", "npy", "--output", "OUT"],
        ["segment", "png", "--out", "OUT", *SEEDS],
        ["segment", "png", "--out", "other.png", "--mask", "OUT", *SEEDS],
        ["denoise", "png", "--out", "OUT", "--weight", "1"],
        ["stereo", "png", "png", "--out", "OUT", "--max-disparity", "2"],
        ["optical-flow", "png", "png", "--out", "OUT"],
    ],
    ids=" ".join,
)
def test_inputs_are_not_overwritten(
    arguments: list[str],
    name: str,
    inputs: dict[str, str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    if "--spy" in arguments:
        pytest.importorskip("matplotlib")
    monkeypatch.chdir(tmp_path)
    given = Path(inputs[arguments[1]])
    output = Path(f"link{given.suffix}")
    if name == "symlink":
        output.symlink_to(given)
    elif name == "hardlink":
        output.hardlink_to(given)
    else:
        output = given if name == "same" else Path(f"../{tmp_path.name}/{given.name}")
    before = given.read_bytes()
    words = [inputs.get(word, str(output) if word == "OUT" else word) for word in arguments]
    result = CliRunner().invoke(app, words, catch_exceptions=False)
    assert result.exit_code == 2
    assert "is read, and would be overwritten" in result.stderr
    assert given.read_bytes() == before


def test_the_file_on_standard_input_is_not_overwritten(tmp_path: Path) -> None:
    path = tmp_path / "x.max"
    path.write_text(TWO_PATHS)
    with path.open() as stream:
        done = subprocess.run([*PROGRAM, "solve", "-", "-o", str(path)], stdin=stream, capture_output=True)
    assert done.returncode == 2
    assert b"would be overwritten" in done.stderr
    assert path.read_text() == TWO_PATHS


def test_two_outputs_are_two_files(inputs: dict[str, str], tmp_path: Path) -> None:
    for arguments in (
        ["match", inputs["mtx"], "--output", "OUT", "--permutation", "OUT"],
        ["segment", inputs["png"], "--out", "OUT", "--mask", "OUT", *SEEDS],
    ):
        words = [word.replace("OUT", str(tmp_path / "out.png")) for word in arguments]
        result = CliRunner().invoke(app, words, catch_exceptions=False)
        assert result.exit_code == 2
        assert "would be written twice" in result.stderr


def test_scribbles_are_not_the_photograph(picture: str, tmp_path: Path) -> None:
    imageio = pytest.importorskip("imageio.v3")
    link, out = tmp_path / "link.png", str(tmp_path / "out.png")
    link.symlink_to(picture)
    for scribbles in (picture, str(link)):
        arguments = ["segment", picture, "--out", out, "--scribbles", scribbles]
        result = CliRunner().invoke(app, arguments, catch_exceptions=False)
        assert result.exit_code == 2
        assert "are the image itself" in result.stderr
    painted = {"none": [0, 0, 0], "red": [255, 0, 0], "blue": [0, 0, 255]}
    for name, colour in painted.items():
        imageio.imwrite(tmp_path / f"{name}.png", np.full((40, 50, 3), colour, dtype=np.uint8))
        arguments = ["segment", picture, "--out", out, "--scribbles", str(tmp_path / f"{name}.png")]
        result = CliRunner().invoke(app, arguments, catch_exceptions=False)
        assert result.exit_code == 2
        assert f"there are no {'blue' if name == 'red' else 'red'}" in result.stderr
    assert not Path(out).exists()


# Numbers of vertices


def test_match_numbers_vertices_as_the_file_does(tmp_path: Path) -> None:
    """Edges 0-1, 1-0: the same in a Matrix Market file, which counts from 1."""
    (tmp_path / "edges.txt").write_text("0 1\n1 0\n")
    (tmp_path / "matrix.mtx").write_text(MATRIX.replace("3 3 3\n1 1\n2 1\n3 2\n", "2 2 2\n1 2\n2 1\n"))
    for name, pairs, orders in (("edges.txt", "0 1\n1 0\n", "01"), ("matrix.mtx", "1 2\n2 1\n", "12")):
        out = [str(tmp_path / "pairs"), str(tmp_path / "orders")]
        arguments = ["match", str(tmp_path / name), "--output", out[0], "--permutation", out[1]]
        result = CliRunner().invoke(app, arguments, catch_exceptions=False)
        assert result.exit_code == 0
        assert Path(out[0]).read_text() == pairs
        assert [sorted(line.split()) for line in Path(out[1]).read_text().splitlines()] == [list(orders)] * 2
    help_text = CliRunner().invoke(app, ["match", "--help"]).stdout
    assert "numbered from 0" in " ".join(help_text.replace("│", " ").split())


@pytest.mark.parametrize(
    ("head", "hint"),
    [
        (b"\xff\xd8\xff\xe0\0\x10JFIF", "a picture, which commands such as `preflow segment`"),
        (b"\x93NUMPY\1\0v\0{'descr':", "a NumPy array, from which `preflow assign`"),
        (b"\x5c\1" + bytes(342) + b"n+1\0", "a volume, which `preflow segment` reads"),
        (b"PAR1\x15", "a Parquet table, whose name ends in .parquet"),
        (b"\x7fELF\2\1\1\0", "a binary file"),
    ],
)
def test_a_binary_file_where_text_is_read(head: bytes, hint: str, tmp_path: Path) -> None:
    """One error says what the file is and what reads it, and shows no bytes."""
    for name in ("x.max", "x.csv", "x.txt"):
        path = tmp_path / name
        path.write_bytes(head + bytes(range(256)))
        for command in (["solve", "--source", "a", "--sink", "b"][: 5 if name == "x.csv" else 1], ["match"]):
            result = CliRunner().invoke(app, [*command, str(path)])
            assert result.exit_code == 2
            assert result.stderr.startswith(f"preflow: error: {path}: text is expected, and this is {hint}")


# The streams of the process


def run_program(*arguments: str, **environment: str) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        [*PROGRAM, *arguments], env={**os.environ, **environment}, capture_output=True, timeout=120
    )


def test_any_encoding_of_the_terminal() -> None:
    done = run_program("methods", "linear_assignment", PYTHONIOENCODING="latin-1")
    assert (done.returncode, done.stderr) == (0, b"")
    assert "?upi".encode("latin-1") in done.stdout


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="/dev/full is missing")
@pytest.mark.parametrize("arguments", [["methods"], ["--help"], ["solve", "FILE", "-o", "-"]])
def test_a_full_disk_behind_standard_output(arguments: list[str], tmp_path: Path) -> None:
    path = tmp_path / "x.npz"
    save_npz(path, FAMILIES["rmf-wide"].generate("4x3"))
    words = [str(path) if word == "FILE" else word for word in arguments]
    with open("/dev/full", "wb") as full:
        done = subprocess.run([*PROGRAM, *words], stdout=full, stderr=subprocess.PIPE, timeout=120)
    lines = [line for line in done.stderr.decode().splitlines() if "compiling" not in line]
    assert done.returncode == 2
    assert lines[-1] == "preflow: error: standard output: No space left on device"
    assert "Traceback" not in done.stderr.decode()


def test_closed_streams(tmp_path: Path) -> None:
    path = tmp_path / "x.max"
    path.write_text(TWO_PATHS)
    program = f"{sys.executable} -c 'from preflow.cli import main; main()'"
    for redirect in (">&-", ">&- 2>&-"):
        done = subprocess.run(
            f"{program} info {path} {redirect}", shell=True, capture_output=True, timeout=120
        )
        assert done.returncode == 0
        assert b"Traceback" not in done.stderr


def test_errors_without_a_terminal_to_say_them(tmp_path: Path) -> None:
    with open("/dev/full", "wb") as full:
        done = subprocess.run(
            [*PROGRAM, "info", str(tmp_path / "none")], stdout=full, stderr=full, timeout=120
        )
    assert done.returncode == 2


def test_advice_is_told_as_options() -> None:
    """Advice names the options of the command that the user called; what it has no option for is left out."""
    error = InvalidInputError("no").advising("partial", True, "helps").advising("weight", False, "counts")
    error.advising("device", "cpu", "can").advising("unmatched_cost", 3, "pays").advising(
        "maximize", False, "x"
    )
    assert str(error).startswith("no; partial=True helps; weight=False counts; device='cpu' can;")
    assert as_told_by(assign, error) == "no; --partial helps; --device cpu can; --unmatched-cost 3 pays"
    assert as_told_by(solve, error) == "no; --partial helps; --device cpu can"
    assert copy.deepcopy(error).advice == error.advice
    assert str(copy.copy(error)) == str(error)
    question = InvalidInputError("cost='weight'?").advising("weight", False, "counts")
    assert str(question) == "cost='weight'? weight=False counts"
