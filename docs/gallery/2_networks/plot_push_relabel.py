"""
Push-relabel step by step
=========================

Two textbook methods on one small network: the worked example of Cihan's thesis (2010, figures 2.4 and 2.5).
Augmenting paths go over ten arcs, pushes over seven.
"""

import matplotlib.pyplot as plt
import numpy as np

import preflow

names = "sabct"
s, a, b, c, t = range(5)
tail, head, capacity = [s, a, a, b, b, c], [a, b, c, c, t, t], [4, 3, 1, 2, 1, 3]
network = preflow.FlowNetwork.from_arrays(tail, head, capacity)
result = preflow.max_flow(network, s, t)
result.verify()

# %%
# Augmenting paths send flow from end to end. All three paths go over the arc from s to a.

paths = {(s, a, b, t): 1, (s, a, c, t): 1, (s, a, b, c, t): 2}
assert sum(paths.values()) == result.value
print("arcs of all paths:", sum(len(path) - 1 for path in paths))

# %%
# Push-relabel moves excess over single arcs, and only to a lower vertex. The heights begin as distances to
# the sink. A vertex with excess and no lower neighbour is relabelled: it rises above its lowest neighbour.

residual = np.zeros((5, 5), dtype=int)
residual[tail, head] = capacity
height = np.array([5, 2, 1, 1, 0])
excess = np.zeros(5, dtype=int)
pushes = 0
frames = [("distances to the sink", height.copy(), excess.copy(), [])]


def push(u: int, v: int, amount: int) -> None:
    """Send an amount over an arc with enough residual capacity."""
    global pushes
    residual[u, v] -= amount
    residual[v, u] += amount
    excess[u] -= amount
    excess[v] += amount
    pushes += 1


push(s, a, residual[s, a])
frames.append(("push from s", height.copy(), excess.copy(), [(s, a)]))
active = [a]
while active:
    # All active vertices of a round push; those that keep excess are relabelled.
    used, relabelled = [], []
    for u in active:
        lower = (v for v in range(5) if residual[u, v] and height[v] < height[u])
        for v in lower:
            if excess[u]:
                push(u, v, min(excess[u], residual[u, v]))
                used.append((u, v))
        if excess[u]:
            height[u] = 1 + min(height[v] for v in range(5) if residual[u, v])
            relabelled.append(names[u])
    text = "push from " + ", ".join(sorted({names[u] for u, _ in used}))
    if relabelled:
        text += "; relabel " + ", ".join(relabelled)
    frames.append((text, height.copy(), excess.copy(), used))
    active = [u for u in (a, b, c) if excess[u] > 0]

assert excess[t] == result.value
print("pushes:", pushes)

# %%
# Each picture is one round; the vertical axis is the height. Active vertices are orange, with their excess.

place = {s: 0.0, a: 1.0, b: 2.0, c: 2.6, t: 3.6}
figure, axes = plt.subplots(2, 3, figsize=(11, 6.4), layout="constrained", sharex=True, sharey=True)
for axis, (text, heights, left, used) in zip(axes.flat, frames, strict=True):
    for u, v in zip(tail, head, strict=True):
        color, width = ("tab:red", 2.0) if (u, v) in used else ("0.7", 1.0)
        axis.annotate(
            "",
            (place[v], heights[v]),
            (place[u], heights[u]),
            arrowprops={"arrowstyle": "->", "color": color, "lw": width, "shrinkA": 9, "shrinkB": 9},
        )
    for v in range(5):
        is_active = v in (a, b, c) and left[v] > 0
        axis.scatter(place[v], heights[v], s=260, color="tab:orange" if is_active else "tab:blue", zorder=2)
        axis.text(place[v], heights[v], names[v], ha="center", va="center", color="white", zorder=3)
        if left[v] > 0:
            axis.text(place[v] + 0.16, heights[v] + 0.22, f"{left[v]}")
    axis.set_title(text)
    axis.set_xlim(-0.4, 4.1)
    axis.set_ylim(-0.6, 5.7)
    axis.set_xticks([])
for axis in axes[:, 0]:
    axis.set_ylabel("height")
plt.show()
