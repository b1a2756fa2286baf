"""Maximum-cardinality matching in general graphs on many cores: each tree is grown by one thread.

Edmonds 1965; Gabow 1976 for the links that blossoms leave behind (:mod:`.links`). Threads grow trees from
different free vertices at the same time and take vertices by compare-and-swap, as in the disjoint searches of
Azad, Halappanavar, Rajamanickam, Boman, Khan and Pothen for bipartite graphs (IPDPS 2012). Schwing, Grosu and
Schwiebert, "Parallel maximum cardinality matching for general graphs on GPUs", IPDPSW 2024, go another way:
they run the phases of Micali and Vazirani in parallel. Departures from disjoint searches:

- Trees stay from round to round, as in :mod:`.serial_blossom`: two trees that meet are augmented, and the
  others go on. Odd vertices of other trees stop no search.
- Where trees meet, nothing is searched again. One vertex of each is known, and both paths follow from links.
- The last tree with work left is held, as in :mod:`.serial_blossom`: one thread alone would grow it.

Definitions. Even and odd vertices, blossoms and bases are those of :mod:`.serial_blossom`. In a *round* each
tree with work left is grown by one thread, until it has scanned as many edges as the round allows, or until
it *meets* another tree: an edge leads to an even vertex of that tree. The *word* of a vertex has the root of
its tree, and in the two lowest bits its label; it is 0 outside. Of two partners, the one with the smaller
number is the *guard*.

Invariants:

1. While trees grow, the matching does not change. A word leaves 0 by a compare-and-swap of the guard's word
   alone; the thread that succeeds sets the word of the partner. So two partners are in the same tree.
2. All else of a tree's vertices is read and written by the thread that grows the tree. Other threads read
   words only.
3. While paths are augmented, words change only where a tree vanishes, and a thread that augments owns both
   trees: it has made their roots GONE by two compare-and-swaps, the smaller root first. Of the threads that
   try, at least one succeeds: one that fails has met a smaller pair or a root that another thread keeps.
4. When a tree vanishes, each of its vertices that is next to an even vertex of a tree that stays is listed
   there, and this tree is grown in the next round.

When no tree has work left, no edge should join an even vertex, other than the held root, to another tree or
to a vertex outside; :mod:`.serial_blossom` says why the matching is then a largest one. All threads together
check that. Words of two trees may pass each other between cores that have not seen each other's; should an
edge be left for this reason, the method gives up, and the search on one thread goes on from the matching.

Pseudo-code, of each thread::

    plant a tree at each free vertex that is not decided               plant
    while trees have work left:                                        run_rounds
        if only one has, and none is held: hold it                     hold
        otherwise, while the thread can take a tree:                   grow_tree
            let it reach the vertices that are listed there            reach_listed
            for each waiting vertex u, each neighbour v:
                v is outside: take v and its partner                   take, grow
                v is even, in another group of the same tree: shrink   shrink
                v is even, in another tree: stop, the trees meet
            if the edges of this round are used up: stop
        barrier
        for each tree of this thread that met another one:
            if the thread can take both: augment, both vanish          augment_trees
        barrier
        for each vertex of the trees that vanished:
            list it at a tree that is next to it and not held          list_again
        list the trees with work left; barrier
    check the edges of all even vertices                               check_even

Time: O(n m) at worst. Memory beside the graph: 76 bytes a vertex, and 8 bytes a vertex and thread for nested
blossoms, of which only those in use are touched.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..arrays import Indices
from ..graph.undirected import Neighbours
from ..kernels.atomics import compare_exchange, exchange, load, relaxed_load, relaxed_store
from ..kernels.constants import ONE, TWO, ZERO
from ..kernels.kernel import kernel
from ..parallel.barrier import wait
from ..parallel.delays import delay
from ..parallel.rounds import (
    Round,
    Rounds,
    append_item,
    end_round,
    make_rounds,
    should_stop,
    start_round,
    take_items,
)
from ..parallel.thread_pool import run_solver, share_of
from ..solving.run import Control, GaveUp
from ..stats import ARC_SCANS, AUGMENTATIONS, PHASES
from .initial import InitialOptions, first_matching
from .links import NONE, Links, common_base, link_root, rematch, top
from .solution import GeneralState, Partners, partners

#: Labels, the two lowest bits of a word; as in :mod:`.links`.
OUTSIDE, EVEN, ODD = ZERO, ONE, TWO
LABEL = np.uint64(3)
#: States of a root: no thread has listed it for the next round, one has, its tree has vanished.
UNLISTED, LISTED, GONE = ZERO, ONE, TWO
#: Edges that a tree scans in the first round; twice as many in each later one, MOST_DOUBLINGS times. So trees
#: grow at about the same speed, as those of one queue do.
FEWEST = np.uint64(64)
MOST_DOUBLINGS = np.uint64(40)
#: The number of a search for a base has the thread in the upper bits.
SEARCH_BITS = 48


class Forest(NamedTuple):
    """The state that all threads share, besides the graph and the links. Shape (n,), but for `roots`."""

    rounds: Rounds  #: the items of a round are roots of trees with work left
    #: uint32: four times the root, plus the label; 0 outside. Of a decided vertex, itself instead of the
    #: root.
    word: Indices
    state: Indices  #: uint32: of a root: UNLISTED, LISTED or GONE
    #: uint32: the next vertex of the same tree, a list that begins with the root; of a root, the last one
    member: Indices
    last: Indices
    #: uint32: the next waiting vertex; of a root, the first and the last one. When the tree has vanished,
    #: `front` of its root leads to another tree that the same thread let vanish.
    after: Indices
    front: Indices
    back: Indices
    arc: Indices  #: of a root: where the scan of the first waiting vertex goes on
    #: uint32: of a root: the vertex of another tree that it met. Of a vertex that is listed at a tree: the
    #: next one.
    met: Indices
    #: uint32: of a root: the first vertex that its tree is to reach again; `near` of that vertex says from
    #: where
    listed: Indices
    #: uint32: of a root that was grown and has work left: the next one of the same thread
    kept: Indices
    #: uint32, shape (2 n,): the trees of this round in one half, those of the next one in the other
    roots: Indices


def new_forest(graph: Neighbours, control: Control) -> Forest:
    """Return the state before the trees are planted."""
    n = len(graph.first) - 1

    def unset() -> Indices:
        return np.empty(n, dtype=np.uint32)

    return Forest(
        rounds=make_rounds(control, np.uint32),
        word=unset(),
        state=np.zeros(n, dtype=np.uint32),
        member=unset(),
        last=unset(),
        after=unset(),
        front=unset(),
        back=unset(),
        arc=np.empty(n, dtype=graph.first.dtype),
        met=unset(),
        listed=unset(),
        kept=unset(),
        roots=np.empty(2 * n, dtype=np.uint32),
    )


def new_thread_links(mate: Indices, threads: int) -> list[Links]:
    """Return the links for each thread: a stack and numbers of searches of its own, the rest shared."""
    n = len(mate)
    near, far, group = (np.empty(n, dtype=np.uint32) for _ in range(3))
    seen = np.empty(n, dtype=np.uint64)
    return [
        Links(
            mate=mate,
            near=near,
            far=far,
            group=group,
            seen=seen,
            searches=np.array([thread << SEARCH_BITS], dtype=np.uint64),
            stack=np.empty(2 * n + 2, dtype=np.uint32),
        )
        for thread in range(threads)
    ]


@kernel
def plant(
    graph: Neighbours, links: Links, label: NDArray[np.uint8], forest: Forest, thread: np.uint64
) -> tuple[bool, np.uint64]:
    """Make each free vertex outside a root; return whether to go on, and how many have edges. Collective."""
    rounds = forest.rounds
    current = Round(thread, ZERO, ZERO)
    waiting = ZERO
    v, end = share_of(np.uint64(len(links.mate)), thread, rounds.num_threads)
    while v < end:
        decided = np.uint64(label[v])
        forest.word[v] = ZERO if decided == OUTSIDE else v << TWO | decided
        if decided == OUTSIDE and np.uint64(links.mate[v]) == NONE:
            link_root(links, v)
            links.group[v] = v
            links.seen[v] = ZERO
            forest.word[v] = v << TWO | EVEN
            forest.member[v] = NONE
            forest.last[v] = v
            forest.after[v] = NONE
            forest.front[v] = v
            forest.back[v] = v
            forest.arc[v] = graph.first[v]
            forest.listed[v] = NONE
            if graph.first[v] < graph.first[v + ONE]:
                forest.state[v] = LISTED
                waiting = append_item(rounds, current, forest.roots, waiting, v)
        v += ONE
    go_on, size, _ = end_round(rounds, current, forest.roots, waiting, ZERO)
    return go_on, size


@kernel
def put(graph: Neighbours, forest: Forest, root: np.uint64, v: np.uint64) -> None:
    """Let an even vertex wait."""
    forest.after[v] = NONE
    if np.uint64(forest.front[root]) == NONE:
        forest.front[root] = v
        forest.arc[root] = graph.first[v]
    else:
        forest.after[forest.back[root]] = v
    forest.back[root] = v


@kernel
def take(links: Links, forest: Forest, root: np.uint64, v: np.uint64) -> bool:
    """Take v as odd and its partner as even into a tree, unless another tree has them; return whether."""
    partner = np.uint64(links.mate[v])
    guard = min(v, partner)  # mutant: each-vertex-guards-itself
    odd, even = root << TWO | ODD, root << TWO | EVEN
    if not compare_exchange(forest.word, guard, OUTSIDE, odd if guard == v else even):
        return False
    # An exchange, so that this thread reads the words of neighbours after others can read this one.
    if guard == v:
        exchange(forest.word, partner, even)
    else:
        relaxed_store(forest.word, v, odd)
    return True


@kernel
def grow(
    graph: Neighbours, links: Links, forest: Forest, root: np.uint64, u: np.uint64, v: np.uint64
) -> None:
    """Add v and its partner, which the tree has taken, below its even vertex u; the partner waits."""
    partner = np.uint64(links.mate[v])
    links.near[partner] = u
    links.far[partner] = NONE
    links.group[v] = v
    links.group[partner] = partner
    links.seen[v] = ZERO
    links.seen[partner] = ZERO
    forest.member[forest.last[root]] = v
    forest.member[v] = partner
    forest.member[partner] = NONE
    forest.last[root] = partner
    put(graph, forest, root, partner)


@kernel
def reach_listed(graph: Neighbours, links: Links, forest: Forest, root: np.uint64) -> None:
    """Let a tree reach the vertices that were listed there, but for those that another tree has taken."""
    v = np.uint64(forest.listed[root])
    forest.listed[root] = NONE
    while v != NONE:
        if take(links, forest, root, v):
            grow(graph, links, forest, root, np.uint64(links.near[v]), v)
        v = np.uint64(forest.met[v])


@kernel
def shrink(
    graph: Neighbours, links: Links, forest: Forest, root: np.uint64, u: np.uint64, v: np.uint64
) -> None:
    """Make a blossom of the cycle that the edge between two even vertices closes in their tree."""
    base = common_base(links, u, v)
    for _ in range(2):
        x = top(links.group, u)
        while x != base:
            odd = np.uint64(links.mate[x])
            links.near[odd] = u
            links.far[odd] = v
            links.group[x] = base
            links.group[odd] = base
            exchange(forest.word, odd, root << TWO | EVEN)
            put(graph, forest, root, odd)
            x = top(links.group, np.uint64(links.near[x]))
        u, v = v, u


@kernel
def grow_tree(
    graph: Neighbours, links: Links, forest: Forest, root: np.uint64, most: np.uint64, thread: np.uint64
) -> bool:
    """Grow a tree until it meets another one, ends, or has scanned `most` edges; whether work is left."""
    forest.state[root] = UNLISTED
    forest.met[root] = NONE
    reach_listed(graph, links, forest, root)
    scans = ZERO
    u = np.uint64(forest.front[root])
    while u != NONE and scans < most and not should_stop(forest.rounds):
        begin, end = np.uint64(forest.arc[root]), np.uint64(graph.first[u + ONE])
        arc = begin
        while arc < end:
            v = np.uint64(graph.neighbour[arc])
            word = np.uint64(load(forest.word, v))
            label = word & LABEL
            if label == OUTSIDE:
                if take(links, forest, root, v):
                    grow(graph, links, forest, root, u, v)
            elif label == EVEN:
                if word >> TWO != root:
                    forest.met[root] = v
                    break
                if top(links.group, u) != top(links.group, v):
                    shrink(graph, links, forest, root, u, v)
            arc += ONE
        scans += arc - begin
        if arc < end:
            forest.arc[root] = arc
            break
        u = np.uint64(forest.after[u])
        forest.front[root] = u
        if u != NONE:
            forest.arc[root] = graph.first[u]
        delay(forest.rounds.delays, thread)
    forest.rounds.counts[thread, ARC_SCANS] += scans
    return bool(u != NONE)


@kernel
def take_both(forest: Forest, root: np.uint64, other: np.uint64) -> bool:
    """Let two trees vanish, unless another thread has let one of them vanish; return whether."""
    low, high = min(root, other), max(root, other)
    if not compare_exchange(forest.state, low, UNLISTED, GONE):
        return False
    if not compare_exchange(forest.state, high, UNLISTED, GONE):  # mutant: takes-the-second-tree-unasked
        relaxed_store(forest.state, low, UNLISTED)
        return False
    return True


@kernel
def clear(forest: Forest, root: np.uint64) -> None:
    """Set the words of a tree's vertices to 0."""
    v = root
    while v != NONE:
        relaxed_store(forest.word, v, OUTSIDE)
        v = np.uint64(forest.member[v])


