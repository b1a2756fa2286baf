"""Push-relabel over precoloured arcs on a GPU: gpu-color of Wu, He and Hong.

Wu, He and Hong, "Efficient CUDA Algorithms for the Maximum Network Flow Problem", GPU Computing Gems Jade
Edition (2011), chapter 5, Algorithm 3, with global relabels on the CPU as in its Algorithm 1.

Definitions
-----------
- The arcs of a vertex have different *colours*; an arc and its reverse have the same (edge_coloring.py).
- In a *cycle* every active vertex makes a *choice*: an arc to a lower neighbour, or a relabel. Then the
  colours push one after the other, and last the vertices without a lower neighbour are relabelled.

Invariants
----------
- Two pushes at the same time never touch the same number, so no push needs an atomic operation.
- Heights do not change while vertices choose and push, so no arc ever becomes steep.

Pseudo-code
-----------
::

    colour the arcs on the CPU                                       color_edges
    repeat:
        search exact heights on the CPU, unless the first labels are 0
        if no active vertex can reach the sink: stop
        on the GPU, for `cycles` cycles:                             run_cycles, coloring.cu
            each active vertex pushes to the sink, then chooses
            for each colour that was chosen: push; barrier
            relabel
        bring capacities and excess to the CPU

Where the print is wrong: a lower neighbour is one with height(u) > height(v), not any neighbour. The colour
and the residual capacity are those of the chosen arc. An inactive vertex is idle, a third state beside push
and relabel, and does not push what it chose before.

Departures: terminals are not vertices. So a vertex pushes to the sink first, over an arc that only it
touches, and the hubs that kept the paper from colouring level graphs are gone. Barriers are inside one
cooperative kernel; a colour that no vertex has chosen is then skipped without a barrier. With
``barrier="launch"`` they are launches of kernels, one for each colour, as in the paper and under its name
`gpu-color`, where labels also start with 0. A thread looks only at the choices of its own vertices. A push
takes the excess that is there at the colour's turn, in print what was there at the choice. As no arc becomes
steep, heights are not brought to the CPU and arcs are not cancelled there, as Algorithm 4 does.

Section 5.5 suggests iterations in proportion to the size of a colour and gives no details. With
``weighted`` a colour takes part in every k-th cycle, where k is the size of the largest colour divided by
its own size. A vertex chooses among the arcs whose colours take part and otherwise waits. It is relabelled
only if it has no lower neighbour at all, so labels stay valid; and since every colour's turn comes again,
also across global relabels, no vertex waits for ever.

Section 5.3 discusses barriers inside the GPU: S. Xiao and W. Feng, "Inter-block GPU communication via fast
barrier synchronization" (IPDPS 2010), have one with a counter (``"lock"``) and one with words of each block
(``"lock-free"``), and find them faster than launches only without a fence. Without one a thread may miss what
another wrote before the barrier, so that flow may be lost: ``fence=False`` checks after each launch that none
was.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from time import perf_counter_ns
from typing import Annotated, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ....arrays import AnyArray, Array
from ....cuda import runtime
from ....cuda.launches import count_search, relabel_time
from ....cuda.structs import U32, U64, ConstI64, ConstU32
from ....errors import SolverError
from ....graph.device.residual import DeviceNetwork, from_device, to_device
from ....graph.residual import ResidualArrays
from ....kernels.constants import ZERO
from ....maxflow.levels import active_excess
from ....network import distances_to_sink
from ....solving.options import CheckedOptions, InitialLabels, PositiveInteger
from ....solving.run import Control
from ....stats import ARC_SCANS, PUSHES, RELABELS
from .edge_coloring import color_edges

SOURCE = Path(__file__).with_name("coloring.cu")
#: Greatest number of barriers of one launch, if a cycle has fewer: some 50 ms.
BARRIERS_A_LAUNCH = 20_000
#: Longest period of a colour in cycles: small colours should not keep excess waiting.
LONGEST_PERIOD = 16
#: Where a launch is a barrier, cycles after which the host looks whether any vertex is active.
CYCLES_A_LOOK = 32


@dataclass(frozen=True)
class ColoringOptions(CheckedOptions):
    """Options of push-relabel over precoloured arcs.

    Attributes
    ----------
    cycles : int
        Cycles between two global relabels, the paper's KERNEL_CYCLES, for which it gives no number. The
        default is an estimate: with six colours they take about as long as a global relabel of a million
        vertices.
    weighted : bool
        Let a colour take part in cycles in proportion to its size (section 5.5).
    barrier : {"lock", "lock-free", "launch"}
        How threads wait for each other between two colours (section 5.3): inside a kernel with one counter
        for all blocks, or with words of each block, or by the end of a kernel.
    fence : bool
        Whether a thread sees after a barrier inside a kernel what others wrote before. False is for
        measurements: the solve ends with an error if flow is lost.
    initial_labels : {"exact", "zero"}
        Start with a search, or with label 0 on all vertices, as the paper does.
    """

    cycles: PositiveInteger = 2000
    weighted: bool = False
    barrier: Literal["lock", "lock-free", "launch"] = "lock"
    fence: bool = True
    initial_labels: InitialLabels = "exact"


class ColoringState(NamedTuple):
    """The state of the kernel's loop between two launches."""

    cycle: int = 0  #: cycles so far
    has_active: int = 0  #: whether any vertex was active in the last one
    next_look: int = 0  #: of the first thread, whether to stop
    barriers: int = 0  #: so far


