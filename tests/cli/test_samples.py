"""Every command of the README and of the help pages runs as it is, with the files of ``preflow samples``."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest
from click.testing import CliRunner

from preflow.cli import app
from preflow.cli.sample_files import ALL, TABLES
from preflow.cli.session import Command

ROOT = Path(__file__).resolve().parents[2]
PAGES = [
    ROOT / "README.md",
    ROOT / "docs" / "getting_started.md",
    *sorted((ROOT / "docs" / "problems").glob("*.md")),
]
#: Commands that serve until they are stopped, that take minutes, or that read what a user has to bring.
LEFT_OUT = (
    "preflow paint",
    "preflow fetch",
    "brain.zarr",
    "problem.asn.gz",
    "assign100.txt",
    "--help",
)
#: Commands that take seconds: their pages and solvers have tests of their own.
LARGE = (
    "delaunay 100000",
    "netgen 10000",
    "grid-2d 500x500",
    "--side 64",
    "mesh.mtx.gz",
    "supplies.min",
    "wide.npz",
    "segment-labels photo.jpg",
    "depth.png --show",
    "flow10.flo --show",
)


def commands() -> list[str]:
    pages = [path.read_text("utf-8") for path in PAGES]
    fenced = [found for page in pages for found in re.findall(r"^```(\S*)\n(.*?)^```$", page, re.S | re.M)]
    blocks = [block for language, block in fenced if not language]
    lines = [line for block in blocks for line in block.splitlines()]
    for command in (app, *app.commands.values()):
        text = re.sub(r"\n +--", " --", command.help or "")
        lines += [line.strip() for line in text.splitlines()]
    found = [line.split(" #")[0].strip() for line in lines if line.startswith("preflow ")]
    return [each for each in dict.fromkeys(found) if not any(part in each for part in LEFT_OUT + LARGE)]


def test_commands_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("skimage")
    pytest.importorskip("imageio")
    monkeypatch.chdir(tmp_path)
    asked = commands()
    assert len(asked) > 25
    # Files are made before they are read: generators first.
    order = sorted(
        ["preflow samples", *asked], key=lambda each: not re.match("preflow (samples|generate)", each)
    )
    for line in order:
        if ".parquet" in line and find_spec("pyarrow") is None:
            continue
        if " | " in line:
            program = f"{shlex.quote(sys.executable)} -m preflow "
            subprocess.run(line.replace("preflow ", program), shell=True, check=True)
            continue
        done = CliRunner().invoke(app, shlex.split(line)[1:])
        assert done.exit_code == 0, f"{line}: {done.output}"


DEMOS = [
    pytest.param(command, name, id=f"{command}-{name}")
    for command, each in app.commands.items()
    if isinstance(each, Command) and command != "paint"
    for name in each.demos
]


@pytest.mark.parametrize(("command", "name"), DEMOS)
def test_demos_run(command: str, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also as the command that they print, with the files of ``preflow samples``, where that is quick."""
    pytest.importorskip("skimage")
    pytest.importorskip("imageio")
    monkeypatch.chdir(tmp_path)
    done = CliRunner().invoke(app, [command, "--demo", name])
    assert done.exit_code == 0, done.output
    *_, samples, same = re.findall(r"^preflow: .*?: *(.*)$|^preflow:  +(.*)$", done.stderr, re.M)
    lines = ["".join(samples), "".join(same)]
    assert [line.split()[1] for line in lines] == ["samples", command]
    written = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    assert all(each.startswith("demo-") for each in written)
    if command in ("segment", "segment-labels", "stereo"):
        return
    assert CliRunner().invoke(app, shlex.split(lines[0])[1:]).exit_code == 0
    again = CliRunner().invoke(app, shlex.split(lines[1])[1:])
    assert again.exit_code == 0, again.output
    for each, content in written.items():
        assert tmp_path.joinpath(each).read_bytes() == content


def test_demos_take_further_options(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for arguments in (["--demo", "hours", "--json"], ["--json", "--demo=hours"], ["--demo", "--json"]):
        done = CliRunner().invoke(app, ["assign", *arguments, "--output", "pairs.csv"])
        assert done.exit_code == 0, done.output
        assert json.loads(done.stdout)["cost"] == 7
    assert [path.name for path in tmp_path.iterdir()] == ["pairs.csv"]
    done = CliRunner().invoke(app, ["segment", "--demo", "dog"])
    assert done.exit_code == 2
    assert "no demo 'dog': there are astronaut, cat, brain" in done.stderr
    missing = CliRunner().invoke(app, ["assign"]).stderr
    assert "Missing argument 'FILE'. Without a file, --demo hours shows" in missing
    assert "--demo NAME" in CliRunner().invoke(app, ["segment", "--help"]).stdout


@pytest.mark.parametrize("command", ["segment", "paint", "denoise", "stereo"])
def test_demos_without_scikit_image_name_the_extra(command: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "skimage.data", None)
    done = CliRunner().invoke(app, [command, "--demo"])
    assert done.exit_code == 4
    assert done.stderr.count("\n") == 1
    assert "scikit-image" in done.stderr
    assert "preflow[vision]" in done.stderr


def test_samples_are_kept(tmp_path: Path) -> None:
    folder = tmp_path / "try"
    arguments = ["samples", "roads.csv", "costs.npy", "matrix.mtx.gz", "--folder", str(folder)]
    assert "wrote  roads.csv, costs.npy, matrix.mtx.gz" in CliRunner().invoke(app, arguments).output
    folder.joinpath("roads.csv").write_text("mine")
    assert "kept   roads.csv" in CliRunner().invoke(app, arguments).output
    assert folder.joinpath("roads.csv").read_text() == "mine"


def test_unknown_samples_are_named(tmp_path: Path) -> None:
    assert CliRunner().invoke(app, ["samples", "--list"]).output.split() == list(ALL)
    assert set(TABLES) < set(ALL)
    done = CliRunner().invoke(app, ["samples", "road.csv", "--folder", str(tmp_path)])
    assert done.exit_code == 2
    assert "did you mean 'roads.csv'" in done.output
