"""The rules of method="auto": the first of these rows that holds counts."""

from __future__ import annotations

from typing import NamedTuple

from ..certify.transport import TransportCosts
from ..cuda.runtime import Device
from ..graph.costs import DenseCosts, SparseCosts
from ..graph.device.costs import DeviceCosts
from ..graph.point_costs import PointCosts
from ..solving.plan import Attempt, Plan, Rule, decide

#: From this many pairs on, a GPU is worth copying dense costs to it.
PAIRS_FOR_GPU = 4_000_000
#: The same where the process has not used the GPU yet.
PAIRS_FOR_FIRST_USE = 100_000_000
#: Up to this many stored pairs of an item all are listed at once. On one core of an EPYC, items of 16 x 16,
#: 64 x 64, 128 x 128 and 200 x 200 random costs and masses took 0.61, 0.86, 1.5 and 2.9 ms, and 0.68, 1.4,
#: 1.9 and 2.9 ms where each row lists 20 first.
FEW_PAIRS = 2**14
#: From this number of stored pairs of an item on, smoothed prices before the simplex pay. On one core of an
#: EPYC, random costs of 700 x 700, 1000 x 1000 and 2000 x 2000 pairs took 15, 25 and 68 ms, network simplex
#: 14, 22 and 90 ms; squared distances 16, 26 and 86 ms, network simplex 18, 40 and 131 ms.
MANY_PAIRS = 1_000_000
#: The same where one side is SKINNY times as long as the other, or more. On one core of a Xeon, 23000 x 10,
#: 4000 x 40 and 8000 x 10 pairs took 0.18, 0.016 and 0.045 s, network simplex 0.42, 0.037 and 0.04 s.
SKINNY, MANY_PAIRS_OF_SKINNY = 20, 100_000
#: The same of pairs of points, whose costs each step of smoothing computes, with MANY_THREADS threads, and
#: with fewer.
MANY_PAIRS_OF_POINTS, MANY_THREADS = 4_000_000, 4
MANY_PAIRS_ALONE = 64_000_000


def worth_a_gpu(costs: TransportCosts, threads: int, in_use: bool) -> bool:
    """Whether costs on the host have enough pairs for a GPU that the process uses already, or not yet."""
    items, n, m = costs.shape
    if isinstance(costs, SparseCosts):
        return False
    return items * n * m >= (PAIRS_FOR_GPU if in_use else PAIRS_FOR_FIRST_USE)


class Features(NamedTuple):
    """The features of costs that rules ask for."""

    costs: TransportCosts
    device: str
    threads: int
    gpu: Device | None

    @property
    def rows(self) -> int:
        """The number of rows."""
        return self.costs.shape[1]

    @property
    def columns(self) -> int:
        """The number of columns."""
        return self.costs.shape[2]

    @property
    def few_pairs(self) -> bool:
        """Whether a search for pairs of small reduced cost takes longer than it saves."""
        return isinstance(self.costs, DenseCosts) and self.rows * self.columns <= FEW_PAIRS

    @property
    def many_pairs(self) -> bool:
        """Whether there are enough pairs of rows and columns for smoothed prices."""
        n, m = self.rows, self.columns
        enough = MANY_PAIRS_OF_SKINNY if max(n, m) >= SKINNY * min(n, m) else MANY_PAIRS
        if isinstance(self.costs, PointCosts):
            enough = MANY_PAIRS_OF_POINTS if self.threads >= MANY_THREADS else MANY_PAIRS_ALONE
        return n * m >= enough and not isinstance(self.costs, SparseCosts)


ON_GPU = (Attempt("cuda-transport"),)

RULES: tuple[Rule[Features], ...] = (
    Rule(lambda it: it.device == "cuda", ON_GPU, "device='cuda': the method on a GPU"),
    Rule(
        lambda it: it.device == "auto" and isinstance(it.costs, DeviceCosts),
        ON_GPU,
        "the costs are on a GPU",
    ),
    Rule(
        lambda it: it.gpu is not None,
        ON_GPU,
        "the costs are enough work for the GPU, transfers included",
    ),
    Rule(
        lambda it: it.few_pairs,
        (Attempt("serial-network-simplex", {"listed": FEW_PAIRS}),),
        "network simplex on all pairs: {it.rows:,} x {it.columns:,} are few",
    ),
    Rule(
        lambda it: it.many_pairs,
        (Attempt("multicore-network-simplex"),),
        "a start by smoothed prices pays for {it.rows:,} x {it.columns:,} pairs",
    ),
    Rule(
        lambda it: True,
        (Attempt("serial-network-simplex"),),
        "network simplex on the pairs of small reduced cost is fastest",
    ),
)


def choose(costs: TransportCosts, device: str = "auto", threads: int = 1, gpu: Device | None = None) -> Plan:
    """Return the plan for costs: see :class:`preflow.solving.protocol.Chooser`."""
    return decide(RULES, Features(costs, device, threads, gpu))
