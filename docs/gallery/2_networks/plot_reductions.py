"""
Reductions between problems
===========================

Łupińska's paper reduces matching to maximum flow, and assignment, over the transport problem as Goldberg
and Kennedy do or directly, to a minimum-cost flow. This page draws all reductions of ``preflow.reductions``,
and runs each on a small instance.
"""

import matplotlib.pyplot as plt
import networkx as nx
import numpy as np

import preflow
from preflow import reductions

# %%
# The data: a network with capacities and costs, a bipartite graph, and a matrix of costs.

arcs = [0, 0, 1, 1, 2], [1, 2, 2, 3, 3]
capacity, cost = [3, 2, 2, 2, 3], [1, 4, 1, 6, 1]
flow_network = preflow.FlowNetwork.from_arrays(*arcs, capacity)
both_ways = preflow.FlowNetwork.from_arrays(*arcs, capacity, reverse_capacity=capacity)
network = preflow.CostNetwork.from_arrays(*arcs, capacity=capacity, cost=cost, supply=[4, 0, 0, -4])
bounded = preflow.CostNetwork.from_arrays(*arcs, capacity=capacity, lower=[0, 1, 0, 1, 0], cost=cost)
undirected = preflow.CostNetwork.from_arrays(*arcs, capacity=capacity, cost=cost, undirected=True)
hours = np.array([[4, 1, 3, 5], [2, 0, 5, 3], [3, 2, 2, 4]])
supply = [4, 0, 0, -4]

# %%
# Each row has the problem, the problem that it is reduced to, and the reduction of an instance. Reductions of
# a problem to a plainer form of itself are loops.

MATCHING, FLOW, CUT, COSTS = "matching", "maximum flow", "minimum cut", "minimum-cost\nflow"
ASSIGNMENT, TRANSPORT, CIRCULATION = "assignment", "transport", "feasible\ncirculation"
table = [
    (MATCHING, FLOW, reductions.MatchingAsMaxFlow.of(([0, 0, 1, 2], [0, 1, 0, 0]))),
    ("b-matching", FLOW, reductions.MatchingAsMaxFlow.of(([0, 0, 1], [0, 1, 1]), row_limit=2, edge_limit=1)),
    (ASSIGNMENT, TRANSPORT, reductions.AssignmentAsTransport.of(hours)),
    (TRANSPORT, COSTS, reductions.TransportAsMinCostFlow.of(hours, [3, 4, 2], [2, 2, 2, 3])),
    ("several jobs\na worker", COSTS, reductions.JobsAsMinCostFlow.of(hours, limit=2)),
    ("shortest\npath", COSTS, reductions.PathsAsMinCostFlow.of(network, 0, 3)),
    ("disjoint\npaths", COSTS, reductions.PathsAsMinCostFlow.of(network, 0, 3, count=2, disjoint="vertices")),
    (FLOW, COSTS, reductions.MaxFlowAsCirculation.of(flow_network, 0, 3)),
    (CIRCULATION, FLOW, reductions.CirculationAsMaxFlow.of(bounded, supply)),
    ("matrix\nrounding", CIRCULATION, reductions.RoundingAsCirculation.of(hours / 4)),
    ("project\nselection", CUT, reductions.ProjectsAsMinCut.of([4, 6, -5, -3], [(0, 2), (0, 3), (1, 3)])),
    (COSTS, COSTS, reductions.LowerBoundsRemoved.of(bounded, supply)),
    (COSTS, COSTS, reductions.UndirectedCostsAsDirected.of(undirected, supply)),
    (FLOW, FLOW, reductions.UndirectedAsDirected.of(both_ways, 0, 3)),
    (FLOW, FLOW, reductions.VertexCapacities.of(flow_network, {2: 2}, 0, 3)),
    (FLOW, FLOW, reductions.TerminalsMerged.of(flow_network, [0, 1], [3])),
]
names = ("size", "cost", "profit", "value", "flow", "values")
for problem, other, reduction in table:
    answer = reduction.solve()
    answer.verify()
    found = next(getattr(answer, name) for name in names if hasattr(answer, name))
    step = f"{problem} -> {other}, {type(reduction).__name__}".replace("\n", " ")
    print(f"{step}: {np.asarray(found).tolist()}")

# %%
# Maximum flow and minimum cut are dual: one solve finds both. ``preflow.max_flow_min_cost`` combines a
# maximum flow with a minimum-cost flow.

best = preflow.max_flow_min_cost(preflow.CostNetwork.from_arrays(*arcs, capacity=capacity, cost=cost), 0, 3)
best.verify()
print(f"the largest amount is {best.amount}, and sending it costs at least {best.cost}")

# %%

place = {
    "b-matching": (0, 4), MATCHING: (0, 3), "matrix\nrounding": (0, 2), "project\nselection": (0, 1),
    CIRCULATION: (1, 2.5), FLOW: (2, 3.4), CUT: (2, 1), COSTS: (3, 2.2), TRANSPORT: (4, 3.4),
    ASSIGNMENT: (4, 4.4), "several jobs\na worker": (4, 2.4), "shortest\npath": (4, 1.5),
    "disjoint\npaths": (4, 0.6),
}  # fmt: skip
paper = [(MATCHING, FLOW), (ASSIGNMENT, TRANSPORT), (TRANSPORT, COSTS)]
graph = nx.DiGraph([(problem, other) for problem, other, _ in table if problem != other])
figure, axis = plt.subplots(figsize=(10, 6), layout="constrained")
axis.set_xlim(-0.6, 4.6)
axis.set_ylim(0.2, 4.8)
axis.axis("off")
direct = {MATCHING, FLOW, CUT, COSTS, ASSIGNMENT, TRANSPORT}
boxes = {}
for problem, (x, y) in place.items():
    style = {"boxstyle": "round,pad=0.5", "fc": "lightblue" if problem in direct else "white"}
    boxes[problem] = axis.text(x, y, problem, ha="center", va="center", bbox=style)
figure.canvas.draw()  # boxes have their sizes now
for problem, other in graph.edges:
    arrow = {
        "arrowstyle": "-|>,head_width=0.3,head_length=0.6",
        "color": "tab:red" if (problem, other) in paper else "tab:gray",
        "lw": 1.8,
        "patchA": boxes[problem].get_bbox_patch(),
        "patchB": boxes[other].get_bbox_patch(),
    }
    axis.annotate("", place[other], place[problem], arrowprops=arrow)
axis.plot(*zip(place[FLOW], place[CUT], strict=True), ":", color="tab:gray", zorder=0)
axis.text(2.04, 2, "dual", color="tab:gray")
for problem, x, y in ((FLOW, 2, 3.95), (COSTS, 2.75, 1.5)):
    loops = [type(reduction).__name__ for one, other, reduction in table if one == other == problem]
    axis.text(x, y, "\n".join(loops), ha="center", va="center", fontsize=8)
axis.set_title("blue: has its own solvers; red: in the paper; small: to a plainer form of the same problem")
plt.show()
