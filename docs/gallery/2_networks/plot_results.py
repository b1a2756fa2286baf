"""
Results that draw themselves
============================

The method ``plot`` of a result draws it with Matplotlib, into new axes or into those that you give it.
Networks of up to 200 vertices can be drawn; the answers of larger problems are in the arrays of results.
"""

import matplotlib.pyplot as plt
import numpy as np
import scipy.sparse

import preflow

# %%
# A maximum flow: arcs are as wide as their flow, and the arcs of the minimum cut are dashed.

pipes = [("s", "a", 16), ("s", "c", 13), ("c", "a", 4), ("a", "b", 12), ("b", "c", 9)]
pipes += [("c", "d", 14), ("d", "b", 7), ("b", "t", 20), ("d", "t", 4)]
preflow.max_flow(pipes, "s", "t").plot()
plt.show()

# %%
# A flow of minimum cost: beside each arc with flow is "amount at cost".

roads = [("lyon", "paris", 4, 7), ("lyon", "nice", 5, 3), ("nice", "paris", 2, 1)]
roads += [("nice", "brest", 3, 6), ("paris", "brest", 9, 2)]
preflow.min_cost_flow(roads, {"lyon": 7, "brest": -7}).plot()
plt.show()

# %%
# A matching of rows with columns; the squares are the vertex cover that proves it maximum. Beside it, a
# matching of a general graph.

figure, axes = plt.subplots(1, 2, figsize=(9, 4), layout="constrained")
skills = {"Ada": ["write", "test"], "Bo": ["test"], "Cy": ["test", "draw"], "Eve": ["plan", "teach"]}
preflow.bipartite_matching([(who, task) for who, tasks in skills.items() for task in tasks]).plot(ax=axes[0])
wheel = [(0, rim, 5) for rim in range(1, 8)] + [(rim, rim % 7 + 1, rim) for rim in range(1, 8)]
preflow.matching(wheel).plot(ax=axes[1])
plt.show()

# %%
# Costs with the pairs of an assignment, and a transport plan.

costs = np.random.default_rng(0).integers(1, 30, (6, 8)).astype(float)
costs[0, 3:] = np.inf
figure, axes = plt.subplots(1, 2, figsize=(11, 3.6), layout="constrained")
preflow.linear_assignment(costs).plot(ax=axes[0])
preflow.transport(costs, [40, 40, 40, 40, 40, 40], [30] * 8).plot(ax=axes[1])
plt.show()

# %%
# The block triangular form of a sparse matrix.

matrix = scipy.sparse.random_array((60, 60), density=0.035, rng=np.random.default_rng(1))
preflow.dulmage_mendelsohn(matrix).plot()
plt.show()

# %%
# Results of :mod:`preflow.vision` draw pictures: here the two sides of a cut, and a flow with its wheel.

rng = np.random.default_rng(0)
noisy = (np.hypot(*np.mgrid[-20:20, -30:30]) < 14) * 1.0 + rng.normal(0, 0.7, (40, 60))
texture = rng.random((48, 72))
rows, columns = np.mgrid[0:40, 0:60]
turned = texture[rows + 4 + (columns > 30) * 2, columns + 4 + (rows > 20) * 3]
figure, axes = plt.subplots(1, 2, figsize=(11, 3.6), layout="constrained")
preflow.grid_cut(np.maximum(noisy, 0), np.maximum(1 - noisy, 0), 0.6).plot(ax=axes[0])
preflow.vision.find_optical_flow(turned, texture[4:44, 4:64], max_displacement=4).plot(ax=axes[1])
plt.show()
