"""
Unwrap a picture of phases
==========================

Radar and other interferometers measure angles, so a height that grows comes back as a saw-tooth. Minimum-cost
flow finds the whole turns to add such that the fewest pairs of neighbours differ by more than half a turn.
"""

import matplotlib.pyplot as plt
import numpy as np
from skimage.restoration import unwrap_phase

import preflow.vision

rng = np.random.default_rng(0)
y, x = np.mgrid[:160, :200] / 100
truth = 25 * np.exp(-3 * ((y - 0.8) ** 2 + (x - 1.0) ** 2)) + 6 * x
noisy = truth + 0.9 * rng.standard_normal(truth.shape)
phase = np.angle(np.exp(1j * noisy))

result = preflow.vision.unwrap_phase(phase)
result.flow.verify()
print(f"{result.corrections} differences corrected, proved to be the fewest")

# %%

pictures = {
    "measured phase": phase,
    "minimum-cost flow (preflow)": result.phase,
    "sorted by reliability (scikit-image)": unwrap_phase(phase),
}
# sphinx_gallery_thumbnail_panel = 1
figure, axes = plt.subplots(1, 3, figsize=(12, 3.6), layout="constrained")
for axis, (title, picture) in zip(axes, pictures.items(), strict=True):
    axis.imshow(picture, cmap="viridis")
    wrong = np.rint((picture - picture.mean() - noisy + noisy.mean()) / (2 * np.pi)) != 0
    axis.set_title(title if picture is phase else f"{title}: {wrong.mean():.1%} wrong")
    axis.axis("off")
plt.show()