@kernel
def augment_trees(
    links: Links, forest: Forest, kept: np.uint64, thread: np.uint64
) -> tuple[np.uint64, np.uint64]:
    """Augment between the trees in `kept` and those that they met.

    Return the first root in the list of trees that vanished, NONE for none, and the number of paths.
    """
    gone, augmented = NONE, ZERO
    root = kept
    while root != NONE:
        v = np.uint64(forest.met[root])
        if v != NONE:
            word = np.uint64(relaxed_load(forest.word, v))
            other = word >> TWO
            delay(forest.rounds.delays, thread)
            if word != OUTSIDE and take_both(forest, root, other):
                u = np.uint64(forest.front[root])
                rematch(links, u, v, NONE)
                rematch(links, v, u, NONE)
                clear(forest, root)
                clear(forest, other)
                forest.front[root] = gone
                forest.front[other] = root
                gone = other
                augmented += ONE
        root = np.uint64(forest.kept[root])
    return gone, augmented


@kernel
def list_vertex(forest: Forest, root: np.uint64, v: np.uint64) -> None:
    """List a vertex at a tree, which other threads may do at the same time."""
    while True:
        first = np.uint64(relaxed_load(forest.listed, root))
        forest.met[v] = first
        if compare_exchange(forest.listed, root, first, v):
            return


