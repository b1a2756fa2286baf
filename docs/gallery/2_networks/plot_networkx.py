"""
A NetworkX graph in one line, faster
====================================

preflow is a backend of NetworkX: the argument ``backend="preflow"`` is all that changes. The answer is a
NetworkX graph or dictionary as before.
"""

import time

import matplotlib.pyplot as plt
import networkx as nx

random = nx.random_geometric_graph(400, 0.1, seed=2)
graph = random.subgraph(max(nx.connected_components(random), key=len)).copy()
for u, v in graph.edges:
    graph.edges[u, v]["capacity"] = 1 + (7 * u + 5 * v) % 9

seconds = {}
for name, options in {"NetworkX": {}, "preflow": {"backend": "preflow"}}.items():
    start = time.perf_counter()
    tree = nx.gomory_hu_tree(graph, **options)
    seconds[name] = time.perf_counter() - start
print(", ".join(f"{name}: {taken:.3f} s" for name, taken in seconds.items()))

# %%
# The Gomory-Hu tree has the minimum cut of each pair of vertices: the least weight on the path between them.
# Its weakest edge says where the graph falls apart first.

weight = nx.get_edge_attributes(tree, "weight")
place = nx.get_node_attributes(graph, "pos")
(u, v), least = min(weight.items(), key=lambda item: item[1])
rest = tree.copy()
rest.remove_edge(u, v)
side = nx.node_connected_component(rest, u)

figure, axis = plt.subplots(figsize=(6, 5), layout="constrained")
nx.draw_networkx_edges(graph, place, edge_color="0.8", ax=axis)
nx.draw_networkx_nodes(
    graph, place, node_size=30, node_color=["#e69f00" if w in side else "#0072b2" for w in graph], ax=axis
)
axis.set_title(f"a least cut of the graph: capacity {least}")
axis.axis("off")
plt.show()
