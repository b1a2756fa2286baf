"""Chunks as messages to processes, in a pipe or in memory that both sides share.

A message is its length in eight bytes, then as many bytes. That of a chunk begins with one of two marks:

- IN_PIPE: the chunk is the rest of the message, from a multiple of ALIGNED on;
- IN_MEMORY: the rest says which piece of shared memory has the chunk, and how many bytes of it.

Large arrays of a chunk lie behind its pickle, and the items of the worker are views of the chunk. So an array
is copied once, by the sender. Nothing is written where items may still be: neither side uses memory again
that something refers to.

Shared memory has no name and no file: the worker gets its descriptors, and the memory is gone with the last
process that has them. It needs Linux. Elsewhere, and if all pieces are in use, chunks travel in pipes.
"""

from __future__ import annotations

import mmap
import os
import pickle
import queue
import struct
from collections.abc import Sequence
from contextlib import suppress
from typing import IO, TypeAlias

from .task import dumps_apart

LENGTH = struct.Struct("<Q")
IN_PIPE, IN_MEMORY = b"p", b"m"
#: In a message of a chunk in shared memory: the number of the piece, and the length of the chunk.
PLACE = struct.Struct("<QQ")
#: Arrays of at least APART bytes lie behind the pickle, at multiples of ALIGNED.
APART, ALIGNED = 4096, 64
#: Chunks of this many bytes or more travel in shared memory: less fits a pipe at once.
FEWEST = 1 << 16
#: Bytes of a piece. Only pages that chunks have used take memory.
PIECE = 1 << 26
#: Bytes that a worker keeps for the next message in its pipe, at most.
KEPT = 1 << 26

Pieces: TypeAlias = Sequence[bytes | memoryview]


def send(stream: IO[bytes], *pieces: bytes | memoryview) -> None:
    """Write a message that consists of some pieces."""
    stream.write(LENGTH.pack(sum(len(piece) for piece in pieces)))
    for piece in pieces:
        stream.write(piece)
    stream.flush()


def receive(stream: IO[bytes]) -> bytes:
    """Read a message.

    Raises
    ------
    EOFError
        The other side has ended.
    """
    (length,) = LENGTH.unpack(_exactly(stream, LENGTH.size))
    return _exactly(stream, length)


def _exactly(stream: IO[bytes], count: int) -> bytes:
    found = stream.read(count)
    if len(found) < count:
        raise EOFError
    return found


def packed(items: Sequence[object]) -> list[bytes | memoryview]:
    """Return a chunk in pieces: the length of the index, the index, then the memory of large arrays.

    The index has the pickle of the items, and for each array where it lies and whether it may be changed.
    """
    pickled, arrays = dumps_apart(items, APART)
    places, end = [], 0
    for memory in arrays:
        places.append((end, memory.nbytes, memory.readonly))
        end = _aligned(end + memory.nbytes)
    index = pickle.dumps((pickled, places))
    pieces: list[bytes | memoryview] = [LENGTH.pack(len(index)), index]
    last = LENGTH.size + len(index)
    for memory in arrays:
        pieces += [bytes(_aligned(last) - last), memory]
        last = memory.nbytes
    return pieces


def unpacked(chunk: memoryview) -> Sequence[object]:
    """Return the items of a chunk, whose large arrays are views of it."""
    (length,) = LENGTH.unpack_from(chunk)
    begin = LENGTH.size + length
    pickled, places = pickle.loads(chunk[LENGTH.size : begin])
    begin = _aligned(begin)
    views = []
    for place, size, is_fixed in places:
        view = chunk[begin + place : begin + place + size]
        views.append(view.toreadonly() if is_fixed else view)
    found: Sequence[object] = pickle.loads(pickled, buffers=views)
    return found


def _aligned(size: int) -> int:
    return -(-size // ALIGNED) * ALIGNED


class SharedMemory:
    """Pieces of memory that a process shares with its workers.

    Parameters
    ----------
    count : int
        How many pieces, if the system has such memory.

    Attributes
    ----------
    files : list of int
        Their descriptors, which workers inherit.
    """

    def __init__(self, count: int) -> None:
        self.files: list[int] = []
        self._maps: list[mmap.mmap] = []
        self._free: queue.SimpleQueue[int] = queue.SimpleQueue()
        with suppress(OSError, AttributeError):
            for number in range(count):
                self.files.append(os.memfd_create("preflow"))
                os.ftruncate(self.files[-1], PIECE)
                self._maps.append(mmap.mmap(self.files[-1], PIECE))
                self._free.put(number)

    def put(self, pieces: Pieces) -> tuple[bytes, int | None]:
        """Return the message of a chunk, and the piece that has the chunk, or None if the message has it."""
        length = sum(len(piece) for piece in pieces)
        if FEWEST <= length <= PIECE:
            with suppress(queue.Empty):
                number = self._free.get_nowait()
                end = 0
                for piece in pieces:
                    begin, end = end, end + len(piece)
                    self._maps[number][begin:end] = piece
                return IN_MEMORY + PLACE.pack(number, length), number
        return b"".join((IN_PIPE.ljust(ALIGNED), *pieces)), None

    def free(self, number: int | None) -> None:
        """Use a piece for other chunks."""
        if number is not None:
            self._free.put(number)

    def close(self) -> None:
        """Forget all pieces."""
        for each in self._maps:
            each.close()
        for file in self.files:
            os.close(file)
        self._maps, self.files = [], []


class Inbox:
    """Messages that come to a worker.

    Those in the pipe are read into memory that is used again: fresh pages cost as much as two copies.

    Parameters
    ----------
    stream : file
    files : sequence of int
        Descriptors of shared memory.
    """

    def __init__(self, stream: IO[bytes], files: Sequence[int]) -> None:
        self._stream, self._files = stream, files
        self._memory = bytearray()
        self._maps: dict[int, mmap.mmap] = {}
        self._last: int | None = None

    def chunk(self) -> memoryview:
        """Return the next chunk.

        Raises
        ------
        EOFError
            The other side has ended.
        """
        message = self._message()
        self._last = None
        if message[:1] == IN_PIPE:
            return message[ALIGNED:]
        self._last, length = PLACE.unpack(message[1:])
        if self._last not in self._maps:
            self._maps[self._last] = mmap.mmap(self._files[self._last], PIECE)
        return memoryview(self._maps[self._last])[:length]

    def is_referred_to(self) -> bool:
        """Whether something refers to the last chunk where it lies in shared memory, and always will."""
        if self._last is None:
            return False
        try:
            self._maps[self._last].resize(PIECE)  # its size, which cannot be set while there are views
        except BufferError:
            del self._maps[self._last]
            return True
        return False

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
        """Whether there are views of the memory: its size cannot be changed then."""
        try:
            self._memory.append(0)
        except BufferError:
            return True
        self._memory.pop()
        return False
