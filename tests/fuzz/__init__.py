"""Random and hostile inputs for every part of preflow, from one seed: see README.md."""
