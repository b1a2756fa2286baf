"""Push-relabel for bipartite matching, with a first-in-first-out queue of active rows.

Deveci, Kaya, Uçar and Çatalyürek, "A push-relabel-based maximum cardinality bipartite matching algorithm on
GPUs" (2013), Algorithms 1 and 2; Goldberg and Kennedy (1997); Kaya, Langguth, Manne and Uçar (2013).

Definitions. A row is *active* if it is free and has edges, unless it was given up. The *label* of a column is
a lower bound on the number of further columns on every alternating path from it to a free column; a free
column has label 0. A *push* matches an active row with its column of lowest label, and makes the row that had
this column active. A column is *dead* if its label, num_columns + 1, says that no alternating path leads to a
free column. A *gap* is a label that no column has, although some columns have larger ones; these are dead.

Invariants:

- Labels never fall, free columns have label 0.
- The label of a matched column is at most one more than the label of any other column of its row.
- A row is active, matched, or given up because all of its columns are dead.

Departures:

- Rows are active and push to columns, since matrices are stored by rows. The label of a row would be one more
  than the lowest label among its columns, so only columns have labels.
- A push sets the label of the column to one more than the *second* lowest label among the columns of its new
  row. This is the largest valid label (the double push of Goldberg and Kennedy). The paper raises the label
  by 2, which is one more than the lowest label here, since only columns have labels.
- Algorithm 1 as printed is ``side="columns"``, ``double_push=False``, ``gap=False``: active columns push to
  rows, labels rise by 2 in the paper's count, there are no gaps.
- ``initial_labels="one"`` starts without a global relabel. After a good initial matching, labels then stay
  low (3.7 on average and 8 at most on a Delaunay graph of a million vertices), chains of pushes stay short,
  and most solves need no transposed graph. A global relabel makes all labels exact distances. Rows that
  compete for the same free column then have to raise the labels of all columns around it.
- ``stalled="trees"`` matches the last rows by the alternating trees of :mod:`.multicore_multi_source_bfs`.
  They are faster where pushes take long, as on permuted tridiagonal matrices.
- Pushes write the row of each column only. The column of each row is filled in when a phase of pushes ends.

Pseudo-code::

    queue = active rows
    labels: exact distances (global relabel), or 0 for free and 1 for matched columns
    while there are active rows:
        repeat until no row is active, or k (rows + columns) pushes are made, or pushes have stalled:
            take the first row r of the queue
            find its columns with the lowest and the second lowest label
            if the lowest is dead: give r up
            push r to the lowest column c; queue the row that had c
            label of c = label of the second lowest + 1, or 1 if c was free
            if no column has the old label of c now: columns with larger labels are dead
        global relabel, or match the last rows by trees

k is the option `relabel_period`. Without `double_push` the label of c is the lowest label + 1. With
``side="columns"`` the roles of rows and columns are exchanged.
"""

from __future__ import annotations

from ..graph.bipartite import BipartiteGraph
from ..solving.run import Control
from .match_arrays import Matching
from .push_relabel import PushRelabelOptions, push_rows


def solve(graph: BipartiteGraph, matching: Matching, options: PushRelabelOptions, control: Control) -> bool:
    """Make a matching maximum, in place: see :func:`.push_relabel.push_rows`."""
    return push_rows(graph, matching, options, control)
