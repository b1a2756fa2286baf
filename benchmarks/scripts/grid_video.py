"""Measure grid cuts of the frames of a video of 640 x 480 pixels, each started from the flow of the last one.

Usage: python -m benchmarks.scripts.grid_video [gpu]. It runs on one CPU thread, or with the frames on a GPU.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator

import numpy as np
from scipy.ndimage import gaussian_filter

import preflow

HEIGHT, WIDTH, FRAMES = 480, 640, 14
STRENGTH = 100


def frames(kind: str) -> Iterator[np.ndarray]:
    """Yield data terms of a scene that moves by a pixel a frame, or has new noise, or new seeds."""
    random = np.random.default_rng(0)
    scene = gaussian_filter(random.standard_normal((HEIGHT + FRAMES, WIDTH + FRAMES)), 6)
    scene /= scene.std()
    noise = random.standard_normal((HEIGHT, WIDTH))
    for frame in range(FRAMES):
        here = (slice(frame, frame + HEIGHT), slice(frame, frame + WIDTH))
        still = scene[:HEIGHT, :WIDTH]
        if kind == "moves":
            image = scene[here]
        elif kind == "noise":
            image = still + 0.3 * random.standard_normal((HEIGHT, WIDTH))
        else:
            image = still + 0.5 * noise
        data = np.rint(100 * image).astype(np.int32)
        if kind == "seeds":
            data[40 + 9 * frame : 60 + 9 * frame, 100:200] = 2000
            data[200:220, 300 + 9 * frame : 400 + 9 * frame] = -2000
        yield data


def seconds_a_frame(kind: str, connectivity: int, warm: bool, on_gpu: bool) -> float:
    """Return the median time of a frame, with or without a warm start."""
    result: preflow.GridCutResult | None = None
    seconds = []
    for data in frames(kind):
        source, sink = np.maximum(data, 0), np.maximum(-data, 0)
        if on_gpu:
            import cupy

            source, sink = cupy.asarray(source), cupy.asarray(sink)
            cupy.cuda.Device().synchronize()
        start = time.perf_counter()
        result = preflow.grid_cut(
            source,
            sink,
            STRENGTH,
            connectivity=connectivity,
            warm_start=result if warm else None,
            device="cuda" if on_gpu else "cpu",
            threads=None if on_gpu else 1,
        )
        if on_gpu:
            cupy.cuda.Device().synchronize()
        seconds.append(time.perf_counter() - start)
    assert result is not None
    result.verify()
    return float(np.median(seconds[1:]))


def main() -> None:
    """Print a line for each kind of video and neighbourhood."""
    on_gpu = sys.argv[1:] == ["gpu"]
    for kind in ("moves", "noise", "seeds"):
        for connectivity in (4, 8):
            warm, cold = (seconds_a_frame(kind, connectivity, start, on_gpu) for start in (True, False))
            print(
                f"{kind}, {connectivity} neighbours: {1e3 * warm:.1f} ms a frame ({1 / warm:.0f} a second), "
                f"{1e3 * cold:.1f} from scratch",
                flush=True,
            )


if __name__ == "__main__":
    main()
