"""
Transport between two clouds of points
======================================

Each point on the left has some mass, each on the right takes some. The cheapest plan moves it with the least
sum of mass times squared distance, and prices prove that no plan is cheaper.
"""

import matplotlib.pyplot as plt
import numpy as np

import preflow

rng = np.random.default_rng(0)
angle = rng.uniform(0, 2 * np.pi, 60)
ring = np.column_stack([np.cos(angle), np.sin(angle)]) + 0.05 * rng.standard_normal((60, 2))
cluster = 0.3 * rng.standard_normal((40, 2)) + [3, 0.4]
a, b = rng.integers(1, 10, 60), rng.integers(1, 10, 40)
a[0] += max(0, b.sum() - a.sum())
b[0] += max(0, a.sum() - b.sum())

result = preflow.transport(preflow.PointCosts(ring, cluster, metric="sqeuclidean"), a, b)
result.verify()
print(result)

# %%

figure, axis = plt.subplots(figsize=(9, 4.5), layout="constrained")
for i, j, mass in zip(result.row, result.column, result.mass, strict=True):
    axis.plot(*zip(ring[i], cluster[j], strict=True), color="grey", alpha=0.6, linewidth=mass / 4)
axis.scatter(*ring.T, s=12 * a, color="tab:blue", zorder=2, label="supplies")
axis.scatter(*cluster.T, s=12 * b, color="tab:orange", zorder=2, label="demands")
axis.set_aspect("equal")
axis.axis("off")
axis.legend()
plt.show()
