"""Every script of the gallery runs and draws."""

from __future__ import annotations

import runpy
from pathlib import Path

import pytest

GALLERY = Path(__file__).resolve().parents[1] / "docs" / "gallery"


@pytest.mark.parametrize("script", sorted(GALLERY.glob("*/plot_*.py")), ids=lambda script: script.stem)
def test_script_runs(script: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("skimage")
    plt = pytest.importorskip("matplotlib.pyplot")
    if script.stem.startswith("plot_torch"):
        pytest.importorskip("torch")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(plt, "show", lambda: None)
    with plt.rc_context({"figure.max_open_warning": 0}):
        plt.switch_backend("agg")
        try:
            runpy.run_path(str(script), run_name="__main__")
            assert plt.get_fignums()
        finally:
            plt.close("all")
