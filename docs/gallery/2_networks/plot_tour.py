"""
A tour through all points by Christofides
=========================================

Christofides 1976: a minimum spanning tree, and a perfect matching of its vertices of odd degree at the least
weight. Together they have a closed walk; without the points that it comes to again, it is a tour at most 1.5
times as long as the shortest one. The matching is proved by duals of points and blossoms.
"""

import matplotlib.pyplot as plt
import numpy as np
import scipy.sparse.csgraph
import scipy.spatial

import preflow
from preflow import reductions

points = np.random.default_rng(3).random((150, 2))
distance = scipy.spatial.distance_matrix(points, points)
tree = scipy.sparse.csgraph.minimum_spanning_tree(distance).tocoo()
degree = np.bincount(np.concatenate([tree.row, tree.col]), minlength=len(points))
odd = np.flatnonzero(degree % 2)

i, j = np.triu_indices(len(odd), 1)
graph = preflow.UndirectedGraph.from_arrays(i, j, distance[odd[i], odd[j]])
result = preflow.matching(graph, maximize=False, perfect=True)
result.verify()
print(result, f"with {len(result.blossoms)} blossoms")

# %%
# The closed walk uses every edge of the tree and of the matching once: no vertex is odd any more, so the
# postman walks no edge twice.

pairs = odd[np.array(result.pairs())]
walk = reductions.chinese_postman(
    (np.concatenate([tree.row, pairs[:, 0]]), np.concatenate([tree.col, pairs[:, 1]]))
)
assert len(walk.join.edges) == 0
tour = np.array(list(dict.fromkeys(walk.tour.tolist())))
closed = np.append(tour, tour[0])
print(f"tour {distance[closed[:-1], closed[1:]].sum():.3f}, tree {tree.data.sum():.3f}")

# %%

figure, (left, right) = plt.subplots(1, 2, figsize=(9, 4.5), layout="constrained")
for u, v in zip(tree.row, tree.col, strict=True):
    left.plot(*points[[u, v]].T, color="grey", linewidth=1)
for u, v in pairs:
    left.plot(*points[[u, v]].T, color="tab:red", linewidth=1.5)
left.set_title("tree, and matching of its odd vertices")
right.plot(*points[closed].T, color="tab:blue", linewidth=1)
right.set_title("tour")
for axis in (left, right):
    axis.scatter(*points.T, s=6, color="black", zorder=2)
    axis.set_aspect("equal")
    axis.axis("off")
plt.show()
