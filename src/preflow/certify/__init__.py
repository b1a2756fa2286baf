"""Proofs of optimality, linear in time and independent of every solver."""
