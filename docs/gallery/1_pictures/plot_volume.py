"""
Segment a volume
================

Volumes work as images do. Here bright blobs of a volume are found below noise that is as strong as the
contrast. Thresholds of the smoothed volume give seeds; the cut decides on everything in between.
"""

import matplotlib.pyplot as plt
import numpy as np
import skimage.data
from scipy.ndimage import gaussian_filter

import preflow.vision

random = np.random.default_rng(1)
truth = skimage.data.binary_blobs(length=96, n_dim=3, blob_size_fraction=0.2, volume_fraction=0.3, rng=1)
volume = 100 + 60 * truth + 60 * random.standard_normal(truth.shape)

# %%
# Seeds: the voxels whose surroundings are clearly bright or clearly dark.

smooth = gaussian_filter(volume, 2)
bright, dark = smooth > 150, smooth < 105
result = preflow.vision.segment(
    volume, bright, dark, model="mixture", components=1, smoothness=1.2, sigma=np.inf
)
result.cut.verify()


def dice(one, other):
    """Return twice the common volume, divided by the sum of the volumes."""
    return 2 * np.count_nonzero(one & other) / (np.count_nonzero(one) + np.count_nonzero(other))


print(f"Dice of the best threshold: {max(dice(volume > t, truth) for t in range(80, 200, 5)):.3f}")
print(f"Dice of the cut:            {dice(result.mask, truth):.3f}")

# %%

# sphinx_gallery_thumbnail_panel = 2
figure, axes = plt.subplots(1, 4, figsize=(12, 3.4), layout="constrained")
pictures = {"volume": volume, "seeds": 1.0 * bright - dark, "cut": result.mask, "truth": truth}
for axis, (title, picture) in zip(axes, pictures.items(), strict=True):
    axis.imshow(picture[48], cmap="gray")
    axis.set_title(f"{title}, middle slice")
    axis.axis("off")
plt.show()
