"""
Recognise shapes by their contours
==================================

A shape is a set of 30 points on its contour. The points of an unknown shape are assigned to those of each
model, at a cost that compares where the other points lie as seen from the two; the model of the cheapest
assignment wins. Assignments of 30 to 30 with costs of at most 100 are what Łupińska solves in real time.
"""

import matplotlib.pyplot as plt
import numpy as np

import preflow

points, largest = 30, 100
random = np.random.default_rng(2)
angle = np.linspace(0, 2 * np.pi, points, endpoint=False)
radii = {
    "circle": np.ones(points),
    "star": 1 + 0.45 * np.cos(5 * angle),
    "ellipse": 1 / np.hypot(np.cos(angle), 1.8 * np.sin(angle)),
    "square": 1 / np.maximum(np.abs(np.cos(angle)), np.abs(np.sin(angle))),
    "clover": 1 + 0.45 * np.cos(3 * angle),
}
models = {name: radius * np.exp(1j * angle) for name, radius in radii.items()}


def contexts(shape):
    """Return, for each point, how many of the others lie in each ring and sector around it."""
    offset = shape[None] - shape[:, None]
    size = np.abs(offset[~np.eye(points, dtype=bool)]).mean()
    inward = np.angle(offset / (shape.mean() - shape)[:, None])  # directions relative to the middle
    ring = np.digitize(np.abs(offset) / size, [0.3, 0.6, 1.0, 1.5])
    sector = np.floor((inward + np.pi) / (2 * np.pi) * 8).astype(int) % 8
    found = np.zeros((points, 40))
    np.add.at(found, (np.arange(points)[:, None], 8 * ring + sector), ~np.eye(points, dtype=bool))
    return found / (points - 1)


def costs(first, second):
    """Return the chi-squared distances of the contexts of all pairs of points, as integers up to 100."""
    a, b = contexts(first)[:, None], contexts(second)[None]
    return np.rint(largest * ((a - b) ** 2 / np.maximum(a + b, 1e-9)).sum(axis=2) / 2).astype(np.int64)


# %%
# The unknown shapes are turned, scaled, shifted and blurred, and their points are in no order. All pairs of
# an unknown shape and a model are one batch.

unknown = {}
for name, model in models.items():
    noise = 0.04 * (random.standard_normal(points) + 1j * random.standard_normal(points))
    turn = random.uniform(0.5, 2) * np.exp(1j * random.uniform(0, 2 * np.pi))
    unknown[name] = random.permutation(turn * (model + noise) + random.normal(0, 3))
batch = np.array([costs(shape, model) for shape in unknown.values() for model in models.values()])
result = preflow.linear_assignment(batch)
result.verify()
score = result.cost.reshape(len(unknown), len(models))
names = np.array(list(models))
print(dict(zip(unknown, names[score.argmin(axis=1)].tolist(), strict=True)))
assert (names[score.argmin(axis=1)] == list(unknown)).all()

# %%
# Each unknown shape beside its model, with the pairs of the cheapest assignment.

figure, axes = plt.subplots(1, len(unknown), figsize=(13, 2.8), layout="constrained")
for k, (axis, (name, shape)) in enumerate(zip(axes, unknown.items(), strict=True)):
    best = int(score[k].argmin())
    model = list(models.values())[best]
    shape = (shape - shape.mean()) / np.abs(shape - shape.mean()).mean()
    pairs = result.column.reshape(len(unknown), len(models), points)[k, best]
    for point, other in zip(shape, model[pairs] + 3.2, strict=True):
        axis.plot([point.real, other.real], [point.imag, other.imag], color="0.8", linewidth=0.7)
    axis.plot(shape.real, shape.imag, ".", label="unknown")
    axis.plot(model.real + 3.2, model.imag, ".", label="model")
    axis.set(title=f"{name}: {names[best]}, cost {score[k, best]}", aspect="equal", xticks=[], yticks=[])
plt.show()
