"""The widget in a real JupyterLab: paint in one cell, use the mask in the next one.

Skipped where JupyterLab, Playwright or a browser is missing. The kernel is that of the `jupyter-lab` on the
path, whose environment needs the extra `notebook`.
"""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.error import URLError
from urllib.request import urlopen

import pytest

from tests.support.paths import ROOT
from tests.vision.painter.pages import drag, until

playwright = pytest.importorskip("playwright.sync_api", reason="needs Playwright")
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
JUPYTER = shutil.which("jupyter-lab")

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(CHROMIUM is None, reason="needs the browser chromium"),
    pytest.mark.skipif(JUPYTER is None, reason="needs JupyterLab with the extra notebook: jupyter-lab"),
]

TOKEN = "secret"
CELLS = (
    """\
import numpy as np
from preflow.vision import Paint, Painting, segment
image = np.random.default_rng(3).integers(0, 90, (120, 160)).astype(np.uint8)
image[30:90, 40:120] += 120
page = Paint(Painting(image, smoothness=5.0))
page""",
    """\
labels = page.painting.labels
same = segment(image, labels == 1, labels == 2, smoothness=5.0)
print("equal", (page.mask == same.mask).all(), "size", page.mask.sum())""",
    """\
page.close()
print("closed")""",
)


def notebook() -> dict[str, Any]:
    cells = [
        {
            "cell_type": "code",
            "id": f"c{number}",
            "source": source,
            "metadata": {},
            "outputs": [],
            "execution_count": None,
        }
        for number, source in enumerate(CELLS)
    ]
    kernel = {"name": "python3", "display_name": "Python 3", "language": "python"}
    return {"cells": cells, "metadata": {"kernelspec": kernel}, "nbformat": 4, "nbformat_minor": 5}


@pytest.fixture
def address(tmp_path: Path) -> Iterator[str]:
    """The address of a server that has the notebook, with folders of its own."""
    (tmp_path / "home").mkdir()
    (tmp_path / "files").mkdir()
    (tmp_path / "files" / "paint.ipynb").write_text(json.dumps(notebook()))
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    options = {
        "ServerApp.root_dir": tmp_path / "files",
        "ServerApp.port": port,
        "ServerApp.port_retries": 0,
        "IdentityProvider.token": TOKEN,
        "LabApp.news_url": "None",
        "LabApp.check_for_updates_class": "jupyterlab.NeverCheckForUpdate",
        "LabApp.collaborative": False,
    }
    command = [
        JUPYTER,
        "--no-browser",
        "--allow-root",
        *(f"--{name}={value}" for name, value in options.items()),
    ]
    folders = {f"JUPYTER_{name}_DIR": str(tmp_path / name) for name in ("CONFIG", "DATA", "RUNTIME")}
    environment = {**os.environ, **folders, "HOME": str(tmp_path / "home"), "PYTHONPATH": str(ROOT / "src")}
    with tmp_path.joinpath("log").open("w") as log:
        server = subprocess.Popen(command, env=environment, stdout=log, stderr=log)
        try:

            def answers() -> bool:
                assert server.poll() is None, tmp_path.joinpath("log").read_text()
                try:
                    return bool(
                        urlopen(f"http://127.0.0.1:{port}/api?token={TOKEN}", timeout=5).status == 200
                    )
                except (URLError, OSError):
                    return False

            until(answers, 60.0)
            yield f"http://127.0.0.1:{port}/lab/tree/paint.ipynb?token={TOKEN}"
        finally:
            server.terminate()  # also ends the kernels
            server.wait(20)


def test_paint_in_jupyter(address: str) -> None:
    with playwright.sync_playwright() as started:
        browser = started.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": 1100, "height": 1200})
        page.set_default_timeout(60_000)
        page.goto(address)
        cells = page.locator(".jp-CodeCell")
        cells.first.wait_for()
        prompts = page.locator(".jp-InputPrompt")

        def run(number: int) -> None:
            """Run a cell; Jupyter drops the keys until it has connected to the kernel."""
            before = prompts.nth(number).inner_text()

            def has_run() -> bool:
                now = prompts.nth(number).inner_text()
                if now == before:
                    cells.nth(number).locator(".jp-InputArea-editor").click()
                    page.keyboard.press("Control+Enter")
                    page.wait_for_timeout(500)
                return bool(now != before and "*" not in now)

            until(has_run, 60.0)

        run(0)
        page.wait_for_selector(".preflow-paint.cell[data-revision]")
        page.wait_for_function("() => !!document.querySelector('.preflow-paint .stage')?.offsetHeight")

        def overlay() -> list[int]:
            script = "canvas => Array.from(canvas.getContext('2d').getImageData(20, 60, 1, 1).data)"
            found: list[int] = page.locator("canvas.overlay").evaluate(script)
            return found

        assert overlay()[3] == 0, "nothing is dim before the first cut"
        drag(page, "object", (0.4, 0.4), (0.6, 0.5))
        drag(page, "background", (0.05, 0.05), (0.9, 0.06))
        page.wait_for_selector(".preflow-paint[data-proved=true]")
        assert overlay() == [0, 0, 0, 160], "the background is dim"
        run(1)
        output = cells.nth(1).locator(".jp-OutputArea-output")
        output.wait_for()
        text = output.inner_text()
        assert text.startswith("equal True size"), text
        assert int(text.split()[-1]) > 1000
        drag(page, "background", (0.5, 0.7), (0.6, 0.7))
        page.wait_for_selector(".preflow-paint[data-proved=false], .preflow-paint:not([data-proved])")
        page.wait_for_selector(".preflow-paint[data-proved=true]")
        run(1)
        until(lambda: output.inner_text() not in ("", text))
        assert output.inner_text().startswith("equal True size")
        run(2)
        cells.nth(2).locator(".jp-OutputArea-output").wait_for()
        until(lambda: page.locator(".preflow-paint:not([data-closed])").count() == 0)
        browser.close()
