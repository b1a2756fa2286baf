"""
Train a detector that pairs its guesses with targets
====================================================

A network looks at a picture and guesses six points, each with a score. Which guess is meant for which spot of
the picture is an assignment, as in DETR: the loss compares each target with the guess that is paired with it.
Pictures have one to four spots, so the batch is ragged. ``match_targets`` solves all pictures in one call.
"""

import matplotlib.pyplot as plt
import torch
from torch.nn.functional import binary_cross_entropy_with_logits

from preflow.integrations.torch import match_targets

torch.manual_seed(0)
SIDE, QUERIES = 12, 6
axis = torch.linspace(0, 1, SIDE)


def pictures(count):
    """Return pictures with spots, and the places of the spots of each."""
    places = [0.1 + 0.8 * torch.rand(int(torch.randint(1, 5, ())), 2) for _ in range(count)]
    bumps = [torch.exp(-(((axis[:, None] - spots.T.reshape(2, 1, -1)) / 0.08) ** 2)) for spots in places]
    return torch.stack([(x[None] * y[:, None]).sum(-1) for x, y in bumps]), places


network = torch.nn.Sequential(
    torch.nn.Flatten(),
    torch.nn.Linear(SIDE * SIDE, 256),
    torch.nn.ReLU(),
    torch.nn.Linear(256, 256),
    torch.nn.ReLU(),
    torch.nn.Linear(256, 3 * QUERIES),
)

# %%
# The costs of all guesses with all targets are one tensor of shape (pictures, guesses, targets of all
# pictures). The loss is that of the pairs: their distance, and the score, which is to be high for paired
# guesses and low for the others. Its gradient flows through the guesses, not through the choice of pairs.


def guess(images):
    """Return points and scores."""
    found = network(images).reshape(len(images), QUERIES, 3)
    return found[..., :2].sigmoid(), found[..., 2]


def loss_of(images, places):
    """Return the loss of a batch of pictures."""
    points, scores = guess(images)
    distance = torch.cdist(points, torch.cat(places).expand(len(images), -1, -1), p=1)
    pairs = match_targets(distance - 0.1 * scores.sigmoid()[..., None], [len(spots) for spots in places])
    wanted, apart = torch.zeros_like(scores), 0.0
    for image, (query, target) in enumerate(pairs):
        wanted[image, query] = 1
        apart = apart + (points[image, query] - places[image][target]).abs().sum() / len(target)
    return apart / len(images) + 0.3 * binary_cross_entropy_with_logits(scores, wanted)


optimizer = torch.optim.Adam(network.parameters(), lr=1e-3)
losses = []
for _ in range(400):
    loss = loss_of(*pictures(64))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    losses.append(loss.item())
print(f"loss: {losses[0]:.2f} before, {sum(losses[-20:]) / 20:.2f} after the training")

# %%
# New pictures, with the guesses whose score is above one half.

images, places = pictures(4)
with torch.no_grad():
    points, scores = guess(images)
figure, axes = plt.subplots(1, 4, figsize=(10, 2.8), layout="constrained")
for panel, image, spots, found, score in zip(axes, images, places, points, scores, strict=True):
    panel.imshow(image, cmap="gray", extent=(0, 1, 1, 0))
    panel.plot(*spots.T, "o", color="tab:blue", fillstyle="none", markersize=14)
    panel.plot(*found[score > 0].T, "x", color="tab:red")
    panel.axis("off")
figure.suptitle("targets (blue) and guesses (red)")
plt.show()
