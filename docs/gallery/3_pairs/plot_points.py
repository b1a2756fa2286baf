"""
Assign points to points
=======================

Each point of one set gets a point of the other, so that the sum of the distances is least.
``PointCosts`` never stores the distances: memory grows with the number of points, not with its square.
"""

import matplotlib.pyplot as plt
import numpy as np
import skimage.data
from matplotlib.collections import LineCollection

import preflow

# points of two pictures: dark pixels of a text, and as many random pixels of a horse
random = np.random.default_rng(0)
count = 1500


def points_of(mask, scale):
    """Return random pixels of a mask as points (x, y)."""
    y, x = np.nonzero(mask)
    chosen = random.choice(len(y), count, replace=False)
    return np.stack([x[chosen], -y[chosen]], axis=1) * scale + random.uniform(0, 0.5, (count, 2))


horse = points_of(~skimage.data.horse().astype(bool), 1.0)
rings = np.hypot(*(np.indices((328, 400)) - np.array([164, 200])[:, None, None]))
target = points_of((rings > 110) & (rings < 150), 1.0)

result = preflow.linear_assignment(preflow.PointCosts(horse, target, metric="euclidean"))
result.verify()
print(f"mean distance {result.cost / count:.1f}")

# %%

ends = target[result.column]
figure, axes = plt.subplots(1, 3, figsize=(12, 3.4), layout="constrained", sharex=True, sharey=True)
for axis, part, title in zip(axes, (0, 0.5, 1), ("from", "half way", "to"), strict=True):
    where = (1 - part) * horse[result.row] + part * ends
    axis.scatter(*where.T, s=3, c=horse[result.row][:, 0], cmap="viridis")
    axis.set_title(title)
    axis.set_aspect("equal")
    axis.axis("off")
lines = np.stack([horse[result.row], ends], axis=1)[::12]
axes[1].add_collection(LineCollection(lines, colors="0.7", linewidths=0.5, zorder=0))
plt.show()
