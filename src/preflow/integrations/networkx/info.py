"""The description of the backend, which NetworkX reads when it is imported, before preflow is loaded."""

from __future__ import annotations

#: Edges from which a call takes less time than NetworkX's own function, the conversion included. On a Xeon,
#: of random graphs of average degree 4 to 10. NetworkX asks only where `backend_priority` names preflow;
#: ``backend="preflow"`` always takes it.
WORTH_IT = {
    "maximum_flow": 100,
    "maximum_flow_value": 100,
    "minimum_cut": 100,
    "minimum_cut_value": 100,
    "min_cost_flow": 100,
    "min_cost_flow_cost": 100,
    "network_simplex": 100,
    "capacity_scaling": 100,
    "max_flow_min_cost": 100,
    "max_weight_matching": 30,
    "min_weight_matching": 30,
    "hopcroft_karp_matching": 1000,
    "eppstein_matching": 500,
    "to_vertex_cover": 20,
    "minimum_weight_full_matching": 500,
    "gomory_hu_tree": 5,
    "stoer_wagner": 40,
    "node_connectivity": 20,
    "edge_connectivity": 25,
    "local_node_connectivity": 12,
    "local_edge_connectivity": 15,
    "average_node_connectivity": 3,
    "all_pairs_node_connectivity": 3,
    "minimum_edge_cut": 20,
    "minimum_node_cut": 10,
    "minimum_st_edge_cut": 12,
    "minimum_st_node_cut": 12,
    "edge_disjoint_paths": 15,
    "node_disjoint_paths": 10,
}

DESCRIPTION = (
    "Maximum flow, minimum cut, minimum-cost flow, matching, assignment, connectivity and cut trees by "
    "preflow's compiled solvers. "
    "What they cannot read, such as Fractions, is left to NetworkX."
)


def get_info() -> dict[str, object]:
    """Return the description of the backend, as the entry point ``networkx.backend_info`` demands it."""
    return {
        "backend_name": "preflow",
        "project": "preflow",
        "package": "preflow",
        "short_summary": "Fast and proved flow and matching.",
        "description": DESCRIPTION,
        "functions": {
            name: {
                "additional_docs": "Solved by preflow; of several optimal results it may return another one."
            }
            for name in WORTH_IT
        },
    }
