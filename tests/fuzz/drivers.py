"""All drivers by name."""

from __future__ import annotations

from importlib import import_module

from tests.support.problems import SAMPLES

from . import connectivity, containers, corruption, energies, interruption, large, paths, readers
from .harness import Driver

#: The module with the drivers of each problem, and those with others.
OF_PROBLEMS = {name: import_module(f"tests.fuzz.{sample.fuzz}") for name, sample in SAMPLES.items()}
OTHERS = (connectivity, paths, energies, containers, readers, corruption, interruption, large)
MODULES = (*OF_PROBLEMS.values(), *OTHERS)
DRIVERS: dict[str, Driver] = {driver.name: driver for module in MODULES for driver in module.DRIVERS}
