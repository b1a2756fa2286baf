"""
Workers and jobs from a table
=============================

Costs often come as a table with names. Pairs that are not in the table are not allowed.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

import preflow

table = pd.DataFrame(
    [
        ("Ada", "welding", 7), ("Ada", "painting", 4), ("Ada", "wiring", 9), ("Bo", "welding", 5),
        ("Bo", "wiring", 6), ("Cy", "painting", 5), ("Cy", "transport", 3), ("Di", "welding", 8),
        ("Di", "transport", 4), ("Di", "painting", 6), ("Eve", "wiring", 7), ("Eve", "cleaning", 2),
    ],
    columns=["worker", "job", "hours"],
)  # fmt: skip

# %%
# ``pandas.factorize`` gives each name a number. ``partial=True`` leaves out a worker where not all can have a
# job of their own; without it, that is an error that names the workers.

row, workers = pd.factorize(table["worker"])
column, jobs = pd.factorize(table["job"])
result = preflow.linear_assignment((row, column, table["hours"].to_numpy()), partial=True)
result.verify()
plan = pd.DataFrame({"worker": workers[result.row], "job": jobs[result.column]}).merge(table)
print(plan)
print("hours in all:", result.cost)

# %%
# The prices say what a change is worth: a pair whose cost exceeds ``u + v`` by little is nearly as good.

costs = table.pivot(index="worker", columns="job", values="hours").loc[workers, jobs].to_numpy()
figure, axis = plt.subplots(figsize=(6, 4), layout="constrained")
axis.imshow(costs, cmap="Blues")
for i, j in zip(*np.nonzero(~np.isnan(costs)), strict=True):
    axis.text(j, i, f"{costs[i, j]:.0f}", ha="center", va="center")
for i, j in zip(result.row, result.column, strict=True):
    axis.add_patch(plt.Rectangle((j - 0.48, i - 0.48), 0.96, 0.96, fill=False, color="red", lw=2))
axis.set_xticks(range(len(jobs)), jobs)
axis.set_yticks(range(len(workers)), workers)
axis.set_title("hours, and the cheapest assignment")
plt.show()
