"""Graph containers: what users build and what solvers work on."""
