"""Small files for the examples of the README, of the help pages and of ``--demo``."""

from __future__ import annotations

import gzip
import io
from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ..arrays import Array

#: Tables, as text.
TABLES = {
    "roads.csv": "source,target,capacity\ndepot,north,4\ndepot,south,5\nnorth,shop,3\nsouth,shop,4\n",
    "prices.csv": "source,target,capacity,cost\nmill,port,4,7\nmill,town,5,3\ntown,port,2,1\n",
    "supplies.csv": "vertex,supply\nmill,6\ntown,-1\nport,-5\n",
    "skills.csv": "worker,job\nada,sew\nada,cook\nbob,sew\ncyd,cook\ncyd,drive\n",
    "hours.csv": "who,sew,cook,drive\nada,4,1,inf\nbob,2,3,5\ncyd,6,2,4\n",
    "cost.csv": ",shop,port,town\nnorth,4,1,3\nsouth,2,3,6\n",
    "stock.csv": "name,mass\nnorth,5\nsouth,7\n",
    "demand.csv": "name,mass\nshop,4\nport,5\ntown,3\n",
    "graph.txt": "0 1\n1 2\n2 3\n3 0\n3 4\n4 5\n",
}
#: Patterns of sparse matrices, and complete graphs with distances.
MATRICES = ("matrix.mtx", "matrix.mtx.gz", "distances.mtx")
#: Costs and masses.
ARRAYS = ("costs.npy", "cost.npy", "rows.npy", "columns.npy", "a.npy", "b.npy")
#: Photographs of scikit-image, and pictures made from them.
PICTURES = (
    "photo.jpg",
    "cat.jpg",
    "painted.png",
    "night.png",
    "scan.png",
    "left.png",
    "right.png",
    "frame10.png",
    "frame11.png",
    "flow10.flo",
)
#: A volume that is drawn: the head of nobody.
VOLUME = "brain.nii.gz"
ALL = (*TABLES, *MATRICES, *ARRAYS, *PICTURES, VOLUME)


def write_sample(name: str, path: str) -> None:
    """Write a sample into a file.

    Raises
    ------
    MissingDependencyError
        A picture, and scikit-image or imageio is missing.
    """
    from ..io.files import replacing

    if name in TABLES:
        content = TABLES[name].encode()
    elif name in MATRICES:
        content = _matrix(name)
    elif name in ARRAYS:
        content = _array(name)
    elif name == "flow10.flo":
        import numpy as np

        from ..io.flo import write_flo

        flow = np.zeros((2, *_photo("camera").shape), np.float32)
        flow[0], flow[1] = MOTION
        write_flo(path, flow)
        return
    elif name == VOLUME:
        import numpy as np

        from ..vision import Volume, write_labels

        head = _head()
        write_labels(path, head, Volume(head, np.diag([*SIDES, 1.0])))
        return
    else:
        from ..vision import write_image

        write_image(path, _picture(name))
        return
    with replacing(path) as file:
        file.write(content)


#: Motion from frame10.png to frame11.png, down and to the right.
MOTION = (2, -3)
#: Disparities of the wall and of the box before it in left.png and right.png.
FAR, NEAR = 4, 12


#: Of the voxels of brain.nii.gz along x, y and z, in millimetres.
SIDES = (3.0, 3.0, 4.0)


