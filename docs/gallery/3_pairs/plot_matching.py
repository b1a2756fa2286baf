"""
A matching and the cover that proves it
=======================================

A matching pairs rows with columns. By König's theorem no matching is larger than any set of rows and
columns that touches every edge; ``verify()`` finds such a cover of the same size.
"""

import matplotlib.pyplot as plt
import networkx as nx

import preflow

skills = {
    "Ada": ["write", "test"],
    "Bo": ["test"],
    "Cy": ["test", "draw"],
    "Di": ["draw"],
    "Eve": ["write", "plan", "teach"],
}
graph = nx.Graph()
graph.add_nodes_from(skills, bipartite=0)
graph.add_nodes_from(sorted({task for tasks in skills.values() for task in tasks}), bipartite=1)
graph.add_edges_from((person, task) for person, tasks in skills.items() for task in tasks)

result = preflow.bipartite_matching(graph)
result.verify()
pairs = [tuple(map(str, pair)) for pair in result.pairs()]
print(f"{result.cardinality} pairs: {pairs}")

# %%
# The cover: every edge touches one of its vertices, and it has as many vertices as the matching has pairs.

people, tasks = list(skills), [v for v in graph if v not in skills]
place = {person: (0, -i) for i, person in enumerate(people)} | {task: (1, -i) for i, task in enumerate(tasks)}
matched = {frozenset(pair) for pair in pairs}
cover = result.vertex_cover
covered = {v for v, inside in zip(people, cover.rows, strict=True) if inside}
covered |= {v for v, inside in zip(tasks, cover.columns, strict=True) if inside}
print("cover:", sorted(covered))

figure, axis = plt.subplots(figsize=(6, 4), layout="constrained")
nx.draw_networkx(
    graph,
    place,
    node_color=["#f58518" if v in covered else "#cccccc" for v in graph],
    edge_color=["#d62728" if frozenset(edge) in matched else "0.7" for edge in graph.edges],
    width=[3 if frozenset(edge) in matched else 1 for edge in graph.edges],
    node_size=1600,
    ax=axis,
)
axis.set_title("red: matching; orange: vertex cover")
axis.margins(0.2)
axis.axis("off")
plt.show()
