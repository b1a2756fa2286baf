"""
Cut an object out of a photograph
=================================

A few brush strokes say which pixels certainly belong to the object and which certainly do not. One
minimum cut labels all others: it follows the colours of the strokes and prefers borders along strong
contrast.
"""

import matplotlib.pyplot as plt
import skimage.data

import preflow.vision

photo = skimage.data.astronaut()

# %%
# Strokes are lines through points "x,y"; boxes are "x0,y0,x1,y1".

head = preflow.vision.parse_seeds((512, 512), ["220,25 225,160", "190,60 280,60"], brush=5)
rest = preflow.vision.parse_seeds((512, 512), ["0,200,511,511", "0,0,100,200", "350,0,511,200"])

result = preflow.vision.segment(photo, head, rest, threads=1)
print(result)

# %%
# The cut carries its own proof: a flow of the same value.

result.cut.verify()

# %%
# One more stroke is solved from where the last cut ended.

head[100:110, 160:170] = True
again = preflow.vision.segment(photo, head, rest, threads=1, warm_start=result)
print(f"{result.cut.stats.pushes:,} pushes, then {again.cut.stats.pushes:,}")

# %%

figure, axes = plt.subplots(1, 2, figsize=(9, 4.5), layout="constrained")
axes[0].imshow(photo)
axes[0].contour(head, colors="red")
axes[0].contour(rest, colors="blue")
axes[0].set_title("photograph and seeds")
axes[1].imshow(preflow.vision.overlay(photo, again.mask))
axes[1].set_title("minimum cut")
for one in axes:
    one.axis("off")
plt.show()
