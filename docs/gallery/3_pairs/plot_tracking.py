"""
Track detections over frames
============================

A detector finds points in every frame, without names, and misses some. Each frame's detections are
assigned to the tracks so far: a batch of assignment problems with different sizes, where far pairs are
not allowed.
"""

import matplotlib.pyplot as plt
import numpy as np

import preflow

random = np.random.default_rng(4)
frames, objects, reach = 40, 12, 0.09
place = random.uniform(0, 1, (objects, 2))
speed = random.normal(0, 0.012, (objects, 2))
detections = []
for _ in range(frames):
    speed += random.normal(0, 0.003, speed.shape)
    place = place + speed
    seen = random.uniform(size=objects) > 0.08
    detections.append(random.permutation(place[seen] + random.normal(0, 0.003, (int(seen.sum()), 2))))

# %%
# A track predicts its next place from its last two. A detection far from all tracks begins a new one, and a
# track that finds nothing for three frames ends.

tracks = [{"points": [(0, point)]} for point in detections[0]]
for t in range(1, frames):
    live = [track for track in tracks if t - track["points"][-1][0] <= 3]
    predicted = []
    for track in live:
        (t1, p1), (t0, p0) = track["points"][-1], track["points"][max(-2, -len(track["points"]))]
        step = (p1 - p0) / max(t1 - t0, 1)
        predicted.append(p1 + step * (t - t1))
    cost = np.linalg.norm(np.array(predicted)[:, None] - detections[t][None], axis=-1)
    cost[cost > reach] = np.inf  # not allowed
    result = preflow.linear_assignment(cost, partial=True)
    result.verify()
    for i, j in zip(result.row, result.column, strict=True):
        live[i]["points"].append((t, detections[t][j]))
    for j in set(range(len(detections[t]))) - set(result.column.tolist()):
        tracks.append({"points": [(t, detections[t][j])]})
print(f"{objects} objects, {len(tracks)} tracks")

# %%

figure, axes = plt.subplots(1, 2, figsize=(10, 4.6), layout="constrained", sharex=True, sharey=True)
axes[0].scatter(*np.concatenate(detections).T, s=4, color="0.4")
axes[0].set_title("detections of all frames")
for track in tracks:
    points = np.array([point for _, point in track["points"]])
    axes[1].plot(*points.T, ".-", markersize=3)
axes[1].set_title("tracks")
for one in axes:
    one.set_aspect("equal")
plt.show()
