"""White matter in a brain scan: seeds from thresholds, a minimum cut of the volume, its proof, a picture.

Run it with two volumes, the T1-weighted scan and a map of how much of a voxel is white matter, which is only
used to say how well it went::

    python examples/segment_brain.py mni152-t1.nii.gz mni152-white-matter.nii.gz --noise 30

Without them it takes the copies of both (ICBM 152, 2009, at 1 mm) that an installed nilearn brings.
"""

from __future__ import annotations

import argparse
import importlib.util
import time
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import gaussian_filter
from skimage.filters import threshold_multiotsu, threshold_otsu

from preflow.vision import Segmentation, read_volume, segment, volume_overlay, write_image

#: The scan is smoothed by so many voxels before thresholds: seeds must survive noise, thin parts as well.
SMOOTHING = 0.7
#: Seeds keep away from the threshold of white and grey matter by this share of the way to either's mean.
MARGIN = 0.25
#: What a voxel's face costs between white matter and the rest, in nats.
SMOOTHNESS = 0.7


class Seeds(NamedTuple):
    """Voxels of white matter for certain, and of anything else."""

    white: NDArray[np.bool_]
    other: NDArray[np.bool_]


def smoothed(scan: NDArray[np.floating]) -> NDArray[np.float64]:
    return np.asarray(gaussian_filter(scan.astype(np.float64), SMOOTHING))


def seeds_from_thresholds(scan: NDArray[np.floating]) -> Seeds:
    """Return seeds from two thresholds by Otsu's method; the truth has no part in it."""
    smooth = smoothed(scan)
    head = smooth[smooth > threshold_otsu(smooth)]
    low, high = threshold_multiotsu(head, classes=3, nbins=128)
    grey, white = head[(head > low) & (head <= high)].mean(), head[head > high].mean()
    return Seeds(smooth > high + MARGIN * (white - high), smooth < high - MARGIN * (high - grey))


def segment_white_matter(scan: NDArray[np.floating], threads: int | None = None) -> Segmentation:
    """Return the segmentation of a scan of shape (d, h, w)."""
    white, other = seeds_from_thresholds(scan)
    return segment(
        scan,
        white,
        other,
        smoothness=SMOOTHNESS,
        sigma=np.inf,
        connectivity=6,
        model="mixture",
        components=3,
        prior=float(white.sum() / (white.sum() + other.sum())),
        threads=threads,
    )


def with_noise(scan: NDArray[np.floating], sigma: float) -> NDArray[np.floating]:
    """Return the scan with Gaussian noise, the same every time."""
    return scan + np.random.default_rng(0).normal(scale=sigma, size=scan.shape) if sigma else scan


def dice(first: NDArray[np.bool_], second: NDArray[np.bool_]) -> float:
    return float(2 * np.count_nonzero(first & second) / (np.count_nonzero(first) + np.count_nonzero(second)))


def best_threshold(scan: NDArray[np.floating], truth: NDArray[np.bool_]) -> float:
    """Return the largest Dice of any threshold: it is allowed to know the truth."""
    return max(dice(scan > limit, truth) for limit in np.linspace(0.5, 0.95, 46) * scan.max())


def white_matter(fractions: NDArray[np.floating]) -> NDArray[np.bool_]:
    """Return the truth: more than half of the voxel is white matter."""
    return fractions > 0.5 * (255 if fractions.dtype == np.uint8 else 1)


def volumes_of_nilearn() -> tuple[Path, Path] | None:
    """Return the two files that nilearn's wheel has, if it is installed."""
    found = importlib.util.find_spec("nilearn")
    if found is None or found.origin is None:
        return None
    folder = Path(found.origin).parent / "datasets" / "data"
    scan, truth = (
        sorted(folder.glob(f"mni_icbm152_{kind}_tal_nlin_sym_09a*.nii.gz")) for kind in ("t1", "wm")
    )
    return (scan[0], truth[0]) if scan and truth else None


def main() -> None:
    parser = argparse.ArgumentParser(description="Segment the white matter of a brain scan.")
    parser.add_argument(
        "files", nargs="*", type=Path, metavar="FILE", help="scan and white-matter map, NIfTI"
    )
    parser.add_argument("--noise", type=float, default=0.0, metavar="SIGMA", help="add Gaussian noise")
    parser.add_argument("--step", type=int, default=1, metavar="VOXELS", help="take every so many voxels")
    parser.add_argument("--threads", type=int)
    parser.add_argument("--out", type=Path, default=Path("demo-output"), metavar="FOLDER")
    arguments = parser.parse_args()
    files = arguments.files or volumes_of_nilearn()
    if files is None or len(files) != 2:
        parser.error("give two files, a scan and its white-matter map, or install nilearn, which has both")
    arguments.out.mkdir(parents=True, exist_ok=True)

    thinned = (slice(None, None, arguments.step),) * 3
    scan, fractions = (read_volume(file).values[thinned] for file in files)
    scan, truth = with_noise(scan, arguments.noise), white_matter(fractions)

    start = time.perf_counter()
    segmentation = segment_white_matter(scan, arguments.threads)
    total = time.perf_counter() - start
    cut = segmentation.cut
    start = time.perf_counter()
    cut.verify()
    proof = time.perf_counter() - start

    picture = arguments.out / f"brain-noise-{arguments.noise:g}.png"
    found, wanted = (volume_overlay(scan, mask) for mask in (segmentation.mask, truth))
    write_image(picture, np.vstack([found, wanted]))
    report = {
        "scan": f"{' x '.join(map(str, scan.shape))} voxels, noise of sigma {arguments.noise:g} added",
        "seeds": f"{segmentation.num_seeds / scan.size:.1%} of all voxels",
        "network": f"{cut.network!r}",
        "method": f"{cut.stats.method}: {cut.stats.reason}",
        "time": f"{total:.2f} s, {cut.stats.seconds['solve']:.2f} of them for the cut",
        "verified": f"yes, in {proof:.2f} s",
        "Dice": f"{dice(segmentation.mask, truth):.4f} with the white-matter map (> 0.5)",
        "threshold": f"{best_threshold(scan, truth):.4f} of the scan, and of the smoothed one "
        f"{best_threshold(smoothed(scan), truth):.4f}: the best that any can get, the map being known",
        "picture": f"{picture}: found above, the map below",
    }
    for name, text in report.items():
        print(f"{name:>10}  {text}")


if __name__ == "__main__":
    main()
