"""
A network and its minimum cut
=============================

NetworkX graphs go in as they are, and results speak in their labels.
"""

import matplotlib.pyplot as plt
import networkx as nx

import preflow

network = nx.DiGraph()
network.add_weighted_edges_from(
    [
        ("s", "a", 9), ("s", "b", 7), ("a", "b", 2), ("a", "c", 4), ("b", "c", 3),
        ("b", "d", 4), ("c", "t", 8), ("d", "c", 2), ("d", "t", 5), ("a", "d", 1),
    ],
    weight="capacity",
)  # fmt: skip

result = preflow.max_flow(network, "s", "t")
result.verify()
flow = result.flow_dict()
print(f"maximum flow {result.value}, {len(result.cut_arcs)} arcs in the cut")

# %%
# ``sink_side`` says which vertices can still reach the sink. Arcs that cross over to it are the minimum cut:
# they are saturated, and their capacities sum to the value of the flow.

sink_side = dict(zip(result.network.labels, result.sink_side.tolist(), strict=True))
crossing = [(u, v) for u, v in network.edges if not sink_side[u] and sink_side[v]]
assert sum(network.edges[arc]["capacity"] for arc in crossing) == result.value

# %%

place = {"s": (0, 0), "a": (1, 0.7), "b": (1, -0.7), "c": (2, 0.7), "d": (2, -0.7), "t": (3, 0)}
figure, axis = plt.subplots(figsize=(8, 4), layout="constrained")
nx.draw_networkx_nodes(
    network,
    place,
    node_color=["#f58518" if sink_side[v] else "#4c78a8" for v in network],
    node_size=700,
    ax=axis,
)
nx.draw_networkx_labels(network, place, font_color="white", ax=axis)
nx.draw_networkx_edges(
    network,
    place,
    width=[3 if arc in crossing else 1 for arc in network.edges],
    edge_color=["#d62728" if arc in crossing else "0.5" for arc in network.edges],
    node_size=700,
    ax=axis,
)
texts = {(u, v): f"{flow[u][v]} / {data['capacity']}" for u, v, data in network.edges(data=True)}
nx.draw_networkx_edge_labels(network, place, texts, label_pos=0.35, ax=axis)
axis.set_title("flow / capacity; red: the minimum cut")
axis.axis("off")
plt.show()
