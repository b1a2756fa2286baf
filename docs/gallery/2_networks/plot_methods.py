"""
Compare the methods of the literature
=====================================

Every method runs under its own name and counts its operations, so that a paper's tables can be repeated.
All find the same value and the same minimum cut.
"""

import matplotlib.pyplot as plt

import preflow
import preflow.generators

problem = preflow.generators.rmf(24, 12, seed=1)
names = [
    method.name for method in preflow.methods("max_flow") if method.device == "cpu" and not method.parallel
]

results = {name: preflow.min_cut(problem, method=name) for name in names}
assert len({result.value for result in results.values()}) == 1
for name, result in results.items():
    print(f"{name:25} {result.stats.pushes:9,} pushes {result.stats.relabels:9,} relabels")

# %%

figure, axis = plt.subplots(figsize=(8, 3.6), layout="constrained")
places = range(len(names))
axis.barh([place + 0.2 for place in places], [results[n].stats.pushes for n in names], 0.4, label="pushes")
axis.barh(
    [place - 0.2 for place in places], [results[n].stats.relabels for n in names], 0.4, label="relabels"
)
axis.set_yticks(places, names)
axis.set_xscale("log")
axis.set_title("operations on a genrmf network of 6,912 vertices")
axis.legend()
plt.show()
