"""The maximum-flow solvers by name: data only, so that importing it loads no solver."""

from __future__ import annotations

from ..solving.method import Method

CHERKASSKY_GOLDBERG = "Cherkassky and Goldberg 1997; Cihan 2010, table 2.1"
HI_PR = "Goldberg's HI_PR codes; Cihan 2010, section 5.2.2"

METHODS = (
    Method(
        "serial-generic",
        "maxflow.serial_generic",
        "GenericOptions",
        "the textbook method: any active vertex, no heuristics",
        "Goldberg and Tarjan 1988; Cihan 2010, figure 2.3",
        aliases=("generic",),
    ),
    Method(
        "serial-fifo",
        "maxflow.serial_fifo",
        "FifoOptions",
        "first in first out, global relabel every n relabels",
        CHERKASSKY_GOLDBERG,
        aliases=("F_PRF",),
    ),
    Method(
        "serial-fifo-gap",
        "maxflow.serial_fifo",
        "FifoOptions",
        "serial-fifo with gap relabeling",
        CHERKASSKY_GOLDBERG,
        preset={"gap": True},
        aliases=("Q_PRF",),
    ),
    Method(
        "multicore-fifo",
        "maxflow.multicore_fifo",
        "MulticoreFifoOptions",
        "serial-fifo with a queue a thread, work given to idle threads, a parallel global relabel",
        "Cihan 2010, chapter 4",
        parallel=True,
        aliases=("Cihan",),
    ),
    Method(
        "multicore-anderson-setubal",
        "maxflow.multicore_anderson_setubal",
        "AndersonSetubalOptions",
        "a shared queue, a lock a vertex, a global relabel while the others go on",
        "Anderson and Setubal 1992; Cihan 2010, chapter 3",
        parallel=True,
    ),
    Method(
        "serial-highest-label",
        "maxflow.serial_highest_label",
        "HighestLabelOptions",
        "highest label first, global relabel every n relabels",
        CHERKASSKY_GOLDBERG,
        preset={"gap": False, "relabel_rule": "relabels", "drain": False, "path_length": 1},
        aliases=("M_PRF",),
    ),
    Method(
        "serial-highest-label-gap",
        "maxflow.serial_highest_label",
        "HighestLabelOptions",
        "serial-highest-label with gap relabeling",
        CHERKASSKY_GOLDBERG,
        preset={"relabel_rule": "relabels", "drain": False, "path_length": 1},
        aliases=("H_PRF",),
    ),
    Method(
        "serial-hi-pr",
        "maxflow.serial_highest_label",
        "HighestLabelOptions",
        "highest label, gap, global relabel every 6n+m work, pushes along paths",
        HI_PR,
        aliases=("HI_PR",),
    ),
    Method(
        "serial-hi-pro",
        "maxflow.serial_highest_label",
        "HighestLabelOptions",
        "serial-hi-pr that starts with height 1 everywhere instead of a global relabel",
        HI_PR,
        preset={"initial_labels": "one"},
        aliases=("HI_PRO",),
    ),
    Method(
        "serial-hi-prw",
        "maxflow.serial_highest_label",
        "HighestLabelOptions",
        "serial-hi-pr that starts with a wave of pushes before the first relabel",
        HI_PR,
        preset={"initial_wave": True},
        aliases=("HI_PRW",),
    ),
    Method(
        "multicore-synchronous",
        "maxflow.multicore_synchronous",
        "SynchronousOptions",
        "rounds against frozen labels, few active vertices in one thread",
        "Goldberg and Tarjan 1988; Baumstark, Blelloch and Shun 2015",
        parallel=True,
        aliases=("pulses",),
    ),
    Method(
        "multicore-partitioned",
        "maxflow.multicore_partitioned",
        "PartitionedOptions",
        "every thread runs highest label on vertices of its own, along paths",
        "preflow; Delong and Boykov 2008; Goldberg 2008; Hong 2008",
        parallel=True,
    ),
)