class Arguments(NamedTuple):
    """Arguments of "coloring_slice"."""

    net: DeviceNetwork
    height: U32
    color: Annotated[AnyArray, "const u16*"]  #: of each residual arc
    period: ConstU32  #: of each colour: it takes part in every period-th cycle
    num_colors: int
    choices: U64  #: the k-th of a thread is at thread + k * num_threads
    wanted: U32  #: the last cycle, from 1, in which a vertex chose each colour; then, in which one was active
    arrivals: U32  #: two words of the grid, and two of each block
    num_choices: U32  #: of each thread, between two launches of a cycle
    state: U64
    counts: U64
    cycles: int  #: of this launch, at least 1
    turn: int  #: of this launch, if a launch is a part of a cycle
    stop: ConstI64


def color_periods(sizes: NDArray[np.int64], weighted: bool) -> NDArray[np.uint32]:
    """Return the period of each colour: it takes part in every k-th cycle."""
    if not weighted:
        return np.ones(len(sizes), dtype=np.uint32)
    periods: NDArray[np.int64] = np.minimum(sizes.max(initial=0) // sizes, LONGEST_PERIOD)
    return periods.astype(np.uint32)


def run_cycles(
    device: runtime.Device, arguments: Arguments, options: ColoringOptions, control: Control
) -> None:
    """Push and relabel for `options.cycles` cycles, or until no vertex is active or the solve is to stop."""
    macros = (("LOCK_FREE", int(options.barrier == "lock-free")), ("FENCE", int(options.fence)))
    colors, cycles = arguments.num_colors, options.cycles
    blocks = device.num_multiprocessors
    if options.barrier == "launch":
        blocks = max(1, -(-arguments.net.num_vertices // device.block_threads))
        cycle = device.recorded(
            [
                device.bind(
                    SOURCE,
                    "coloring_turn",
                    blocks,
                    device.block_threads,
                    arguments._replace(turn=turn),
                    constants=macros,
                )
                for turn in (colors, *range(colors), colors + 1)
            ]
        )
    while cycles > 0 and not control.stopped:
        launched = min(cycles, max(1, BARRIERS_A_LAUNCH // (colors + 2)))
        if options.barrier == "launch":
            launched = min(launched, CYCLES_A_LOOK)
            for _ in range(launched):
                cycle()
        else:
            arguments.arrivals[:] = 0
            device.launch(
                SOURCE,
                "coloring_slice",
                blocks,
                device.block_threads,
                arguments._replace(cycles=launched),
                constants=macros,
                cooperative=True,
            )
        cycles -= launched
        state = ColoringState._make(device.to_host(arguments.state))
        control.counts[[PUSHES, RELABELS, ARC_SCANS]] = device.to_host(arguments.counts)
        if not state.has_active:
            return


def check_flow(net: ResidualArrays, begun: ResidualArrays) -> None:
    """Raise SolverError unless the capacities and excesses of `net` are those of a preflow after `begun`."""
    sent = begun.residual.astype(np.int64) - net.residual
    total = np.concatenate(([0], np.cumsum(sent)))
    left = total[net.first_out[1:]] - total[net.first_out[:-1]] + begun.sink_residual - net.sink_residual
    if (
        (sent + sent[net.reverse]).any()
        or (net.excess + left != begun.excess).any()
        or min(net.residual.min(initial=0), net.excess.min(initial=0), net.sink_residual.min(initial=0)) < 0
    ):
        raise SolverError("barriers without fences lost flow: leave out fence=False")


def solve(net: ResidualArrays, options: ColoringOptions, control: Control) -> Array:
    """Run the first stage on the GPU, in place, with global relabels on the CPU; return exact heights.

    O(n^2 m) operations; on the device 18 bytes an arc and 32 a vertex. InvalidInputError if the maximum
    degree is too large for a colouring.
    """
    device = runtime.find_device()
    began = perf_counter_ns()
    coloring = color_edges(net)
    num_colors = len(coloring.sizes)
    seconds = 1e-9 * (perf_counter_ns() - began)
    control.remarks.append(f"arcs in {num_colors} colours, which took {seconds:.2g} s of the solve")
    on_device = to_device(device, net)
    xp, n = device.xp, len(net.excess)
    height = np.full(n, n + 1, dtype=np.uint32)
    order = np.empty(n, dtype=np.uint32)
    arguments = Arguments(
        net=on_device,
        height=xp.empty(n, dtype=np.uint32),
        color=xp.asarray(coloring.color.astype(np.uint16, copy=False)),
        period=xp.asarray(color_periods(coloring.sizes, options.weighted)),
        num_colors=num_colors,
        choices=xp.empty(n, dtype=np.uint64),
        wanted=xp.zeros(num_colors + 1, dtype=np.uint32),
        arrivals=xp.zeros(2 + 2 * device.num_multiprocessors, dtype=np.uint32),
        num_choices=xp.empty(n + device.block_threads, dtype=np.uint32),
        state=xp.asarray(ColoringState(), dtype=np.uint64),
        counts=xp.zeros(3, dtype=np.uint64),
        cycles=0,
        turn=0,
        stop=device.stop_word(control),
    )
    begun = None if options.fence else ResidualArrays(*(array.copy() for array in net))
    control.progress[:] = net.excess.sum(dtype=np.float64)
    arguments.height[:] = 0
    searches = options.initial_labels == "exact"
    reached = ZERO
    while True:
        if searches:
            with relabel_time(control):
                reached, _ = distances_to_sink(net, height, order, reached, ZERO, ZERO, False)
                control.progress[0] = active_excess(order, reached, net.excess)
                arguments.height[:] = xp.asarray(height)
            count_search(control, "cuda-coloring")
            if control.stopped or control.progress[0] == 0:
                state = ColoringState._make(device.to_host(arguments.state))
                control.remarks.append(f"{state.barriers:,} barriers")
                return height
        searches = True
        run_cycles(device, arguments, options, control)
        with relabel_time(control):
            from_device(device, on_device, net)
            if begun is not None:
                check_flow(net, begun)
