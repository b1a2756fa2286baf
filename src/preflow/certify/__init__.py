"""Proofs of optimality, mostly linear in time and independent of every solver."""
