"""Whether the compiled library is whole: one that was cut off ends the process when it is called.

The build adds its size and a checksum at the end, which loaders ignore. A library without them, as on macOS,
where they would break its signature, must have all the bytes that its ELF header maps, if it has one.
"""

from __future__ import annotations

import os
import struct
import zlib
from pathlib import Path
from typing import BinaryIO

#: What is added: a mark, the size of the library, and the checksum of some pieces of it.
MARK, ADDED = b"preflow.", struct.Struct("<8sQI")
#: Pieces that the checksum covers, from the first bytes to the last, and bytes of each. To read all of 2.4 MB
#: takes 3 ms at every start, to read these 0.25 ms.
PIECES, BYTES = 64, 1 << 12
#: The first bytes of a little-endian ELF file of 64 bits; of its header the offset of the segments, the size
#: of the description of one, and their number; of a description the offset and the size in the file.
ELF, HEADER, SEGMENT = b"\x7fELF\2\1", struct.Struct("<32xQ14xHH6x"), struct.Struct("<8xQ16xQ16x")


def seal(library: Path) -> None:
    """Add the size and the checksum to a library that was built."""
    with library.open("r+b", buffering=0) as file:
        size = os.fstat(file.fileno()).st_size
        added = ADDED.pack(MARK, size, _sum(file, size))
        file.seek(size)
        file.write(added)


def damage(library: Path) -> str | None:
    """Return what is wrong with a library, None if nothing is seen."""
    with library.open("rb", buffering=0) as file:
        size = os.fstat(file.fileno()).st_size
        file.seek(max(0, size - ADDED.size))
        end = file.read(ADDED.size)
        if end.startswith(MARK):
            _, expected, found = ADDED.unpack(end)
            if expected + ADDED.size != size or found != _sum(file, expected):
                return "it is not as it was built"
            return None
        file.seek(0)
        head = file.read(HEADER.size)
        if not head.startswith(ELF):
            return None
        begin, each, count = HEADER.unpack(head) if len(head) == HEADER.size else (size, SEGMENT.size, 1)
        file.seek(begin)
        segments = file.read(each * count)
        if len(segments) < each * count or each != SEGMENT.size:
            return "it was cut off"
        ends = [offset + length for offset, length in SEGMENT.iter_unpack(segments)]
        return None if max(ends, default=0) <= size else "it was cut off"


def _sum(file: BinaryIO, size: int) -> int:
    """Return the checksum of pieces of the first bytes of a file."""
    found, last = 0, max(0, size - BYTES)
    for begin in sorted({last * i // (PIECES - 1) for i in range(PIECES)}):
        file.seek(begin)
        found = zlib.crc32(file.read(BYTES), found)
    return found