@kernel
def list_root(forest: Forest, current: Round, waiting: np.uint64, root: np.uint64) -> np.uint64:
    """List a tree for the next round, once; return the number of items in the thread's buffer."""
    if not compare_exchange(forest.state, root, UNLISTED, LISTED):
        return waiting
    return append_item(forest.rounds, current, forest.roots, waiting, root)


@kernel
def hold(graph: Neighbours, links: Links, forest: Forest, root: np.uint64) -> np.uint64:
    """Let all of a tree vanish but its root; return the first of these vertices, NONE for none."""
    forest.state[root] = UNLISTED
    reach_listed(graph, links, forest, root)
    clear(forest, root)
    relaxed_store(forest.word, root, root << TWO | EVEN)
    gone = np.uint64(forest.member[root])
    if gone != NONE:
        forest.front[gone] = NONE
    forest.member[root] = NONE
    forest.last[root] = root
    forest.front[root] = NONE
    return gone


@kernel
def list_again(
    graph: Neighbours,
    links: Links,
    forest: Forest,
    current: Round,
    waiting: np.uint64,
    gone: np.uint64,
    held: np.uint64,
) -> np.uint64:
    """List the vertices of trees that vanished at trees next to them but the held one; list these trees."""
    scans = ZERO
    while gone != NONE:
        following = np.uint64(forest.front[gone])
        v = gone
        while v != NONE:
            begin, end = np.uint64(graph.first[v]), np.uint64(graph.first[v + ONE])
            arc = begin
            while arc < end:
                u = np.uint64(graph.neighbour[arc])
                arc += ONE
                word = np.uint64(relaxed_load(forest.word, u))
                if word & LABEL == EVEN and word >> TWO != held:
                    links.near[v] = u
                    list_vertex(forest, word >> TWO, v)
                    waiting = list_root(forest, current, waiting, word >> TWO)
                    break
            scans += arc - begin
            v = np.uint64(forest.member[v])
        gone = following
    forest.rounds.counts[current.thread, ARC_SCANS] += scans
    return waiting


