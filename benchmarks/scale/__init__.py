"""Sweeps over regions: recorded, and simulated on larger machines; docs/scale.md has the results."""
