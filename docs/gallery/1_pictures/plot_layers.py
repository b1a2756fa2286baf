"""
Layers of a retina
==================

A scan of tissue in layers shows their boundaries as edges: each is a surface with one height in every column.
One minimum cut finds all of them at once, exactly, and none may cross another.
"""

import matplotlib.pyplot as plt
import numpy as np
from scipy.ndimage import gaussian_filter

import preflow.vision

rng = np.random.default_rng(0)
x, depth = np.arange(240), np.arange(120)
pit = 18 * np.exp(-(((x - 120) / 35.0) ** 2))
truth = np.stack([30 + pit, 48 + 0.4 * pit, 70 - 0.15 * pit, 88 + 3 * np.sin(x / 40)])
brightness = np.array([0.1, 0.7, 0.35, 0.8, 0.5])
layer = (depth > truth[..., np.newaxis]).sum(axis=0)
image = brightness[layer] + 0.35 * rng.standard_normal(layer.shape)

# %%
# A boundary costs little where the image gets brighter, or darker, as it does there.

slope = gaussian_filter(image, (1.5, 2), order=(0, 1))
cost = [-sign * slope for sign in np.sign(np.diff(brightness))]
result = preflow.vision.layered_surfaces(cost, max_step=1, min_gap=5)
result.verify()
print(result)
error = abs(result.surfaces - truth).mean()
print(f"{error:.2f} pixels from the truth on average")

# %%
# The same costs without limits: each column by itself.

alone = np.argmin(cost, axis=2)
# sphinx_gallery_thumbnail_panel = 2
figure, axes = plt.subplots(1, 2, figsize=(12, 3.6), layout="constrained")
found = {"each column alone": alone, "layered_surfaces": result.surfaces}
for axis, (title, surfaces) in zip(axes, found.items(), strict=True):
    axis.imshow(image.T, cmap="gray")
    axis.plot(surfaces.T, linewidth=1.5)
    axis.set_title(f"{title}: {abs(surfaces - truth).mean():.1f} pixels off")
    axis.axis("off")
plt.show()
