"""
Depth from two views
====================

The disparity of a pixel is how far it moves from the left view to the right one; near things move far.
Alpha-expansion labels all pixels with disparities by a sequence of minimum cuts, and pixels that only
one view sees are found by comparing the labelling of both views.
"""

import matplotlib.pyplot as plt
import skimage.data
import skimage.transform

import preflow.vision

left, right, truth = skimage.data.stereo_motorcycle()
left, right = (
    skimage.transform.downscale_local_mean(view / 255, (4, 4, 1)).clip(0, 1) for view in (left, right)
)
truth = truth[::4, ::4][: left.shape[0], : left.shape[1]] / 4

result = preflow.vision.match_stereo(left, right, max_disparity=16)
share = preflow.vision.bad_pixels(result.disparity, truth, threshold=2)
print(f"{share:.1%} of the known pixels are off by more than 2")

# %%

picture = preflow.vision.disparity_picture
# sphinx_gallery_thumbnail_panel = 1
figure, axes = plt.subplots(1, 3, figsize=(12, 3), layout="constrained")
axes[0].imshow(left)
axes[0].set_title("left view")
axes[1].imshow(picture(result.disparity, low=0, high=16))
axes[1].set_title("disparity")
axes[2].imshow(picture(truth, low=0, high=16))
axes[2].set_title("truth (black: unknown)")
for one in axes:
    one.axis("off")
plt.show()
