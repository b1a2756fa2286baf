"""Chunks as messages to processes, in a pipe or in memory that both sides share.

A message is its length in eight bytes, then as many bytes. A message that brings a chunk begins with one of
two marks:

- IN_PIPE: the rest of the message is the chunk, which begins at byte ALIGNED;
- IN_MEMORY: the chunk is in shared memory; the rest of the message is the number of the piece, and how many
  bytes of it the chunk has.

A chunk is the pickle of its items, followed by the memory of their large arrays. The sender copies an array
once. The worker copies nothing: the arrays of its items are views of the chunk. So the memory of a chunk is
used again only when no view of it is left, which the worker finds out.

The shared memory is one file without a name, cut into pieces of equal size. Workers inherit its descriptor,
and the system frees it with the last process that has it. Chunks travel in pipes where there is no such
memory, which needs Linux; where the address space of processes is limited; and while all pieces are in use.
"""

from __future__ import annotations

import mmap
import os
import pickle
import struct
import weakref
from collections.abc import Iterable, Sequence
from contextlib import suppress
from typing import IO, TypeAlias

import numpy as np
from numpy.typing import NDArray

from .task import dumps_apart

LENGTH = struct.Struct("<Q")
IN_PIPE, IN_MEMORY = b"p", b"m"
#: In a message of a chunk in shared memory: the number of the piece, and the length of the chunk.
PLACE = struct.Struct("<QQ")
#: Arrays of at least APART bytes lie behind the pickle, at multiples of ALIGNED.
APART, ALIGNED = 4096, 64
#: Chunks of at least this many bytes travel in shared memory; smaller ones fit a pipe at once.
FEWEST = 1 << 16
#: Bytes of a piece of shared memory. Only pages that a chunk has used take memory.
PIECE = 1 << 26
#: A worker reads messages into a buffer that it uses again, and that it keeps up to this many bytes.
KEPT = 1 << 26

#: What is sent or stored as a whole, one part after the other.
Parts: TypeAlias = Sequence[bytes | memoryview]


def send(stream: IO[bytes], *parts: bytes | memoryview) -> None:
    """Write a message that consists of some parts."""
    stream.write(LENGTH.pack(sum(len(part) for part in parts)))
    for part in parts:
        stream.write(part)
    stream.flush()


def receive(stream: IO[bytes]) -> bytes:
    """Read a message.

    EOFError: the other side has ended.
    """
    (length,) = LENGTH.unpack(_exactly(stream, LENGTH.size))
    return _exactly(stream, length)


def _exactly(stream: IO[bytes], count: int) -> bytes:
    found = stream.read(count)
    if len(found) < count:
        raise EOFError
    return found


def packed(items: Sequence[object]) -> list[bytes | memoryview]:
    """Return the parts of a chunk: the length of its index, the index, then the memory of large arrays.

    The index is the pickle of the items, and for each array the distance from the first one, the length in
    bytes, and whether it is read-only.
    """
    pickled, arrays = dumps_apart(items, APART)
    places, end = [], 0
    for memory in arrays:
        places.append((end, memory.nbytes, memory.readonly))
        end = _aligned(end + memory.nbytes)
    index = pickle.dumps((pickled, places))
    parts: list[bytes | memoryview] = [LENGTH.pack(len(index)), index]
    last = LENGTH.size + len(index)
    for memory in arrays:
        parts += [bytes(_aligned(last) - last), memory]
        last = memory.nbytes
    return parts


def unpacked(chunk: memoryview) -> Sequence[object]:
    """Return the items of a chunk, whose large arrays are views of it."""
    (length,) = LENGTH.unpack_from(chunk)
    begin = LENGTH.size + length
    pickled, places = pickle.loads(chunk[LENGTH.size : begin])
    begin = _aligned(begin)
    views = []
    for place, size, is_readonly in places:
        view = chunk[begin + place : begin + place + size]
        views.append(view.toreadonly() if is_readonly else view)
    found: Sequence[object] = pickle.loads(pickled, buffers=views)
    return found


