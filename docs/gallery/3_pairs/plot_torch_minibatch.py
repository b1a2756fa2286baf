"""
Train a generator with optimal transport
========================================

A network turns noise into points that should look like data. The loss of a batch is the cost of the cheapest
transport of the generated points to a batch of data: the squared Wasserstein distance of the two batches. Its
gradient in the points is exact, and no second network judges them.
"""

import matplotlib.pyplot as plt
import torch

from preflow.integrations.torch import transport

torch.manual_seed(0)
BATCH = 128


def moons(count):
    """Return points of two half moons."""
    angle, upper = torch.pi * torch.rand(count), torch.rand(count) < 0.5
    turned = torch.stack([angle.cos(), angle.sin()], 1) * torch.where(upper, 1, -1)[:, None]
    shift = torch.where(upper[:, None], torch.tensor([-0.5, -0.2]), torch.tensor([0.5, 0.2]))
    return turned + shift + 0.05 * torch.randn(count, 2)


network = torch.nn.Sequential(
    torch.nn.Linear(2, 64),
    torch.nn.ReLU(),
    torch.nn.Linear(64, 64),
    torch.nn.ReLU(),
    torch.nn.Linear(64, 2),
)

# %%
# ``transport`` returns the cost as a tensor. ``backward`` takes the plan for its derivative in the distances,
# and Torch goes on from there to the points and the weights of the network.

weights = torch.full((BATCH,), 1 / BATCH)
optimizer = torch.optim.Adam(network.parameters(), lr=3e-3)
losses = []
for _ in range(300):
    points = network(torch.randn(BATCH, 2))
    distance = torch.cdist(points, moons(BATCH)).square()
    loss = transport(distance, weights, weights).cost
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    losses.append(loss.item())
print(f"squared distance: {losses[0]:.2f} before, {sum(losses[-20:]) / 20:.2f} after the training")

# %%

with torch.no_grad():
    made = network(torch.randn(600, 2))
figure, axes = plt.subplots(1, 2, figsize=(9, 3.6), layout="constrained")
axes[0].scatter(*moons(600).T, s=5, color="tab:orange", label="data")
axes[0].scatter(*made.T, s=5, color="tab:blue", label="generated")
axes[0].legend(markerscale=3)
axes[0].set_aspect("equal")
axes[0].axis("off")
axes[1].semilogy(losses, color="tab:blue")
axes[1].set_xlabel("step")
axes[1].set_title("squared Wasserstein distance of the batches")
plt.show()
