"""
Optical flow
============

The motion of every pixel between two frames: here a photograph and the same turned by two degrees, so
that the true motion is known.
"""

import matplotlib.pyplot as plt
import numpy as np
import skimage.data
import skimage.transform

import preflow.vision

image = skimage.transform.rescale(skimage.data.coffee() / 255, 0.4, anti_aliasing=True, channel_axis=-1)
middle = (np.array(image.shape[1::-1]) - 1) / 2
turn = (
    skimage.transform.AffineTransform(translation=-middle)
    + skimage.transform.AffineTransform(rotation=np.deg2rad(2))
    + skimage.transform.AffineTransform(translation=middle)
)
moved = skimage.transform.warp(image, turn.inverse, mode="edge")
y, x = np.indices(image.shape[:2])
ends = turn(np.stack([x.ravel(), y.ravel()], axis=1)).T.reshape(2, *x.shape)
truth = np.stack([ends[1] - y, ends[0] - x])  # (v, u): along rows, along columns

# %%

result = preflow.vision.find_optical_flow(image, moved, max_displacement=8)
error = preflow.vision.endpoint_error(result.flow, truth)
print(f"mean endpoint error: {error:.2f} pixels")

# %%
# Hue is the direction of the motion, saturation its speed.

largest = float(np.hypot(*truth).max())
# sphinx_gallery_thumbnail_panel = 1
figure, axes = plt.subplots(1, 3, figsize=(12, 3.2), layout="constrained")
axes[0].imshow(image)
axes[0].set_title("first frame")
axes[1].imshow(preflow.vision.flow_picture(result.flow, largest=largest))
axes[1].set_title("flow found")
axes[2].imshow(preflow.vision.flow_picture(truth, largest=largest))
axes[2].set_title("true flow")
for one in axes:
    one.axis("off")
plt.show()
