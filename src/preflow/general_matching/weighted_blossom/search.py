"""One search: the tree of a free node grows, shrinks blossoms and expands them, until it ends."""

from __future__ import annotations

import numpy as np

from ...arrays import Indices
from ...graph.undirected import Neighbours
from ...kernels.atomics import relaxed_load, relaxed_store, store
from ...kernels.constants import ONE, TWO, ZERO
from ...kernels.kernel import kernel
from ...solving.monitor import Monitor
from ...stats import ARC_SCANS, AUGMENTATIONS, PHASES
from ..links import NONE
from .state import (
    END,
    EVEN,
    LABELLED,
    LEADING,
    NOW,
    ODD,
    OUTSIDE,
    SPARE,
    STAMP,
    TO_SCAN,
    WAITING_EDGES,
    WAITING_NODES,
    Claims,
    WeightedForest,
    any_top_node,
    claim,
    claim_node,
    free_dual,
    has_claimed,
    put_edge,
    put_node,
    release,
    take_first_edge,
    take_node,
    top_node,
)


@kernel
def end_at(forest: WeightedForest, time: np.int64, vertex: np.uint64, free: np.uint64) -> None:
    """Let the search end at a time, unless it ends before."""
    if time < forest.time[END]:
        forest.time[END] = time
        forest.terminal[0] = vertex
        forest.terminal[1] = free


@kernel
def label_node(forest: WeightedForest, node: np.uint64, label: np.uint8) -> None:
    """Give a node a label as of now, and list it."""
    forest.label[node] = label
    forest.since[node] = forest.time[NOW]
    forest.labelled[forest.sizes[LABELLED]] = node
    forest.sizes[LABELLED] += ONE


@kernel
def make_even(forest: WeightedForest, node: np.uint64) -> None:
    """Label an outermost node that is outside the tree, or was odd and now has its dual."""
    take_node(forest, node)
    label_node(forest, node, EVEN)
    add_even_vertices(forest, node, forest.time[NOW])


@kernel
def add_even_vertices(forest: WeightedForest, node: np.uint64, added: np.int64) -> None:
    """Add a time to the duals of the vertices of a node, which are even now, and list them for a scan."""
    added += forest.added[node]
    forest.added[node] = 0
    v, last = np.uint64(forest.first[node]), np.uint64(forest.last[node])
    while True:
        dual = forest.dual[v] + added
        store(forest.dual, v, dual)
        end_at(forest, dual, v, NONE)
        forest.to_scan[forest.sizes[TO_SCAN]] = v
        forest.sizes[TO_SCAN] += ONE
        if v == last:
            break
        v = np.uint64(forest.following[v])


