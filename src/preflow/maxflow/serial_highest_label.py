"""HL push-relabel draft."""
from __future__ import annotations
from typing import Any, NamedTuple
import numpy as np
from ..kernels.kernel import kernel
from ..kernels.atomics import relaxed_load
from ..kernels.bfs import distances_to_sink

ZERO = np.uint64(0)
ONE = np.uint64(1)

@kernel
def hl(net, height, current, active_first, active_next, order, level_first, level_count, log_first, log_vertex, log_next, jumps, drain, gap, park, initial_one, relabel_limit, work_limit, park_limit, counts, stop):
    n = np.uint64(len(net.excess))
    dead = n + ONE
    none = np.uint64(height.dtype.type(-1))
    pushes = ZERO; relabels = ZERO; globals_ = ZERO; scans = ZERO; gapv = ZERO
    log_size = np.uint64(len(log_vertex))
    max_label = dead
    while True:
        if initial_one:
            initial_one = False
            for v in range(len(net.excess)):
                height[v] = 1
                order[v] = v
            reached = n
        else:
            reached, drained = distances_to_sink(net, height, order, drain)
            pushes += drained
            globals_ += ONE
        for v in range(len(net.excess)):
            current[v] = net.first_out[v]
        if park:
            jumps[:] = 0
        h = ZERO
        while h <= max_label:
            active_first[h] = none
            level_first[h] = 0
            level_count[h] = 0
            log_first[h] = none
            h += ONE
        top = ZERO
        max_label = ZERO
        k = ZERO
        while k < reached:
            v = np.uint64(order[k])
            h = np.uint64(height[v])
            if h > max_label:
                max_label = h
                level_first[h] = k
            level_count[h] += 1
            if net.excess[v] > 0:
                active_next[v] = active_first[h]
                active_first[h] = v
                top = h
            k += ONE
        if top == ZERO:
            break
        log_end = ZERO
        since_relabels = ZERO
        since_work = ZERO
        parked = none
        while True:
            if top == ZERO:
                if parked == none or since_work >= park_limit:
                    break
                while parked != none:
                    v = parked
                    parked = np.uint64(active_next[v])
                    jumps[v] = 0
                    h = np.uint64(height[v])
                    if h < dead:
                        active_next[v] = active_first[h]
                        active_first[h] = v
                        if h > top:
                            top = h
            v = np.uint64(active_first[top])
            if v == none:
                if top > ZERO: top -= ONE
                continue
            if since_relabels >= relabel_limit or since_work >= work_limit or log_end == log_size:
                break
            if relaxed_load(stop, 0) != 0:
                break
            active_first[top] = active_next[v]
            if park and jumps[v] >= 2:
                active_next[v] = parked
                parked = v
                continue
            e = net.excess[v]
            h = top
            sr = net.sink_residual[v]
            if sr > 0:
                amount = min(e, sr)
                pushes += ONE
                net.sink_residual[v] = sr - amount
                e -= amount
            begin = np.uint64(net.first_out[v])
            last = np.uint64(net.first_out[v + ONE])
            a = np.uint64(current[v])
            while e > 0:
                a0 = a
                while a < last:
                    r = net.residual[a]
                    if r > 0:
                        w = np.uint64(net.head[a])
                        if np.uint64(height[w]) + ONE == h:
                            amount = min(e, r)
                            pushes += ONE
                            net.residual[a] = r - amount
                            net.residual[net.reverse[a]] += amount
                            old = net.excess[w]
                            net.excess[w] = old + amount
                            if old == 0:
                                active_next[w] = active_first[h - ONE]
                                active_first[h - ONE] = w
                            e -= amount
                            if e == 0:
                                break
                    a += ONE
                scans += a - a0
                if e == 0:
                    break
                # relabel
                if gap:
                    level_count[h] -= 1
                    if level_count[h] == 0:
                        # everything above dies
                        height[v] = dead
                        gapv += ONE
                        g = h + ONE
                        while g <= max_label:
                            if level_count[g] > 0:
                                k = np.uint64(level_first[g])
                                # bfs range
                                if k < reached:
                                    w = np.uint64(order[k])
                                    # entries contiguous with original level g: scan until level_end
                                    kend = np.uint64(level_first[g + ONE]) if (g + ONE <= max_label and level_first[g + ONE] > 0) else reached
                                    while k < kend:
                                        w = np.uint64(order[k])
                                        if np.uint64(height[w]) == g:
                                            height[w] = dead
                                            gapv += ONE
                                        k += ONE
                                p = np.uint64(log_first[g])
                                while p != none:
                                    w = np.uint64(log_vertex[p])
                                    if np.uint64(height[w]) == g:
                                        height[w] = dead
                                        gapv += ONE
                                    p = np.uint64(log_next[p])
                                level_count[g] = 0
                            level_first[g] = n
                            log_first[g] = none
                            active_first[g] = none
                            g += ONE
                        level_first[h]=n; log_first[h]=none
                        max_label = h - ONE
                        h = dead
                        break
                low = dead
                a = begin
                while a < last:
                    if net.residual[a] > 0:
                        hw = np.uint64(height[net.head[a]])
                        if hw < low:
                            low = hw
                            a0 = a
                    a += ONE
                scans += last - begin
                since_work += np.uint64(12) + last - begin
                since_relabels += ONE
                if low >= n:
                    h = dead
                    break
                if park and low > h:
                    jumps[v] += 1
                h = low + ONE
                if h > max_label:
                    g = max_label + ONE
                    while g <= h:
                        level_count[g] = 0
                        level_first[g] = n
                        log_first[g] = none
                        active_first[g] = none
                        g += ONE
                    max_label = h
                if gap:
                    level_count[h] += 1
                height[v] = h
                a = a0
                if park and jumps[v] >= 2:
                    active_next[v] = parked
                    parked = v
                    break
            current[v] = a
            net.excess[v] = e
            if h == dead:
                height[v] = dead
            elif h != top:
                if gap:
                    log_vertex[log_end] = v
                    log_next[log_end] = log_first[h]
                    log_first[h] = log_end
                    log_end += ONE
                # pushes went to levels up to h - 1
                top = h
        relabels += since_relabels
        if relaxed_load(stop, 0) != 0:
            break
    counts[0] = pushes; counts[1] = relabels; counts[2] = globals_; counts[3] = scans; counts[4] = gapv