def _head() -> Array:
    """Return a drawn scan, [z, y, x]: skull, fluid, grey matter with folds, and white matter, with noise."""
    import numpy as np

    z, y, x = np.meshgrid(*(np.linspace(-1, 1, size) for size in (44, 60, 50)), indexing="ij")
    radius = np.sqrt((x / 0.86) ** 2 + (y / 0.92) ** 2 + (z / 0.9) ** 2)
    folds = 0.05 * np.sin(9 * x + 2 * z) * np.cos(8 * y - 3 * z) * np.sin(7 * z + x)
    depth = radius + 1.6 * folds
    scan = np.zeros(radius.shape)
    for within, level in ((1.0, 120), (0.93, 60), (0.87, 160), (0.68, 215)):
        scan[(depth if level > 150 else radius) < within] = level
    for side in (-1, 1):  # the ventricles
        scan[((x - 0.14 * side) / 0.09) ** 2 + (y / 0.35) ** 2 + ((z - 0.05) / 0.2) ** 2 < 1] = 60
    noise = np.random.default_rng(0).normal(0, 9, scan.shape)
    return (scan + noise * (radius < 1)).clip(0, 255).astype(np.uint8)


def _matrix(name: str) -> bytes:
    import numpy as np

    rng = np.random.default_rng(0)
    if name == "distances.mtx":
        points = rng.integers(0, 100, (12, 2))
        lines = [f"{i + 1} {j + 1} {abs(points[i] - points[j]).sum()}" for i in range(12) for j in range(i)]
        head = "%%MatrixMarket matrix coordinate integer symmetric\n12 12"
    else:
        row, column = np.nonzero(rng.random((40, 40)) < 0.05)
        lines = [f"{i + 1} {j + 1}" for i, j in zip(row.tolist(), column.tolist(), strict=True)]
        head = "%%MatrixMarket matrix coordinate pattern general\n40 40"
    text = "\n".join([f"{head} {len(lines)}", *lines, ""]).encode()
    return gzip.compress(text, mtime=0) if name.endswith(".gz") else text


def _array(name: str) -> bytes:
    import numpy as np

    values = np.random.default_rng(0).integers(1, 100, (6, 6))
    masses = {"rows.npy": [5, 4, 3, 6, 2, 4], "columns.npy": [4] * 6, "a.npy": [5, 4, 3, 6, 2, 4]}
    stream = io.BytesIO()
    np.save(stream, np.array(masses.get(name, [4] * 6)) if "cost" not in name else values)
    return stream.getvalue()


def _photo(name: str) -> Array:
    """Return a photograph of scikit-image, those of cameraman and cat at half their size."""
    from ..checks import needed_for

    with needed_for("a sample picture", "scikit-image", "vision"):
        import skimage.data
    photo: Array = getattr(skimage.data, name)()
    return photo[::2, ::2] if name == "camera" else photo


def _picture(name: str) -> Array:
    import numpy as np

    draw: dict[str, Callable[[], Array]] = {
        "photo.jpg": lambda: _photo("astronaut"),
        "cat.jpg": lambda: _photo("chelsea"),
        "painted.png": _painted,
        "night.png": lambda: _noisy(20),
        "scan.png": lambda: _noisy(60),
        "left.png": lambda: _views()[0],
        "right.png": lambda: _views()[1],
        "frame10.png": lambda: _photo("camera"),
        "frame11.png": lambda: np.roll(_photo("camera"), MOTION, (0, 1)),
    }
    return draw[name]()


def _painted() -> Array:
    """Return the cat with a red stroke on its face and blue ones around it."""
    picture = _photo("chelsea").copy()
    picture[150:170, 190:300] = (255, 0, 0)
    picture[5:15, 5:150] = picture[5:120, 5:15] = (0, 0, 255)
    return picture


def _noisy(sigma: int) -> Array:
    import numpy as np

    noise = np.random.default_rng(0).normal(0, sigma, _photo("camera").shape)
    return (_photo("camera") + noise).clip(0, 255).astype(np.uint8)


def _views() -> tuple[Array, Array]:
    """Return two views of a box before a wall, both with the texture of the cat."""
    texture = _photo("chelsea")
    left, right = texture[:200, FAR:304].copy(), texture[:200, 2 * FAR : 304 + FAR].copy()
    box = texture[100:200, 200:320]
    left[60:160, 100:220] = box
    right[60:160, 100 - NEAR : 220 - NEAR] = box
    return left, right