@kernel
def make_odd(forest: WeightedForest, node: np.uint64) -> None:
    """Label an outermost node that is outside the tree; `from_even` and `to_odd` are there."""
    take_node(forest, node)
    label_node(forest, node, ODD)
    if node >= np.uint64(len(forest.dual)):
        put_node(forest, node, forest.time[NOW] + forest.blossom_dual[node] // 2)


@kernel
def reach(forest: WeightedForest, u: np.uint64, v: np.uint64, node: np.uint64, key: np.int64) -> None:
    """Note that the even vertex u reaches v, of a node outside the tree, at the time `key`."""
    if key >= forest.time[END]:
        return
    if np.uint64(forest.outer[node]) == NONE:
        end_at(forest, key, u, v)
    elif np.uint64(forest.place[node]) == NONE or key < forest.key[node]:
        forest.from_even[node] = u
        forest.to_odd[node] = v
        put_node(forest, node, key)


@kernel
def scan(forest: WeightedForest, graph: Neighbours, u: np.uint64) -> bool:
    """Look at the edges of an even vertex; return False if another thread has claimed a neighbour."""
    own = top_node(forest, u)
    for arc in range(graph.first[u], graph.first[u + ONE]):
        v = np.uint64(graph.neighbour[arc])
        least = forest.dual[u] - 2 * graph.weight[arc]
        dual = free_dual(forest, forest.claims, v)
        if least + dual >= 2 * forest.time[END]:
            continue
        node = claim(forest, forest.claims, v)
        if node == NONE:
            return False  # mutant: passes-over-a-claim
        slack = least + forest.dual[v]
        label = forest.label[node]
        if label == OUTSIDE:
            reach(forest, u, v, node, slack + forest.added[node])
        elif label == EVEN and node != own and slack // 2 < forest.time[END]:
            put_edge(forest, u, v, slack // 2)
    return True


@kernel
def scan_back(forest: WeightedForest, graph: Neighbours, node: np.uint64) -> None:
    """Look at the edges of a node that has just left the tree, for even vertices that reach it."""
    v, last = np.uint64(forest.first[node]), np.uint64(forest.last[node])
    while True:
        for arc in range(graph.first[v], graph.first[v + ONE]):
            u = np.uint64(graph.neighbour[arc])
            other = any_top_node(forest, u)
            if has_claimed(forest.claims, other) and forest.label[top_node(forest, u)] == EVEN:
                slack = forest.dual[u] + forest.dual[v] - 2 * graph.weight[arc]
                reach(forest, u, v, node, slack + forest.added[node])
        if v == last:
            break
        v = np.uint64(forest.following[v])


@kernel
def even_parent(forest: WeightedForest, node: np.uint64) -> np.uint64:
    """Return the even node above an even node, NONE for the root."""
    outer = np.uint64(forest.outer[node])
    if outer == NONE:
        return NONE
    odd = top_node(forest, outer)
    return top_node(forest, np.uint64(forest.from_even[odd]))


@kernel
def next_stamp(forest: WeightedForest, claims: Claims | None) -> np.uint64:
    """Return a number that no search for a common ancestor had, whichever thread made it."""
    return np.uint64(forest.sizes[STAMP] + (ONE if claims is None else claims.num_threads))


@kernel
def common_ancestor(forest: WeightedForest, a: np.uint64, b: np.uint64) -> np.uint64:
    """Return the lowest node of the tree above both even nodes, in the time of the shorter way."""
    stamp = next_stamp(forest, forest.claims)
    forest.sizes[STAMP] = stamp
    while True:
        if a != NONE:
            if np.uint64(forest.seen[a]) == stamp:
                return a
            forest.seen[a] = stamp
            a = even_parent(forest, a)
        a, b = b, a


@kernel
def join(forest: WeightedForest, node: np.uint64, sibling: np.uint64, u: np.uint64, v: np.uint64) -> None:
    """Let `sibling` follow `node` in the cycle of their blossom, by the edge from u to v."""
    forest.sibling[node] = sibling
    forest.link_from[node] = u
    forest.link_to[node] = v


@kernel
def shrink(forest: WeightedForest, u: np.uint64, v: np.uint64) -> None:
    """Make a blossom of the cycle that the edge between two even nodes closes in the tree."""
    now = forest.time[NOW]
    a = top_node(forest, u)
    b = top_node(forest, v)
    top = common_ancestor(forest, a, b)
    join(forest, a, b, u, v)
    x = a
    while x != top:
        inner, outer = np.uint64(forest.inner[x]), np.uint64(forest.outer[x])
        odd = top_node(forest, outer)
        join(forest, odd, x, outer, inner)
        from_even = np.uint64(forest.from_even[odd])
        above = top_node(forest, from_even)
        join(forest, above, odd, from_even, np.uint64(forest.to_odd[odd]))
        x = above
    x = b
    while x != top:
        inner, outer = np.uint64(forest.inner[x]), np.uint64(forest.outer[x])
        odd = top_node(forest, outer)
        join(forest, x, odd, inner, outer)
        from_even = np.uint64(forest.from_even[odd])
        above = top_node(forest, from_even)
        join(forest, odd, above, np.uint64(forest.to_odd[odd]), from_even)
        x = above
    forest.sizes[SPARE] -= ONE
    blossom = np.uint64(forest.spare[forest.sizes[SPARE]])
    claim_node(forest, forest.claims, blossom)
    make_blossom(forest, blossom, top)
    label_node(forest, blossom, EVEN)
    x = top
    while True:
        passed = now - forest.since[x]
        if forest.label[x] == EVEN:
            forest.blossom_dual[x] += 2 * passed
        else:
            take_node(forest, x)
            forest.blossom_dual[x] -= 2 * passed
            add_even_vertices(forest, x, passed + now)
        x = np.uint64(forest.sibling[x])
        if x == top:
            break


@kernel
def make_blossom(forest: WeightedForest, blossom: np.uint64, base: np.uint64) -> None:
    """Make an outermost node of the cycle of children that begins with the one that has the base."""
    forest.child[blossom] = base
    forest.inner[blossom] = forest.inner[base]
    forest.outer[blossom] = forest.outer[base]
    forest.blossom_dual[blossom] = 0
    forest.added[blossom] = 0
    forest.size[blossom] = 0
    forest.seen[blossom] = 0
    forest.place[blossom] = NONE
    relaxed_store(forest.group, blossom, blossom)
    forest.parent[blossom] = NONE
    forest.first[blossom] = forest.first[base]
    last = NONE
    x = base
    while True:
        if last != NONE:
            forest.following[last] = forest.first[x]
        last = np.uint64(forest.last[x])
        forest.parent[x] = blossom
        relaxed_store(forest.group, x, blossom)
        forest.size[blossom] += forest.size[x]
        x = np.uint64(forest.sibling[x])
        if x == base:
            break
    forest.last[blossom] = last


@kernel
def pair_siblings(forest: WeightedForest, base: np.uint64) -> None:
    """Match the children of a blossom in pairs around its cycle, but for the one that has the base."""
    x = np.uint64(forest.sibling[base])
    while x != base:
        partner = np.uint64(forest.sibling[x])
        u, v = forest.link_from[x], forest.link_to[x]
        forest.inner[x], forest.outer[x] = u, v
        forest.inner[partner], forest.outer[partner] = v, u
        x = np.uint64(forest.sibling[partner])


@kernel
def expand(forest: WeightedForest, graph: Neighbours, blossom: np.uint64) -> bool:
    """Replace an odd blossom, whose dual is 0, by its children; return False if a thread looks at one."""
    start = np.uint64(forest.child[blossom])
    x = start
    while True:
        if not claim_node(forest, forest.claims, x):  # mutant: expands-unasked
            return False
        x = np.uint64(forest.sibling[x])
        if x == start:
            break
    added = forest.added[blossom] + forest.time[NOW] - forest.since[blossom]
    largest = x
    while True:
        forest.parent[x] = NONE
        relaxed_store(forest.group, x, x)
        forest.label[x] = OUTSIDE
        forest.added[x] = added
        forest.following[forest.last[x]] = NONE
        if forest.size[x] > forest.size[largest]:
            largest = x
        x = np.uint64(forest.sibling[x])
        if x == start:
            break
    x = np.uint64(forest.sibling[largest])
    while x != largest:
        v, last = np.uint64(forest.first[x]), np.uint64(forest.last[x])
        while True:
            relaxed_store(forest.top, v, x)
            if v == last:
                break
            v = np.uint64(forest.following[v])
        x = np.uint64(forest.sibling[x])
    forest.label[blossom] = OUTSIDE
    relaxed_store(forest.group, blossom, largest)
    forest.leading[forest.sizes[LEADING]] = blossom
    forest.sizes[LEADING] += ONE
    inner, outer = forest.inner[blossom], forest.outer[blossom]
    base = top_node(forest, np.uint64(inner))
    forest.inner[base], forest.outer[base] = inner, outer
    pair_siblings(forest, base)
    # The even way around the cycle from the child that the tree reaches to the base stays in the tree.
    u, v = np.uint64(forest.from_even[blossom]), np.uint64(forest.to_odd[blossom])
    reached = top_node(forest, v)
    forest.from_even[reached], forest.to_odd[reached] = u, v
    sibling = np.uint64(forest.sibling[reached])
    if reached != base and top_node(forest, np.uint64(forest.outer[reached])) == sibling:
        odd = reached
        while odd != base:
            make_odd(forest, odd)
            even = np.uint64(forest.sibling[odd])
            make_even(forest, even)
            odd = np.uint64(forest.sibling[even])
            forest.from_even[odd], forest.to_odd[odd] = forest.link_from[even], forest.link_to[even]
    else:
        odd = base
        while odd != reached:
            forest.from_even[odd], forest.to_odd[odd] = forest.link_to[odd], forest.link_from[odd]
            make_odd(forest, odd)
            even = np.uint64(forest.sibling[odd])
            make_even(forest, even)
            odd = np.uint64(forest.sibling[even])
    make_odd(forest, odd)
    x = base
    while True:
        if forest.label[x] == OUTSIDE:
            scan_back(forest, graph, x)
        x = np.uint64(forest.sibling[x])
        if x == base:
            break
    return True


@kernel
def augment(forest: WeightedForest) -> None:
    """Exchange the matched and the other edges from the terminal to the root."""
    u, v = forest.terminal[0], forest.terminal[1]
    if v != NONE:
        free = top_node(forest, v)
        forest.inner[free], forest.outer[free] = v, u
    even = top_node(forest, u)
    while True:
        outer = np.uint64(forest.outer[even])
        forest.inner[even], forest.outer[even] = u, v
        if outer == NONE:
            break
        odd = top_node(forest, outer)
        u, v = np.uint64(forest.from_even[odd]), np.uint64(forest.to_odd[odd])
        forest.inner[odd], forest.outer[odd] = v, u
        even = top_node(forest, u)


@kernel
def settle(forest: WeightedForest) -> None:
    """End the search: write the duals as of now, clear the labels and the heaps, and give up all claims."""
    now = forest.time[NOW]
    left = forest.sizes[LABELLED]
    while left > ZERO:
        left -= ONE
        node = np.uint64(forest.labelled[left])
        label = forest.label[node]
        forest.label[node] = OUTSIDE
        if label == OUTSIDE or np.uint64(forest.group[node]) != node:
            continue
        passed = now - forest.since[node]
        if label == ODD:
            forest.added[node] += passed
            forest.blossom_dual[node] -= 2 * passed
            continue
        forest.blossom_dual[node] += 2 * passed
        v, last = np.uint64(forest.first[node]), np.uint64(forest.last[node])
        while True:
            store(forest.dual, v, forest.dual[v] - now)
            relaxed_store(forest.top, v, node)
            if v == last:
                break
            v = np.uint64(forest.following[v])
    for i in range(forest.sizes[WAITING_NODES]):
        forest.place[forest.heap[i]] = NONE
    release(forest, forest.claims)
    for list_of_search in range(SPARE):
        forest.sizes[list_of_search] = ZERO


@kernel
def search(
    forest: WeightedForest, graph: Neighbours, root: np.uint64, most: np.uint64, monitor: Monitor
) -> bool:
    """Let the tree of a free node grow until it ends at a free node or at a dual of 0, or is stopped.

    Return whether it ended. It is stopped after it has scanned more than `most` edges, by a node that another
    thread has claimed, or if the thread has no blossom left.
    """
    scanned = ZERO
    ended, goes_on = False, True
    forest.time[NOW] = 0
    forest.time[END] = np.int64(2**62)
    make_even(forest, root)
    while goes_on:
        while goes_on and forest.sizes[TO_SCAN] > ZERO:
            forest.sizes[TO_SCAN] -= ONE
            u = np.uint64(forest.to_scan[forest.sizes[TO_SCAN]])
            scanned += np.uint64(graph.first[u + ONE] - graph.first[u])
            goes_on = scan(forest, graph, u)
        if not goes_on or scanned > most or relaxed_load(monitor.stop, 0):
            break
        time, node, edges = forest.time[END], NONE, forest.sizes[WAITING_EDGES] > ZERO
        if forest.sizes[WAITING_NODES] > ZERO and forest.key[forest.heap[0]] < time:
            node = np.uint64(forest.heap[0])
            time = forest.key[node]
        if edges and forest.edge_key[0] < time:
            u, v = np.uint64(forest.edge_from[0]), np.uint64(forest.edge_to[0])
            forest.time[NOW] = forest.edge_key[0]
            take_first_edge(forest)
            own = top_node(forest, u)
            if own != top_node(forest, v):
                goes_on = forest.sizes[SPARE] > ZERO
                if goes_on:
                    shrink(forest, u, v)
            continue
        forest.time[NOW] = time
        if node == NONE:
            augment(forest)
            ended = True
            break
        if forest.label[node] == ODD:
            take_node(forest, node)
            goes_on = expand(forest, graph, node)
        else:
            partner = claim(forest, forest.claims, np.uint64(forest.outer[node]))
            goes_on = partner != NONE
            if goes_on:
                make_odd(forest, node)
                make_even(forest, partner)
    settle(forest)
    monitor.counts[ARC_SCANS] += scanned
    monitor.counts[PHASES] += ONE
    return ended


@kernel
def search_from(
    forest: WeightedForest, graph: Neighbours, vertex: np.uint64, most: np.uint64, monitor: Monitor
) -> bool:
    """Search from the node of a vertex, unless it is matched or its base has dual 0.

    Return whether it need not be searched again.
    """
    node = claim(forest, forest.claims, vertex)
    if node == NONE or relaxed_load(monitor.stop, 0):
        release(forest, forest.claims)
        return False
    if np.uint64(forest.outer[node]) != NONE or forest.dual[forest.inner[node]] == 0:
        release(forest, forest.claims)
        return True
    ended = search(forest, graph, node, most, monitor)
    monitor.counts[AUGMENTATIONS] += np.uint64(ended)
    return ended


@kernel
def reclaim(forest: WeightedForest) -> None:
    """Let no vertex refer to an expanded blossom, so that these can be used again."""
    for v in range(len(forest.top)):
        top = top_node(forest, np.uint64(v))
        forest.top[v] = top
    while forest.sizes[LEADING] > ZERO:
        forest.sizes[LEADING] -= ONE
        forest.spare[forest.sizes[SPARE]] = forest.leading[forest.sizes[LEADING]]
        forest.sizes[SPARE] += ONE


@kernel
def run_searches(
    forest: WeightedForest, graph: Neighbours, roots: Indices, most: np.uint64, monitor: Monitor
) -> np.uint64:
    """Search from every root until its base has dual 0; return how many are left, which come first."""
    left = ZERO
    for i in range(len(roots)):
        if forest.sizes[SPARE] <= np.uint64(len(forest.dual)) // TWO:
            reclaim(forest)
        if not search_from(forest, graph, np.uint64(roots[i]), most, monitor):
            roots[left] = roots[i]
            left += ONE
        else:
            monitor.progress[0] -= 1.0
    return left


@kernel
def match_vertices(forest: WeightedForest, mate: Indices) -> None:
    """Match the vertices inside all blossoms, and write the partner of every vertex, n for none."""
    n = np.uint64(len(forest.dual))
    reclaim(forest)
    for vertex in range(n):
        forest.dual[vertex] += forest.added[forest.top[vertex]]
        size = ZERO
        if forest.first[forest.top[vertex]] == vertex:
            forest.labelled[0] = forest.top[vertex]
            size = ONE
        while size > ZERO:
            size -= ONE
            node = np.uint64(forest.labelled[size])
            base = np.uint64(forest.inner[node])
            outer = np.uint64(forest.outer[node])
            mate[base] = n if outer == NONE else outer
            x = base
            while x != node:
                # All children but the one with the base are matched in pairs; they follow.
                pair_siblings(forest, x)
                y = np.uint64(forest.sibling[x])
                while y != x:
                    forest.labelled[size] = y
                    size += ONE
                    y = np.uint64(forest.sibling[y])
                x = np.uint64(forest.parent[x])
