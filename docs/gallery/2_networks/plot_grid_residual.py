"""
What is left of the capacities after a solve
============================================

A maximum flow saturates a cut. This page solves an image as a network, and shows how much of each
neighbour capacity the flow uses: at the cut, all of it.
"""

import matplotlib.pyplot as plt
import numpy as np
import skimage.data
import skimage.transform

import preflow

coins = skimage.data.coins()[:160, :200].astype(int)
neighbor = preflow.contrast_capacity(coins, strength=60)
grid = preflow.GridNetwork.from_arrays(np.maximum(coins - 120, 0), np.maximum(120 - coins, 0), neighbor)

# %%
# ``max_flow`` reports the flow of every arc of the general network that ``to_flow_problem`` makes.

problem = grid.to_flow_problem()
result = preflow.max_flow(problem)
result.verify()
cut = preflow.grid_cut(grid)
assert cut.value == result.value

# %%
# Arcs between two pixels: how much of the capacity is used, as a share. Each pixel shows its fullest arc.

network = problem.network
tail, head = np.asarray(network.tail), np.asarray(network.head)
capacity = np.asarray(network.capacity)
inner = (tail < grid.size) & (head < grid.size) & (capacity > 0)
used = np.abs(np.asarray(result.flow)[inner]) / capacity[inner]
fullest = np.zeros(grid.size)
np.maximum.at(fullest, tail[inner], used)
np.maximum.at(fullest, head[inner], used)

# sphinx_gallery_thumbnail_panel = 1
figure, axes = plt.subplots(1, 3, figsize=(12, 3.4), layout="constrained")
axes[0].imshow(coins, cmap="gray")
axes[0].set_title("image")
shown = axes[1].imshow(fullest.reshape(coins.shape), cmap="magma", vmin=0, vmax=1)
axes[1].contour(cut.labels, levels=[0.5], colors="cyan", linewidths=0.7)
axes[1].set_title("used share of the fullest neighbour arc")
figure.colorbar(shown, ax=axes[1])
axes[2].imshow(cut.labels, cmap="gray")
axes[2].set_title("minimum cut")
for one in axes:
    one.axis("off")
plt.show()
