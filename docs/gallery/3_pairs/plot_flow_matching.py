"""
Pair noise with data for flow matching
======================================

Flow matching trains a network on straight paths from noise to data. If each batch of noise is paired with its
batch of data by exact optimal transport, paths cross less and the network learns straighter ones. All points
have the same mass, so the optimal plan is an assignment. Tensors of Torch go in and come out, on the CPU or
on a GPU.
"""

import matplotlib.pyplot as plt
import numpy as np

import preflow

try:
    import torch

    tensor = torch.from_numpy
except ImportError:
    print("Torch is not installed here: this page was made with NumPy arrays, by the same code")
    tensor = np.asarray


def pair(noise, data):
    """Return both batches in an order in which the sum of the squared distances is the least."""
    cost = ((noise[:, None] - data[None]) ** 2).sum(-1)
    result = preflow.linear_assignment(cost)
    result.verify()  # optional: proves that no other pairs are nearer
    return noise[result.row], data[result.column]


# %%
# Two moons, and as many points of a normal distribution. Before each step of the training, ``pair`` puts both
# batches in order; the network then learns the difference ``data - noise`` at random places on the way.

random = np.random.default_rng(0)
n = 256
angle = random.uniform(0, np.pi, n)
upper = random.random(n) < 0.5
moons = np.column_stack([np.cos(angle), np.sin(angle)]) * np.where(upper, 1, -1)[:, None]
moons = 2 * (moons + np.where(upper[:, None], [-0.5, -0.2], [0.5, 0.2])) + 0.1 * random.standard_normal(
    (n, 2)
)
noise, data = tensor(random.standard_normal((n, 2))), tensor(moons)

near_noise, near_data = pair(noise, data)
t = tensor(random.random((n, 1)))
places, velocities = (1 - t) * near_noise + t * near_data, near_data - near_noise
print(type(places).__module__, places.shape, velocities.shape)

# %%
# Many batches at once are one call for a stack of matrices, which all threads share. If points have different
# masses, :func:`preflow.transport` finds the plan.

costs = tensor(random.random((32, 64, 64)))
stacked = preflow.linear_assignment(costs)
print(stacked.column.shape, stacked)

# %%

figure, axes = plt.subplots(1, 2, figsize=(10, 5), layout="constrained", sharex=True, sharey=True)
pairs = {"at random": (noise, data), "by optimal transport": (near_noise, near_data)}
for axis, (name, (first, last)) in zip(axes, pairs.items(), strict=True):
    first, last = np.asarray(first), np.asarray(last)
    axis.plot(*np.stack([first, last], axis=-1).transpose(1, 2, 0), color="0.8", linewidth=0.6)
    axis.scatter(*first.T, s=6, color="tab:blue", zorder=2)
    axis.scatter(*last.T, s=6, color="tab:orange", zorder=2)
    axis.set_title(f"{name}: mean squared distance {((first - last) ** 2).sum(-1).mean():.2f}")
    axis.set_aspect("equal")
    axis.axis("off")
plt.show()
