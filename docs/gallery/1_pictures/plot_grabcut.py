"""
GrabCut: an object from a box
=============================

GrabCut needs a box only. It learns mixtures of colours for the object and the background, cuts, learns
again from the result of the cut, and stops when no pixel changes its label.
"""

import matplotlib.pyplot as plt
import skimage.data

import preflow.vision

photo = skimage.data.astronaut()[::2, ::2]
box = (2, 65, 115, 165)  # first row, first column, last row + 1, last column + 1
result = preflow.vision.grabcut(photo, box)
print(f"{len(result.energies)} cuts, converged: {result.converged}")

# %%
# The energy after each cut. Every cut is an exact minimum for the colours that were learned before it.

figure, axes = plt.subplots(1, 3, figsize=(11, 3.6), layout="constrained")
axes[0].imshow(photo)
top, left, bottom, right = box
axes[0].add_patch(plt.Rectangle((left, top), right - left, bottom - top, fill=False, color="yellow", lw=2))
axes[0].set_title("photograph and box")
axes[1].imshow(preflow.vision.overlay(photo, result.mask))
axes[1].set_title("last cut")
axes[2].plot(range(1, len(result.energies) + 1), result.energies, "o-")
axes[2].set(xlabel="cut", ylabel="energy", title="energy after each cut")
for one in axes[:2]:
    one.axis("off")
plt.show()
