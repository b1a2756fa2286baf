from .feasible import CirculationAsMaxFlow, FeasibleFlow, feasible_flow

__all__ = [
    "CirculationAsMaxFlow",
    "FeasibleFlow",
    "feasible_flow",
]
