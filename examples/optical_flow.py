"""Find the motion between two frames in two ways, by assignment and by expansion, and draw both.

Run it with any two frames, and the true flow if it is known::

    python examples/optical_flow.py frame10.png frame11.png --truth flow10.flo --out demo-output

Without files it moves a photograph of scikit-image by a known flow. Frames with their truth are at
https://vision.middlebury.edu/flow/data/.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from typing import Any

import numpy as np
import skimage.data
import skimage.transform
from numpy.typing import NDArray

from preflow.io.flo import read_flo, write_flo
from preflow.vision import endpoint_error, find_optical_flow, flow_picture, read_image, write_image


def turning_cup() -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Return a photograph, the same turned by 2 degrees around its middle, and the flow between them."""
    image = skimage.transform.rescale(skimage.data.coffee() / 255, 0.5, anti_aliasing=True, channel_axis=-1)
    middle = (np.array(image.shape[1::-1]) - 1) / 2
    shift = skimage.transform.AffineTransform(translation=-middle)
    turn = skimage.transform.AffineTransform(rotation=np.deg2rad(2))
    motion = shift + turn + skimage.transform.AffineTransform(translation=middle)
    moved = skimage.transform.warp(image, motion.inverse, mode="edge")
    y, x = np.indices(image.shape[:2])
    ends = motion(np.stack([x.ravel(), y.ravel()], axis=1)).T.reshape(2, *x.shape)
    return image, moved, np.stack([ends[1] - y, ends[0] - x])


def main() -> None:
    parser = argparse.ArgumentParser(description="Find the motion between two frames.")
    parser.add_argument("frames", nargs="*", type=Path, metavar="FRAME NEXT")
    parser.add_argument("--truth", type=Path, metavar="FLO")
    parser.add_argument("--max-displacement", type=int, default=16, metavar="PIXELS")
    parser.add_argument("--out", type=Path, default=Path("demo-output"), metavar="FOLDER")
    arguments = parser.parse_args()
    if len(arguments.frames) not in (0, 2):
        parser.error("give two frames, or none for a photograph that turns")
    arguments.out.mkdir(parents=True, exist_ok=True)
    truth: NDArray[Any] | None = None
    if arguments.frames:
        first, second = map(read_image, arguments.frames)
        truth = None if arguments.truth is None else read_flo(arguments.truth)
    else:
        first, second, truth = turning_cup()

    largest = None
    if truth is not None:
        largest = float(np.nanmax(np.hypot(*truth)))
        write_image(arguments.out / "flow-true.png", flow_picture(truth, largest=largest, wheel=60))
        print(f"{'truth':>14}  {arguments.out / 'flow-true.png'}, at most {largest:.2f} pixels")
    for method in ("assignment", "expansion"):
        start = time.perf_counter()
        result = find_optical_flow(first, second, method=method, max_displacement=arguments.max_displacement)
        total = time.perf_counter() - start
        picture = arguments.out / f"flow-{method}.png"
        write_image(picture, flow_picture(result.flow, largest=largest, wheel=60))
        write_flo(picture.with_suffix(".flo"), result.flow)
        print(f"{method:>14}  {total:.2f} s: " + ", ".join(f"{t:.2f} {k}" for k, t in result.seconds.items()))
        if truth is not None:
            print(f"{'':>14}  mean endpoint error {endpoint_error(result.flow, truth):.3f} pixels")
        print(f"{'':>14}  {picture}")


if __name__ == "__main__":
    main()
