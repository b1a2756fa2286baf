"""
Track detections over many frames at once
=========================================

A detector misses some objects and invents others. One minimum-cost flow links the detections of all frames: a
unit of flow is a track, each detection has a vertex where it begins and one where it ends with an arc of
negative cost between them, and to begin or to end a track costs something. The number of tracks comes out.
"""

import matplotlib.pyplot as plt
import numpy as np

import preflow

rng = np.random.default_rng(3)
frames, objects = 30, 5
start, speed = rng.uniform(0, 100, objects), rng.uniform(-2, 2, objects)
seen = []
for frame in range(frames):
    places = (start + frame * speed)[rng.random(objects) < 0.85] + 0.7 * rng.standard_normal(1)
    seen += [(frame, place) for place in (*places, *rng.uniform(0, 100, rng.poisson(0.7)))]
frame, place = np.array(seen).T

# Vertex 2i is where detection i begins, 2i + 1 where it ends; the last vertex is outside.
n = len(seen)
outside = np.full(n, 2 * n)
begins, ends = 2 * np.arange(n), 2 * np.arange(n) + 1
before, after = np.nonzero((frame[None] > frame[:, None]) & (frame[None] <= frame[:, None] + 3))
gap = np.abs(place[after] - place[before])
close = gap < 6 * (frame[after] - frame[before])
before, after, gap = before[close], after[close], gap[close]
network = preflow.CostNetwork.from_arrays(
    np.concatenate([begins, ends[before], outside, ends]),
    np.concatenate([ends, begins[after], begins, outside]),
    capacity=1,
    cost=np.concatenate(
        [np.full(n, -5.0), gap + 2 * (frame[after] - frame[before] - 1), np.full(2 * n, 8.0)]
    ),
    num_vertices=2 * n + 1,
)
result = preflow.min_cost_flow(network)
result.verify()
used = result.flow[n : n + len(before)] > 0
print(f"{int(result.flow[n + len(before) : 2 * n + len(before)].sum())} tracks of {n} detections")

# %%

figure, axis = plt.subplots(figsize=(9, 4.5), layout="constrained")
axis.scatter(frame, place, s=12, color="grey", label="detections")
for i, j in zip(before[used], after[used], strict=True):
    axis.plot([frame[i], frame[j]], [place[i], place[j]], color="tab:blue")
axis.set_xlabel("frame")
axis.set_ylabel("place")
axis.legend()
plt.show()
