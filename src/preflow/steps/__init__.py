"""How a problem becomes a smaller one, and how its answer comes back."""