def _aligned(size: int) -> int:
    return -(-size // ALIGNED) * ALIGNED


class SharedMemory:
    """The side of the sender of memory that it shares with its workers, in `count` pieces.

    Workers inherit its descriptor `file`, which is None if there is no shared memory.
    """

    def __init__(self, count: int) -> None:
        self.file: int | None = None
        self._map: mmap.mmap | None = None
        #: Pieces that nobody uses; the one used last comes first, as its pages are in the cache.
        self._free: list[int] = []
        if _address_space_is_limited():
            return
        with suppress(OSError, AttributeError):
            self.file = os.memfd_create("preflow")
            os.ftruncate(self.file, count * PIECE)
            self._map = mmap.mmap(self.file, count * PIECE)
            self._free = list(range(count))

    def put(self, parts: Parts) -> tuple[bytes, int | None]:
        """Return the message of a chunk, and the piece of memory that has the chunk, or None."""
        length = sum(len(part) for part in parts)
        if FEWEST <= length <= PIECE and self._map is not None:
            with suppress(IndexError):
                number = self._free.pop()
                end = number * PIECE
                for part in parts:
                    begin, end = end, end + len(part)
                    self._map[begin:end] = part
                return IN_MEMORY + PLACE.pack(number, length), number
        return b"".join((IN_PIPE.ljust(ALIGNED), *parts)), None

    def free(self, numbers: Iterable[int]) -> None:
        """Use pieces for other chunks."""
        self._free += numbers

    def close(self) -> None:
        """Give the memory back."""
        if self._map is not None:
            self._map.close()
        if self.file is not None:
            os.close(self.file)
        self._map, self.file, self._free = None, None, []


def _address_space_is_limited() -> bool:
    """Whether processes may map so much only: functions need it more than messages do."""
    try:
        import resource
    except ImportError:
        return False
    return resource.getrlimit(resource.RLIMIT_AS)[0] != resource.RLIM_INFINITY


class Inbox:
    """The side of a worker: it receives chunks from the pipe `stream`.

    `file` is the descriptor of the shared memory, if there is any.
    """

    def __init__(self, stream: IO[bytes], file: int | None) -> None:
        self._stream = stream
        #: Messages are read into memory that is used again: fresh pages cost as much as two copies.
        self._memory = bytearray()
        self._shared: mmap.mmap | None = None
        if file is not None:
            self._shared = mmap.mmap(file, 0)
            os.close(file)
        #: For each piece of memory with a chunk that came: an array that lives as long as views of the chunk.
        self._chunks: dict[int, weakref.ref[NDArray[np.uint8]]] = {}

    def chunk(self) -> memoryview:
        """Return the next chunk.

        EOFError: the other side has ended.
        """
        message = self._message()
        if message[:1] == IN_PIPE:
            return message[ALIGNED:]
        number, length = PLACE.unpack(message[1:])
        assert self._shared is not None
        array = np.frombuffer(self._shared, np.uint8, length, number * PIECE)
        self._chunks[number] = weakref.ref(array)
        return array.data

    def released(self) -> list[int]:
        """Return the pieces of memory that had chunks of which no view is left; each is returned once."""
        found = [number for number, array in self._chunks.items() if array() is None]
        for number in found:
            del self._chunks[number]
        return found

    def _message(self) -> memoryview:
        (length,) = LENGTH.unpack(_exactly(self._stream, LENGTH.size))
        if length > len(self._memory) or length <= KEPT < len(self._memory) or self._is_in_use():
            self._memory = bytearray(length)
        message = memoryview(self._memory)[:length]
        done = 0
        while done < length:
            count = self._stream.readinto(message[done:])  # type: ignore[attr-defined]
            if count == 0:
                raise EOFError
            done += count
        return message

    def _is_in_use(self) -> bool:
        """Whether there are views of the buffer: a bytearray with views refuses to change its size."""
        try:
            self._memory.append(0)
        except BufferError:
            return True
        self._memory.pop()
        return False