@kernel
def run_rounds(
    graph: Neighbours, links: Links, label: NDArray[np.uint8], forest: Forest, thread: np.uint64
) -> tuple[bool, np.uint64]:
    """Grow trees and augment until no tree has work left, one thread's share.

    Return False if stopped before, and the root of the last tree that was held, NONE for none.
    """
    rounds = forest.rounds
    n = np.uint64(len(links.mate))
    go_on, size = plant(graph, links, label, forest, thread)
    number, base, held = ONE, ZERO, NONE
    while go_on and size > ZERO:
        current = start_round(rounds, thread, number, n - base)
        most = FEWEST << min(number, MOST_DOUBLINGS)
        kept, vanished = NONE, NONE
        if size == ONE and (held == NONE or np.uint64(relaxed_load(forest.state, held)) == GONE):
            held = np.uint64(forest.roots[base])
            size = ZERO  # mutant: grows-the-tree-that-is-held
            if thread == ZERO:
                vanished = hold(graph, links, forest, held)
        # Grow the trees that this thread takes.
        k, end = take_items(rounds, current, size)
        while k < end and not should_stop(rounds):
            root = np.uint64(forest.roots[base + k])
            k += ONE
            if grow_tree(graph, links, forest, root, most, thread):
                forest.kept[root] = kept
                kept = root
            if k == end:
                k, end = take_items(rounds, current, size)
        if not wait(rounds.barrier, rounds.num_threads):  # mutant: augments-while-trees-grow
            return False, held
        gone, augmented = augment_trees(links, forest, kept, thread)
        if not wait(rounds.barrier, rounds.num_threads):
            return False, held
        # List what trees are to reach again, and the trees with work left.
        waiting = list_again(graph, links, forest, current, ZERO, gone, held)
        waiting = list_again(graph, links, forest, current, waiting, vanished, held)
        while kept != NONE:
            waiting = list_root(forest, current, waiting, kept)
            kept = np.uint64(forest.kept[kept])
        rounds.counts[thread, AUGMENTATIONS] += augmented
        go_on, size, total = end_round(rounds, current, forest.roots, waiting, augmented)
        if thread == ZERO:
            rounds.progress[0] -= 2.0 * np.float64(total)
            rounds.counts[thread, PHASES] += ONE
        base = current.base
        number += ONE
    return bool(go_on), held


