"""All drivers by name."""

from __future__ import annotations

from . import (
    assignments,
    connectivity,
    containers,
    corruption,
    costflows,
    energies,
    flows,
    general,
    grids,
    interruption,
    large,
    matchings,
    paths,
    readers,
    transports,
)
from .harness import Driver

MODULES = (
    flows, connectivity, grids, matchings, general, assignments, costflows, paths, transports, energies,
    containers, readers, corruption, interruption, large,
)  # fmt: skip
DRIVERS: dict[str, Driver] = {driver.name: driver for module in MODULES for driver in module.DRIVERS}
