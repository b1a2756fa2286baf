"""The instances of each problem, as the contestants read them."""
