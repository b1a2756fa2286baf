"""Segmentation of a volume that need not fit the memory: ``preflow segment --volume``."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ..checks import needed_for
from ..errors import InvalidInputError, ParseError
from .files import check_ending, check_outputs
from .session import solver_progress

if TYPE_CHECKING:
    from ..arrays import AnyArray
    from ..solving.result import Status

#: Factors of the units of --memory.
UNITS = {"": 1, "K": 10**3, "M": 10**6, "G": 10**9, "T": 10**12}


def segment_volume(
    volume: str,
    out: str,
    seeds: tuple[tuple[str, ...], tuple[str, ...]],
    *,
    memory: str | None,
    folder: str | None,
    threads: int | None,
    time_limit: float | None,
    verify: bool,
    **look: Any,
) -> Status:
    """Segment a volume on files and print a report; return the status of the cut."""
    from ..distributed import grid_cut
    from ..distributed.volume_energy import VolumeEnergy
    from .reports import aligned, ended, proof, shape_text, times

    check_mask(out, volume)
    size = None if memory is None else parse_size(memory)
    given = open_volume(volume)
    energy = VolumeEnergy(given, *seeds, memory=size, **look)
    with new_mask(out, given) as mask:
        with solver_progress() as progress:
            result = grid_cut(
                energy.source,
                energy.sink,
                energy.neighbor,
                connectivity=energy.connectivity,
                exchange="files",
                memory=size,
                folder=folder,
                out=mask,
                threads=threads,
                time_limit=time_limit,
                progress=progress,
            )
        if verify:
            result.verify()
    rows = [
        ("volume", f"{shape_text(result.shape)} voxels"),
        ("energy", f"{result.upper_bound / 1000:,.3f} nats{ended(result.status)}"),
        ("method", f"{result.stats.method}: {result.stats.reason}"),
        ("time", times(result.stats.seconds)),
        ("verified", proof(verify, result.status == "optimal")),
        ("wrote", out),
    ]
    click.echo("\n".join(aligned(rows)))
    return result.status


def check_mask(path: str, volume: str) -> None:
    """Check the name of the mask before long work; an array of zarr may be there and is replaced."""
    check_ending(path.rstrip("/"), "a mask", ".zarr", ".npy")
    if Path(path).is_dir():
        if Path(path).resolve() == Path(volume).resolve():
            raise InvalidInputError(f"{path}: the mask would replace the volume")
        if not any((Path(path) / name).exists() for name in ("zarr.json", ".zarray")):
            raise InvalidInputError(f"{path}: a folder that is no array of zarr is there")
    else:
        check_outputs([path], [volume])


def parse_size(text: str) -> int:
    """Return the number of bytes of a text such as "4GB" or "500M"."""
    found = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([KMGT]?)B?\s*", text, re.IGNORECASE)
    if found is None or float(found[1]) <= 0:
        raise InvalidInputError(f'--memory is a size such as "4GB" or "500MB", got {text!r}')
    return int(float(found[1]) * UNITS[found[2].upper()])


def open_volume(path: str) -> AnyArray:
    """Open an array of zarr, or a file of NumPy, without reading it."""
    if path.endswith(".npy"):
        import numpy as np

        try:
            return np.load(path, mmap_mode="r")
        except (OSError, ValueError) as error:
            raise ParseError(path, None, f"cannot be read as an array of NumPy: {error}") from error
    zarr = _zarr()
    if not Path(path).exists():
        raise ParseError(path, None, "there is no such volume")
    try:
        return zarr.open_array(path, mode="r")
    except Exception as error:  # zarr raises errors of many kinds
        raise ParseError(path, None, f"cannot be read as an array of zarr: {error}") from error


@contextmanager
def new_mask(path: str, volume: AnyArray) -> Iterator[AnyArray]:
    """Yield an array of bool that becomes the mask at the end; after an error the old mask is as it was."""
    from ..distributed.files import storing

    target = Path(path).resolve()
    part, old = (target.with_name(f"{target.name}.{ending}") for ending in ("part", "old"))
    try:
        with storing(path):
            mask = _create_mask(part, target.suffix, volume)
        yield mask
        with storing(path):
            if target.suffix == ".npy":
                mask.flush()
            elif target.exists():
                target.replace(old)  # a folder cannot take the place of another one
            part.replace(target)
    except BaseException:
        if old.exists() and not target.exists():
            old.replace(target)
        if target.suffix == ".npy":
            with suppress(OSError):
                part.unlink()
        else:
            shutil.rmtree(part, ignore_errors=True)
        raise
    shutil.rmtree(old, ignore_errors=True)


def _create_mask(path: Path, kind: str, volume: AnyArray) -> AnyArray:
    shape = tuple(map(int, volume.shape))
    if kind == ".npy":
        import numpy as np

        return np.lib.format.open_memmap(path, "w+", np.bool_, shape)
    chunks = getattr(volume, "chunks", None) or tuple(min(length, 64) for length in shape)
    return _zarr().create_array(path, shape=shape, chunks=chunks, dtype="bool", overwrite=True)


def _zarr() -> AnyArray:
    with needed_for("a volume in .zarr", "zarr", "distributed"):
        import zarr
    return zarr
