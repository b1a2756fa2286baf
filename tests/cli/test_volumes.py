"""preflow segment --volume: against segment, and its errors."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from preflow.cli import app
from preflow.cli.volumes import parse_size
from preflow.distributed.files import Store
from preflow.errors import InvalidInputError
from preflow.vision import segment


@pytest.fixture
def volume(tmp_path: Path) -> np.ndarray:
    rng = np.random.default_rng(0)
    inside = np.indices((20, 20, 20)).sum(0) > 30
    values = np.clip(rng.normal(np.where(inside, 150, 90), 30), 0, 255).astype(np.uint8)
    np.save(tmp_path / "volume.npy", values)
    return values


SEEDS = ("--foreground", ">200", "--background", "<40", "--smoothness", "2", "--sigma", "20")


@pytest.mark.parametrize("kind", ["npy", "zarr"])
def test_the_mask_is_that_of_segment(kind: str, volume: np.ndarray, tmp_path: Path) -> None:
    path, out = tmp_path / f"volume.{kind}", tmp_path / f"mask.{kind}"
    if kind == "zarr":
        zarr = pytest.importorskip("zarr")
        zarr.create_array(path, data=volume, chunks=(8, 8, 8))
    for _ in range(2):
        arguments = ["segment", "--volume", str(path), "--out", str(out), "--memory", "6MB", "--verify"]
        result = CliRunner().invoke(app, [*arguments, *SEEDS])
        assert result.exit_code == 0, result.output
        assert "the energy is the least" in result.output
    expected = segment(volume, volume > 200, volume < 40, smoothness=2, sigma=20, model="histogram")
    mask = np.load(out) if kind == "npy" else zarr.open_array(out, mode="r")[:]
    assert np.array_equal(mask, expected.mask)


@pytest.mark.parametrize("kind", ["npy", "zarr"])
def test_an_error_leaves_the_mask_of_before(
    kind: str, volume: np.ndarray, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if kind == "zarr":
        pytest.importorskip("zarr")
    out = tmp_path / f"mask.{kind}"
    arguments = ["segment", "--volume", str(tmp_path / "volume.npy"), "--out", str(out), *SEEDS]
    assert CliRunner().invoke(app, arguments).exit_code == 0
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}

    def full(*given: object) -> None:
        raise OSError(28, "No space left on device")

    rename = Path.replace

    def full_at_the_end(path: Path, target: Path) -> Path:
        if path.suffix == ".part":
            full()
        return rename(path, target)

    for owner, name, fails in (
        (Store, "write", full),
        (Path, "replace", full),
        (Path, "replace", full_at_the_end),
    ):
        with monkeypatch.context() as patch:
            patch.setattr(owner, name, fails)
            result = CliRunner().invoke(app, arguments)
        assert result.exit_code == 2
        assert "No space left on device" in result.output
        assert {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()} == before


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--volume", "volume.npy", "--out", "mask.png"), "ends in .zarr or .npy"),
        (("--volume", "none.npy", "--out", "mask.npy"), "cannot be read"),
        (("--volume", "volume.npy", "--out", "volume.npy"), "volume.npy"),
        (("--volume", "volume.npy", "--out", "mask.npy", "--memory", "much"), "--memory is a size"),
        (("--volume", "volume.npy", "--out", "mask.npy", "--box", "1,1,1,2,2,2"), "--volume takes no"),
        (("image.png", "--out", "mask.png", "--memory", "4GB"), "belong to --volume"),
        (("--out", "mask.png"), "IMAGE is missing"),
    ],
)
def test_wrong_arguments(
    arguments: tuple[str, ...],
    message: str,
    volume: np.ndarray,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    result = CliRunner().invoke(app, ["segment", *arguments, *SEEDS])
    assert result.exit_code != 0
    assert message in result.output


def test_sizes() -> None:
    assert [parse_size(text) for text in ("4GB", "500M", "1.5kb", "7")] == [4 * 10**9, 5 * 10**8, 1500, 7]
    for text in ("", "GB", "-1", "0", "4 PB"):
        with pytest.raises(InvalidInputError, match="size such as"):
            parse_size(text)
