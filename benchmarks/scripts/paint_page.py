"""Paint on the page of ``preflow paint`` in a browser, and measure how soon the mask follows each stroke.

Usage: python -m benchmarks.scripts.paint_page [--runs 3] [--picture docs/pictures/paint.png]

A photograph of 1000 x 1000 pixels (scikit-image's astronaut, enlarged), 8 neighbours. For each stroke the
program prints the milliseconds from the release of the pointer to the mask on the canvas, the milliseconds of
the preview on the server, the pixels that changed sides, and the seconds from the stroke to the proved
answer, with the pause before it. Needs the extras ``paint`` and ``vision``, Playwright, and chromium.
"""

from __future__ import annotations

import argparse
import shutil
import statistics
import time
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from preflow.vision import Painting
from preflow.vision.painter.server import Server
from preflow.vision.painter.session import Session

if TYPE_CHECKING:
    from playwright.sync_api import Page

SIDE = 1000
#: Tool and points. The first two have no preview: nothing is learned before them.
STROKES: list[tuple[str, list[tuple[int, int]]]] = [
    ("object", [(440, 80), (450, 300), (520, 640), (520, 940)]),
    ("background", [(60, 60), (110, 400), (20, 560)]),
    ("background", [(650, 60), (700, 420), (780, 540), (960, 620)]),
    ("object", [(320, 100), (540, 150), (550, 220)]),
    ("object", [(250, 440), (150, 640), (110, 940)]),
    ("background", [(900, 30), (820, 200), (860, 480)]),
    ("object", [(290, 380), (420, 500), (580, 420), (660, 560)]),
    ("object", [(600, 940), (760, 720), (940, 880)]),
    ("object", [(250, 690), (400, 740), (330, 980)]),
    ("background", [(190, 300), (20, 300), (20, 760)]),
    ("object", [(560, 660), (640, 690)]),
    ("background", [(740, 620), (960, 720)]),
    ("erase", [(445, 120), (447, 220)]),
    ("object", [(445, 120), (447, 220)]),
]


class Stroke(NamedTuple):
    """Measurements of a stroke."""

    tool: str
    drawn: float
    preview: float
    moved: int
    proved: float


def photograph() -> NDArray[np.uint8]:
    """Return the astronaut at SIDE x SIDE pixels."""
    import skimage.data
    import skimage.transform

    pixels = skimage.transform.resize(skimage.data.astronaut(), (SIDE, SIDE))
    return np.asarray(np.rint(255 * pixels), dtype=np.uint8)


def paint(page: Page, session: Session) -> list[Stroke]:
    """Paint all strokes, each after the proof of the last; return what was measured where a preview was."""
    root = page.locator(".preflow-paint")
    found = []
    for number, (tool, points) in enumerate(STROKES):
        before = session.view
        page.click(f".tool-{tool}")
        frame = page.locator(".stage").bounding_box()
        assert frame is not None
        scale = frame["width"] / SIDE
        places = [(frame["x"] + x * scale, frame["y"] + y * scale) for x, y in points]
        page.mouse.move(*places[0])
        page.mouse.down()
        for place in places[1:]:
            page.mouse.move(*place, steps=12)
        page.mouse.up()
        start = time.perf_counter()
        if number == 0:
            continue
        previewed = None
        while True:
            assert time.perf_counter() - start < 60, "no proved answer"
            view = session.view
            if (
                view.answer is not None
                and not view.answer.exact
                and view.busy != "draft"
                and view.numbers.mask > before.numbers.mask
            ):
                previewed = previewed or view
            if view.answer is not None and view.answer.proved and view.numbers.seeds > before.numbers.seeds:
                break
            time.sleep(0.002)
        proved = time.perf_counter() - start
        if previewed is not None and previewed.answer is not None:
            assert previewed.mask is not None
            assert before.mask is not None
            moved = int(np.count_nonzero(previewed.mask != before.mask))
            drawn = float(root.get_attribute("data-latency") or "nan")
            found.append(Stroke(tool, drawn, 1000 * previewed.answer.seconds, moved, proved))
        page.wait_for_timeout(300)
    return found


def main() -> None:
    """Measure, print, and draw the picture."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--picture", type=Path, help="write a picture of the page to this PNG")
    arguments = parser.parse_args()
    from playwright.sync_api import sync_playwright

    chromium = shutil.which("chromium") or shutil.which("google-chrome")
    runs = []
    with sync_playwright() as started:
        browser = started.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        for _ in range(arguments.runs):
            session = Session(Painting(photograph()), name="astronaut.png")
            with session, Server(session) as server:
                page = browser.new_page(viewport={"width": 1120, "height": 800})
                page.goto(server.url)
                page.wait_for_selector(".preflow-paint[data-revision]")
                page.wait_for_timeout(500)
                runs.append(paint(page, session))
                if arguments.picture is not None:
                    page.mouse.move(5, 5)
                    write_picture(page.screenshot(), arguments.picture)
                page.close()
    print("tool         drawn ms  preview ms  pixels moved  proved s")
    for strokes in zip(*runs, strict=True):
        drawn, preview, proved = (
            statistics.median(values)
            for values in zip(*((each.drawn, each.preview, each.proved) for each in strokes), strict=True)
        )
        print(f"{strokes[0].tool:11} {drawn:9.0f} {preview:11.0f} {strokes[0].moved:13,} {proved:9.2f}")
    everything = [stroke.drawn for strokes in runs for stroke in strokes]
    print(f"drawn: median {statistics.median(everything):.0f} ms, most {max(everything):.0f} ms")


def write_picture(screenshot: bytes, path: Path) -> None:
    """Write a screenshot with 256 colours."""
    from io import BytesIO

    from PIL import Image

    picture = Image.open(BytesIO(screenshot)).convert("RGB").resize((896, 640))
    picture.quantize(255, dither=Image.Dither.NONE).save(path, optimize=True)


if __name__ == "__main__":
    main()
