"""
Denoise by total variation, exactly
===================================

Total variation denoising finds the image that differs little from the noisy one and has little variation
between neighbours. For images with whole grey levels a sequence of minimum cuts finds the exact minimum.
"""

import matplotlib.pyplot as plt
import numpy as np
import skimage.data
from skimage.metrics import peak_signal_noise_ratio
from skimage.restoration import denoise_tv_chambolle

import preflow.vision

clean = skimage.data.camera()[100:356, 100:356]
random = np.random.default_rng(0)
noisy = np.clip(clean + 20 * random.standard_normal(clean.shape), 0, 255).round().astype(np.uint8)

result = preflow.vision.denoise(noisy, weight=12, connectivity=4)
print(f"energy {result.energy:,.0f}, {len(result.cuts)} minimum cuts")

# %%

images = {
    "noisy": noisy,
    "exact (preflow)": result.image,
    "Chambolle's method (scikit-image)": 255 * denoise_tv_chambolle(noisy / 255, weight=0.05),
}
# sphinx_gallery_thumbnail_panel = 1
figure, axes = plt.subplots(1, 3, figsize=(12, 4.2), layout="constrained")
for axis, (title, image) in zip(axes, images.items(), strict=True):
    axis.imshow(image, cmap="gray", vmin=0, vmax=255)
    ratio = peak_signal_noise_ratio(clean, np.asarray(image).astype(float), data_range=255)
    axis.set_title(f"{title}: {ratio:.1f} dB")
    axis.axis("off")
plt.show()
