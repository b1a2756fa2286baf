"""Many small maximum-flow problems in one call."""
