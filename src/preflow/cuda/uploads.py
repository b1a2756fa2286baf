"""Copy large arrays of the host to a GPU with several threads, in narrower integers where these fit."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from itertools import repeat

import numpy as np

from ..arrays import AnyArray, Array, DType
from .runtime import Device

#: Entries that a thread copies at once; arrays that are smaller are copied by the caller's thread.
PART = 2**18


def upload_by_threads(device: Device, host: Array, threads: int) -> AnyArray:
    """Return a contiguous array of the host on the GPU, with one dimension; int64 as int32 if all fit.

    The driver copies pinned memory directly, and other memory through pinned memory on one thread. So
    each thread converts parts to pinned memory, from where it copies them.
    """
    flat = host.reshape(-1)
    threads = min(threads, len(flat) // PART)
    if threads < 2:
        return device.xp.asarray(flat)
    if flat.dtype == np.int64:
        narrow = _upload(device, flat, np.dtype(np.int32), threads)
        if narrow is not None:
            return narrow
    return _upload(device, flat, flat.dtype, threads)


def _upload(device: Device, flat: Array, dtype: DType, threads: int) -> AnyArray | None:
    """Return an array on the GPU with another dtype; None if a number does not fit it."""
    out = device.xp.empty(len(flat), dtype=dtype)
    begins = iter(range(0, len(flat), PART))  # shared: each thread takes the next one
    misfits: list[int] = []

    def copy_parts(_: None) -> None:
        with device.current():
            room = device.empty_on_host((PART,), dtype)
            for begin in begins:
                part = flat[begin : begin + PART]
                pinned = room[: len(part)]
                np.copyto(pinned, part, casting="unsafe")
                if dtype != flat.dtype and not np.array_equal(pinned, part):
                    misfits.append(begin)
                if misfits:
                    return
                device.upload(out[begin : begin + len(part)], pinned)
                device.synchronize()

    with ThreadPoolExecutor(threads) as pool:
        list(pool.map(copy_parts, repeat(None, threads)))
    return None if misfits else out
