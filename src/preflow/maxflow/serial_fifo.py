"""FIFO push-relabel draft."""
from __future__ import annotations
from typing import Any, NamedTuple
import numpy as np
from ..kernels.kernel import kernel
from ..kernels.atomics import relaxed_load
from ..kernels.bfs import distances_to_sink

ZERO = np.uint64(0)
ONE = np.uint64(1)
TWO = np.uint64(2)

@kernel
def fifo(net, height, current, queue, order, jumps, drain, requeue, park, nearest_first, relabel_limit, work_limit, counts, stop):
    n = np.uint64(len(net.excess))
    dead = n + ONE
    pushes = ZERO; relabels = ZERO; globals_ = ZERO; scans = ZERO
    while True:
        reached, drained = distances_to_sink(net, height, order, drain)
        pushes += drained
        globals_ += ONE
        qb = ZERO; qe = ZERO; qn = ZERO
        for v in range(len(net.excess)):
            current[v] = net.first_out[v]
        if park:
            jumps[:] = 0
        k = ZERO
        while k < reached:
            v = np.uint64(order[k]) if nearest_first else np.uint64(order[reached - k - ONE])
            if net.excess[v] > 0:
                queue[qe] = v
                qe += ONE
                qn += ONE
            k += ONE
        if qe == n: qe = ZERO
        if qn == ZERO:
            break
        since_relabels = ZERO
        since_work = ZERO
        while qn > ZERO:
            if relaxed_load(stop, 0) != 0:
                break
            if since_relabels >= relabel_limit or since_work >= work_limit:
                break
            v = np.uint64(queue[qb])
            qb += ONE
            if qb == n: qb = ZERO
            qn -= ONE
            if park and jumps[v] >= 2:
                continue
            e = net.excess[v]
            h = np.uint64(height[v])
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
                                queue[qe] = w
                                qe += ONE
                                if qe == n: qe = ZERO
                                qn += ONE
                            e -= amount
                            if e == 0:
                                break
                    a += ONE
                scans += a - a0
                if e == 0:
                    break
                # relabel
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
                    h0 = h
                    h = dead
                    height[v] = dead
                    break
                if park and low > h:
                    jumps[v] += 1
                h = low + ONE
                height[v] = h
                a = a0
                if requeue or (park and jumps[v] >= 2):
                    break
            current[v] = a
            net.excess[v] = e
            if e > 0 and h < dead and not(park and jumps[v] >= 2):
                queue[qe] = v
                qe += ONE
                if qe == n: qe = ZERO
                qn += ONE
        relabels += since_relabels
        if relaxed_load(stop, 0) != 0:
            break
    counts[0] = pushes; counts[1] = relabels; counts[2] = globals_; counts[3] = scans
