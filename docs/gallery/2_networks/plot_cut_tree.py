"""
The weakest links of a network
==============================

A cut tree has the minimum cuts between all pairs of vertices. Its lightest edges show where a network falls
apart first.
"""

import matplotlib.pyplot as plt
import networkx as nx
import numpy as np

import preflow

graph = nx.karate_club_graph()  # who met whom outside the club, and how often
tree = preflow.gomory_hu_tree(graph)
tree.verify()
print(tree)

# %%
# A cut between two members is the lightest edge on the path between them. Between the instructor (0) and the
# administrator (33), whose quarrel split the club, it has the weight

print(tree.min_cut_value(0, 33))
side = tree.side(0, 33)

# %%
# The smallest cut of all only cuts off one member who met others rarely:

cut = preflow.global_min_cut(graph)
cut.verify()
print(cut, np.flatnonzero(cut.side), preflow.vertex_connectivity(graph))

# %%

shape = nx.Graph()
members = range(1, len(graph))
shape.add_edges_from((v, int(tree.parent[v]), {"weight": int(tree.weight[v])}) for v in members)
figure, axes = plt.subplots(1, 2, figsize=(11, 5), layout="constrained")
for axis, what, title in zip(axes, (graph, shape), ("the club", "its cut tree"), strict=True):
    place = nx.spring_layout(what, weight=None, seed=4)
    weights = [data["weight"] for _, _, data in what.edges(data=True)]
    nx.draw_networkx_edges(what, place, width=[0.3 + weight / 5 for weight in weights], ax=axis)
    colours = ["#f58518" if side[v] else "#4c78a8" for v in what]
    nx.draw_networkx_nodes(what, place, node_color=colours, node_size=180, ax=axis)
    nx.draw_networkx_labels(what, place, font_size=7, font_color="white", ax=axis)
    axis.set_title(f"{title}; width: weight; colours: the cut between 0 and 33")
    axis.axis("off")
plt.show()