@kernel
def check_even(graph: Neighbours, forest: Forest, thread: np.uint64, held: np.uint64) -> bool:
    """Whether no even vertex of the thread's share, but the held root, joins another tree or the outside."""
    if thread == ZERO:
        forest.rounds.counts[thread, PHASES] += ONE
    v, end = share_of(np.uint64(len(forest.word)), thread, forest.rounds.num_threads)
    while v < end and not should_stop(forest.rounds):
        word = np.uint64(forest.word[v])
        arc, last = np.uint64(graph.first[v]), np.uint64(graph.first[v + ONE])
        while word & LABEL == EVEN and v != held and arc < last:
            other = np.uint64(forest.word[graph.neighbour[arc]])
            if other & LABEL != ODD and other != word:
                return False
            arc += ONE
        v += ONE
    return bool(v == end)


@kernel
def write_answer(
    mate: Indices,
    forest: Forest,
    partner: NDArray[np.int64],
    barrier: NDArray[np.bool_],
    thread: np.uint64,
) -> None:
    """Write the partners, -1 for none, and the barrier, one thread's share."""
    v, end = share_of(np.uint64(len(mate)), thread, forest.rounds.num_threads)
    while v < end:
        partner[v] = np.int64(-1) if np.uint64(mate[v]) == NONE else np.int64(mate[v])
        barrier[v] = np.uint64(forest.word[v]) & LABEL == ODD
        v += ONE


def solve(
    graph: Neighbours, start: Partners | None, options: InitialOptions, control: Control
) -> GeneralState:
    """Solve on ``control.threads`` threads: see :class:`preflow.solving.protocol.GeneralMatchingSolver`."""
    mate, label = first_matching(graph, start, options, control)
    forest = new_forest(graph, control)
    links = new_thread_links(mate, control.threads)
    partner, barrier = np.empty(len(mate), dtype=np.int64), np.empty(len(mate), dtype=bool)
    ended = [False] * control.threads
    right = [False] * control.threads

    def share(thread: int) -> None:
        number = np.uint64(thread)
        ended[thread], held = run_rounds(graph, links[thread], label, forest, number)
        if ended[thread]:
            right[thread] = check_even(graph, forest, number, np.uint64(held))
            write_answer(mate, forest, partner, barrier, number)

    run_solver(share, control, forest.rounds.barrier)
    if not all(ended):
        return GeneralState(partners(mate), finished=False)
    if not all(right) and not control.stopped:
        if control.budget is None:
            return solve(graph, partner, options, control)
        raise GaveUp("trees passed each other unseen", partner)
    return GeneralState(partner, all(right), barrier=barrier)
