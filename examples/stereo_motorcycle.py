"""Find the depth of a motorcycle from two photographs, compare it with the truth, and draw it.

Run it with::

    python examples/stereo_motorcycle.py --out demo-output
    python examples/stereo_motorcycle.py LEFT.png RIGHT.png --max-disparity 64 --out demo-output

Without files it takes the pair that comes with scikit-image (Scharstein et al., "High-resolution stereo
datasets with subpixel-accurate ground truth", GCPR 2014), at half of the size that it has there.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from typing import Any

import numpy as np
import skimage.data
from numpy.typing import NDArray

from preflow.vision import bad_pixels, disparity_picture, match_stereo, read_image, write_image

#: What a pixel may be wrong by, in pixels of the maps as they are matched.
THRESHOLDS = (2.0, 1.0)
MOTORCYCLE_DISPARITIES = 32


def motorcycle() -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Return the two views and the true disparity at half size; infinite where it is not known."""
    left, right, disparity = skimage.data.stereo_motorcycle()
    return half(left) / 255, half(right) / 255, disparity[:-1:2, :-1:2] / 2


def half(image: NDArray[Any]) -> NDArray[np.float64]:
    """Return the means of 2 x 2 pixels."""
    height, width = (size // 2 * 2 for size in image.shape[:2])
    blocks = image[:height, :width].reshape(height // 2, 2, width // 2, 2, -1)
    return np.asarray(blocks.mean(axis=(1, 3)))


def main() -> None:
    parser = argparse.ArgumentParser(description="Find depth from two views.")
    parser.add_argument("views", nargs="*", type=Path, metavar="LEFT RIGHT")
    parser.add_argument("--max-disparity", type=int, default=MOTORCYCLE_DISPARITIES, metavar="PIXELS")
    parser.add_argument("--out", type=Path, default=Path("demo-output"), metavar="FOLDER")
    arguments = parser.parse_args()
    if len(arguments.views) not in (0, 2):
        parser.error("give the left and the right view, or none for the motorcycle")
    arguments.out.mkdir(parents=True, exist_ok=True)
    truth = None
    if arguments.views:
        left, right = map(read_image, arguments.views)
    else:
        left, right, truth = motorcycle()
        # The truth is that of the whole pixel in the upper left corner of four.
        truth = truth[: len(left), : left.shape[1]]

    print("Labelling disparities (compiles on the first run) ...", flush=True)
    start = time.perf_counter()
    result = match_stereo(left, right, arguments.max_disparity)
    total = time.perf_counter() - start

    picture = arguments.out / "disparity.png"
    write_image(picture, disparity_picture(result.disparity))
    height, width = result.disparity.shape
    report = {
        "views": f"{width} x {height} pixels, {arguments.max_disparity + 1} disparities",
        "labelling": f"energy {result.left.energy:,} after {result.left.moves} minimum cuts",
        "time": f"{total:.2f} s: " + ", ".join(f"{t:.2f} {phase}" for phase, t in result.seconds.items()),
        "occluded": f"{result.occluded.mean():.1%} of the left view",
    }
    if truth is not None:
        whole = np.isfinite(truth)
        for threshold in THRESHOLDS:
            everywhere = bad_pixels(result.disparity, truth, threshold=threshold)
            seen = bad_pixels(result.disparity, np.where(result.occluded, np.inf, truth), threshold=threshold)
            report[f"off by {threshold:g}"] = (
                f"{everywhere:.1%} of {whole.sum():,} known pixels, {seen:.1%} of those seen"
            )
        drawn = arguments.out / "disparity-true.png"
        write_image(drawn, disparity_picture(np.where(whole, truth, np.nan)))
        report["truth"] = str(drawn)
    report["picture"] = str(picture)
    for name, text in report.items():
        print(f"{name:>14}  {text}")


if __name__ == "__main__":
    main()
