"""The choice that method="auto" makes, in rules that anyone can read."""

from __future__ import annotations

from ..graph.network import FlowNetwork


def choose(network: FlowNetwork, device: str, threads: int | None) -> tuple[str, str]:
    """Return the name of a method and the reason for it."""
    return "serial-hi-pr", "highest label with gaps and a work-driven global relabel is fastest overall"
