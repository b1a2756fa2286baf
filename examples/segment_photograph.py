"""Cut an astronaut out of her photograph with one minimum cut, prove the cut, and draw it.

Run it with ``make demo``, or::

    python examples/segment_photograph.py --out demo-output

It works offline: the photograph (NASA, public domain) comes with scikit-image.
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path

import numpy as np
import skimage.data
import skimage.draw
from numpy.typing import NDArray

from preflow.vision import Segmentation, overlay, segment, stroke, write_image

#: What a person would paint with a brush of 3 pixels, as lines through points (x, y): red strokes on the
#: object (hair, face, suit, straps, helmet), blue ones around it (flag, wall, rocket, black cloth).
BRUSH = 3
OBJECT_STROKES = [
    [(172, 70), (205, 35), (255, 45), (286, 90)],
    [(228, 105), (225, 160)],
    [(127, 185), (145, 225)],
    [(300, 225), (296, 250)],
    [(85, 265), (125, 295)],
    [(40, 345), (40, 365)],
    [(43, 425), (40, 460)],
    [(294, 357), (312, 357)],
    [(267, 380), (271, 505)],
    [(250, 455), (232, 480), (236, 508)],
    [(332, 430), (345, 470), (410, 497)],
    [(410, 348), (455, 375), (490, 440)],
    [(498, 470), (500, 500)],
]
BACKGROUND_STROKES = [
    [(15, 20), (50, 110), (75, 190)],
    [(35, 170), (53, 205)],
    [(8, 350), (8, 420)],
    [(90, 30), (100, 90), (95, 130)],
    [(180, 8), (260, 8)],
    [(325, 100), (343, 190)],
    [(385, 55), (405, 36), (435, 60)],
    [(418, 100), (420, 215)],
    [(405, 311), (440, 321)],
    [(364, 308), (364, 322)],
]
#: What to type after the demo.
NEXT = """Next: .venv/bin/preflow solve --demo roads     a maximum flow, on the command line
      .venv/bin/preflow paint YOUR_PHOTO.jpg   cut out an object yourself (pip install '.[paint]')
      docs/getting_started.md                  the same from Python"""
#: The outline as a person drew it: test data of the repository, which an installed package does not have.
OUTLINE_BY_HAND = Path(__file__).parents[1] / "tests" / "data" / "vision" / "astronaut.json"


def segment_astronaut() -> tuple[NDArray[np.uint8], Segmentation]:
    """Return the photograph, shape (512, 512, 3), and its segmentation."""
    image = skimage.data.astronaut()
    foreground, background = (
        np.any([stroke(image.shape[:2], points, brush=BRUSH) for points in strokes], axis=0)
        for strokes in (OBJECT_STROKES, BACKGROUND_STROKES)
    )
    return image, segment(image, foreground, background)


def mask_by_hand() -> NDArray[np.bool_]:
    """Return the mask inside the outline drawn by hand, shape (512, 512)."""
    outline = np.array(json.loads(OUTLINE_BY_HAND.read_text())["outline"])
    return np.asarray(skimage.draw.polygon2mask((512, 512), outline[:, ::-1]))


def intersection_over_union(first: NDArray[np.bool_], second: NDArray[np.bool_]) -> float:
    return float(np.count_nonzero(first & second) / np.count_nonzero(first | second))


def main() -> None:
    parser = argparse.ArgumentParser(description="Cut an astronaut out of her photograph.")
    parser.add_argument("--out", type=Path, default=Path("demo-output"), metavar="FOLDER")
    folder = parser.parse_args().out
    folder.mkdir(parents=True, exist_ok=True)

    print("Cutting an astronaut out of her photograph by one minimum cut ...", flush=True)
    warm_up()
    start = time.perf_counter()
    image, segmentation = segment_astronaut()
    total = time.perf_counter() - start
    cut = segmentation.cut

    start = time.perf_counter()
    cut.verify()
    proof = time.perf_counter() - start

    picture = folder / "astronaut.png"
    write_image(
        picture, overlay(image, segmentation.mask, seeds=(segmentation.foreground, segmentation.background))
    )

    height, width = segmentation.mask.shape
    build, solve = cut.stats.seconds["build"], cut.stats.seconds["solve"]
    compiling = cut.stats.seconds.get("compile", 0.0)
    report = {
        "photograph": f"skimage.data.astronaut(), {width} x {height} pixels",
        "seeds": f"{segmentation.num_seeds:,} pixels, {segmentation.num_seeds / segmentation.mask.size:.2%}",
        "network": f"{cut.network!r}",
        "minimum cut": f"{cut.value:,} (an energy of {segmentation.energy:,.3f} nats)",
        "method": f"{cut.stats.method}: {cut.stats.reason}",
        "time": f"{total:.2f} s: {total - build - solve - compiling:.2f} to make the network, "
        f"{build:.2f} to prepare and check, {solve:.2f} to solve, {compiling:.2f} to compile",
        "verified": f"yes, in {proof:.2f} s: the flow leaves no capacity over the cut",
        "object": f"{np.count_nonzero(segmentation.mask):,} pixels",
    }
    if OUTLINE_BY_HAND.exists():
        agreement = intersection_over_union(segmentation.mask, mask_by_hand())
        report["against hand"] = f"intersection over union {agreement:.3f} with an outline drawn by hand"
    report["picture"] = str(picture)
    for name, text in report.items():
        print(f"{name:>14}  {text}")
    print(f"\nOpen {picture} to see the photograph, the strokes and the cut.")
    print(NEXT)


def warm_up() -> None:
    """Cut a tiny image, so that the times below are those of the cut and not of the compiler."""
    corner = np.zeros((8, 8), dtype=bool)
    corner[0, 0] = True
    segment(corner.astype(float), corner, corner[::-1]).cut.verify()


if __name__ == "__main__":
    main()
