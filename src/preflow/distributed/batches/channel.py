"""Messages between two processes: through pipes, long ones through memory that both map.

A message through a pipe of 64 KiB takes many steps, in which the two processes wait for each other: 7 ms for
20 MB. To write and read the same bytes in shared memory takes 3. The memory is an anonymous file, which Linux
has: it has no name, so nothing is left when both processes have ended, however they end.
"""

from __future__ import annotations

import mmap
import os
import struct
from typing import IO

#: Bytes from which a message goes through shared memory.
LONG = 1 << 20
#: What comes through the pipe before a message, or in its place: its length, and whether it is in memory.
HEAD = struct.Struct("<Q?")


def shared_memory() -> int | None:
    """Return the descriptor of new shared memory, empty; None where the system has none."""
    try:
        return os.memfd_create("preflow-messages")
    except (AttributeError, OSError):
        return None


class Channel:
    """One end. Both sides take turns to speak, so the memory holds one message.

    Parameters
    ----------
    reading, writing : binary streams
    memory : int or None
        A descriptor of :func:`shared_memory`, which both sides have.
    """

    def __init__(self, reading: IO[bytes], writing: IO[bytes], memory: int | None) -> None:
        self._reading, self._writing, self._memory = reading, writing, memory

    def send(self, message: bytes) -> None:
        """Write a message."""
        in_memory = len(message) >= LONG and self._put(message)
        self._writing.write(HEAD.pack(len(message), in_memory))
        if not in_memory:
            self._writing.write(message)
        self._writing.flush()

    def receive(self) -> bytes | mmap.mmap:
        """Read a message; copy what is needed of it before the next one is sent.

        Raises
        ------
        EOFError
            The other side has ended.
        """
        length, in_memory = HEAD.unpack(self._exactly(HEAD.size))
        if in_memory:
            assert self._memory is not None
            return mmap.mmap(self._memory, length, access=mmap.ACCESS_READ)
        return self._exactly(length)

    def _put(self, message: bytes) -> bool:
        """Write a message to the memory; return False if there is none, or not enough."""
        if self._memory is None:
            return False
        left, at = memoryview(message), 0
        try:
            while at < len(message):
                at += os.pwrite(self._memory, left[at:], at)
        except OSError:
            return False
        return True

    def _exactly(self, count: int) -> bytes:
        found = self._reading.read(count)
        if len(found) < count:
            raise EOFError
        return found
