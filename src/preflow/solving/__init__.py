"""Pieces that all problems share: registry record, choice of a method, interruptible run, results."""
