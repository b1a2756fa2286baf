"""
Many labels by alpha-expansion
==============================

A photograph is reduced to eight colours. Each pixel alone would take the nearest one; the Potts model
makes neighbours with different colours pay, less where the photograph has an edge. Alpha-expansion
minimises the sum by minimum cuts in which any pixels may change to one label at once.
"""

import matplotlib.pyplot as plt
import numpy as np
import skimage.data
from scipy.cluster.vq import kmeans2

import preflow
import preflow.vision

photo = skimage.data.chelsea()[:, 60:400].astype(float)
colors, _ = kmeans2(photo.reshape(-1, 3), 8, seed=0, minit="++")

# %%
# ``data[label, y, x]`` is what a label costs at a pixel. The weights of neighbours fall with contrast.

data = (np.linalg.norm(photo[None] - colors[:, None, None], axis=-1)).round().astype(int)
weights = preflow.contrast_capacity(photo, strength=200, channel_axis=-1)
result = preflow.vision.alpha_expansion(data, preflow.vision.potts(8), weights)
result.verify()
print(f"energy {result.energy:,} after {result.moves} moves in {result.sweeps} sweeps")

# %%

figure, axes = plt.subplots(1, 3, figsize=(12, 3.4), layout="constrained")
axes[0].imshow(photo / 255)
axes[0].set_title("photograph")
axes[1].imshow(colors[data.argmin(axis=0)] / 255)
axes[1].set_title("nearest colours")
axes[2].imshow(colors[result.labels] / 255)
axes[2].set_title("alpha-expansion")
for one in axes:
    one.axis("off")
plt.show()
