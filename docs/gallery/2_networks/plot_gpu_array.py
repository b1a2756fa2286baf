"""
Arrays in the memory of a GPU
=============================

Arrays that are on a GPU are solved there, and results come back as arrays of the same library, still on
the GPU. On a machine without a GPU this page solves the same grid on the CPU and says so.
"""

import matplotlib.pyplot as plt
import numpy as np
import skimage.data

import preflow

try:
    import cupy as xp

    on_gpu = xp.cuda.runtime.getDeviceCount() > 0
except Exception as error:  # CuPy is missing, or there is no driver
    print(f"no GPU here ({type(error).__name__}): this page was made on the CPU")
    on_gpu = False
if not on_gpu:
    xp = np

# %%
# ``xp`` is CuPy where there is a GPU, and NumPy elsewhere. The rest does not change.

image = xp.asarray(skimage.data.coins().astype(np.int32))
neighbor = preflow.contrast_capacity(image, strength=80)
result = preflow.grid_cut(xp.maximum(image - 110, 0), xp.maximum(110 - image, 0), neighbor)
result.verify()
print(type(result.labels).__module__, result.stats.method, "-", result.stats.reason)

# %%

labels = result.labels.get() if on_gpu else result.labels
plt.figure(figsize=(6, 4.6), layout="constrained")
plt.imshow(skimage.data.coins(), cmap="gray")
plt.contour(labels, levels=[0.5], colors="red", linewidths=0.8)
plt.title(f"cut on {'the GPU' if on_gpu else 'the CPU'} by {result.stats.method}")
plt.axis("off")
plt.show()
