"""
A roster for a week from tables
===============================

Who works which shift? One table has a row for each worker and shift that fit, with a cost: how little the
worker likes it. Others say how many shifts a worker takes at most, and how many workers a shift needs.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

import preflow

random = np.random.default_rng(1)
names = ["Ada", "Bo", "Cy", "Di", "Eve", "Finn"]
shifts = [f"{day} {part}" for day in ("Mon", "Tue", "Wed", "Thu", "Fri") for part in ("early", "late")]
wishes = pd.DataFrame([(who, shift) for who in names for shift in shifts], columns=["worker", "shift"])
wishes["cost"] = random.integers(0, 10, len(wishes))
wishes = wishes[random.random(len(wishes)) < 0.75]  # a pair that is not in the table is not allowed
most = pd.Series({"Ada": 4, "Bo": 3, "Cy": 3, "Di": 2, "Eve": 3, "Finn": 2})
needs = pd.Series(1, index=shifts)
needs["Mon early"] = needs["Fri late"] = needs["Wed late"] = 2

# %%
# ``assign_jobs`` takes the table as it is: its columns are named row, column and cost. The limits go by name.

table = wishes.rename(columns={"worker": "row", "shift": "column"})
found = preflow.reductions.assign_jobs(table, limit=most, needs=needs)
found.verify()
roster = found.to_pandas().rename(columns={"job": "shift"})
print(roster.groupby("worker")["shift"].agg(", ".join).to_string())
print(f"{len(roster)} shifts, dislike {found.cost} in all, which no other roster beats")

# %%
# A week that nobody can fill is an error that names shifts and workers; ``partial=True`` fills what it can.

try:
    preflow.reductions.assign_jobs(table, limit=1, needs=needs)
except preflow.errors.InfeasibleError as error:
    print(error)

# %%

figure, axis = plt.subplots(figsize=(9, 4), layout="constrained")
costs = wishes.pivot(index="worker", columns="shift", values="cost").reindex(index=names, columns=shifts)
image = axis.imshow(costs, cmap="Blues")
axis.set_facecolor("0.85")
for who, shift in roster[["worker", "shift"]].itertuples(index=False):
    place = shifts.index(shift) - 0.47, names.index(who) - 0.47
    axis.add_patch(plt.Rectangle(place, 0.94, 0.94, fill=False, color="tab:red", linewidth=2))
axis.set_xticks(range(len(shifts)), shifts, rotation=45, ha="right")
axis.set_yticks(range(len(names)), [f"{who} (at most {most[who]})" for who in names])
figure.colorbar(image, label="dislike; grey: cannot come", shrink=0.8)
axis.set_title("the roster with the least dislike")
plt.show()
