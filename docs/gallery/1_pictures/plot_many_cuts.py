"""
Many small pictures in one call
===============================

A page of text, lit from one side. No threshold fits the whole page, but one fits each small tile. The tiles
are a batch of cuts: :func:`preflow.grid_cut_batch` solves them together.
"""

import matplotlib.pyplot as plt
import numpy as np
import skimage.data

import preflow

SIDE = 16
page = skimage.data.page().astype(float)
rows, columns = page.shape[0] // SIDE, page.shape[1] // SIDE
page = page[: rows * SIDE, : columns * SIDE]
tiles = page.reshape(rows, SIDE, columns, SIDE).swapaxes(1, 2).reshape(-1, SIDE, SIDE)

# %%
# Ink is darker than the mean of its tile. Pixels that are not sure follow their neighbours.

ink = np.clip(tiles.mean(axis=(1, 2), keepdims=True) - 14 - tiles, -30, 30).astype(int)
result = preflow.grid_cut_batch(np.maximum(ink, 0), np.maximum(-ink, 0), 6)
result.verify()
assert result.labels.shape == tiles.shape
assert result[5].value == preflow.grid_cut(np.maximum(ink[5], 0), np.maximum(-ink[5], 0), 6).value

# %%
# The tiles go back to their places.

text = result.labels.reshape(rows, columns, SIDE, SIDE).swapaxes(1, 2).reshape(page.shape)
figure, axes = plt.subplots(1, 3, figsize=(12, 2.6), layout="constrained")
pictures = (page, page > page.mean() - 14, ~text)
titles = ("page", "one threshold", f"{len(tiles)} cuts")
for axis, picture, title in zip(axes, pictures, titles, strict=True):
    axis.imshow(picture, cmap="gray")
    axis.set_title(title)
    axis.axis("off")
plt.show()
