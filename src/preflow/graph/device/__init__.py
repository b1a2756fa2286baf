"""Parts of a solve that exist on a GPU only: residual networks, costs, points, grouping of edges."""
