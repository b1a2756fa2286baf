"""A description of the machine that a benchmark runs on, without anything that identifies it."""

from __future__ import annotations

import os
import platform
import shlex
import subprocess
import sys
from collections.abc import Iterable
from importlib import metadata
from pathlib import Path

from preflow.errors import PreflowError
from preflow.solving.dispatch import usable_cpus

#: The packages whose versions are always reported.
OWN_PACKAGES = ("preflow", "numpy", "scipy", "numba", "llvmlite")


class TooLargeError(PreflowError):
    """An instance needs more memory than the machine has."""


def describe_machine() -> dict[str, object]:
    """Return processor, memory, operating system, Python and GPUs. An unknown property is None."""
    return {
        "cpu": _field(Path("/proc/cpuinfo"), "model name") or platform.processor() or None,
        "cores": os.cpu_count(),
        "usable_cores": usable_cpus(),
        "memory_bytes": memory_bytes(),
        "transparent_huge_pages": _huge_pages(),
        "load_average": list(os.getloadavg()) if hasattr(os, "getloadavg") else None,
        "system": f"{platform.system()} {platform.release()} {platform.machine()}",
        "python": f"{platform.python_implementation()} {platform.python_version()}",
        "gpus": _gpus(),
    }


def package_versions(names: Iterable[str]) -> dict[str, str]:
    """Return the versions of packages, of CuPy and CUDA if the process uses them, and the commit."""
    versions = {}
    for name in (*OWN_PACKAGES, *names):
        try:
            versions[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    if (cupy := sys.modules.get("cupy")) is not None:
        versions |= {"cupy": cupy.__version__, "cuda": str(cupy.cuda.runtime.runtimeGetVersion())}
    if commit := _commit():
        versions["commit"] = commit
    return versions


def command() -> str:
    """Return the command that runs the benchmarks, empty in other programs. Of paths it has the last part."""
    spec = getattr(sys.modules["__main__"], "__spec__", None)
    module = "" if spec is None else spec.name.removesuffix(".__main__")
    if module.partition(".")[0] != "benchmarks":
        return ""
    words = (Path(word).name if Path(word).is_absolute() else word for word in sys.argv[1:])
    return shlex.join(["python", "-m", module, *words])


def _commit() -> str:
    """Return the commit of this clone, with a plus if files differ from it.

    A copy of the files without git has it in the variable PREFLOW_COMMIT, if it has it.
    """

    def git(*words: str) -> str:
        root = Path(__file__).resolve().parent
        answer = subprocess.run(["git", *words], cwd=root, capture_output=True, text=True, check=True)
        return answer.stdout.strip()

    try:
        changed = git("status", "--porcelain", "--untracked-files=no")
        return git("rev-parse", "--short=8", "HEAD") + ("+" if changed else "")
    except (OSError, subprocess.SubprocessError):
        return os.environ.get("PREFLOW_COMMIT", "")


def _field(file: Path, name: str) -> str | None:
    """Return the first value of `name` in a file with lines ``name : value``."""
    if not file.is_file():
        return None
    for line in file.read_text().splitlines():
        key, _, value = line.partition(":")
        if key.strip() == name:
            return value.strip()
    return None


def memory_bytes() -> int | None:
    """Return the size of the main memory, None if it is unknown."""
    total = _field(Path("/proc/meminfo"), "MemTotal")
    return None if total is None else int(total.split()[0]) * 1024


def check_memory(needed: float) -> None:
    """Raise TooLargeError if the machine has less than `needed` bytes of main memory."""
    available = memory_bytes()
    if available is not None and needed > available:
        raise TooLargeError(f"takes about {needed / 2**30:.0f} GiB of memory")


def _huge_pages() -> str | None:
    """Return the setting of Linux. NumPy asks for huge pages, and the first access to one can be slow."""
    file = Path("/sys/kernel/mm/transparent_hugepage/enabled")
    return file.read_text().partition("[")[2].partition("]")[0] if file.is_file() else None


def _gpus() -> list[dict[str, str]]:
    fields = ("name", "memory.total", "driver_version")
    command = ["nvidia-smi", f"--query-gpu={','.join(fields)}", "--format=csv,noheader"]
    try:
        answer = subprocess.run(command, capture_output=True, text=True, timeout=30, check=True)
    except (OSError, subprocess.SubprocessError):
        return []
    rows = (line.split(", ") for line in answer.stdout.splitlines())
    return [dict(zip(fields, row, strict=False)) for row in rows]
