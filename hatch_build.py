"""Hooks of the package build: compile the kernels into the wheel where that is possible.

A wheel gets the usual kernels for the CPU that builds it, and Numba compiles others on first use. Those of
a release, with PREFLOW_KINDS=all and PREFLOW_LEVELS=all in the environment, have all kernels for all CPUs and
do not need Numba. The wheel is pure Python where the kernels cannot be compiled, or with PREFLOW_PURE=1. All
that is decided when the wheel is built, perhaps on another machine than the source archive: so Numba is no
dependency of the archive.
"""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

#: Compiles the kernels of pure wheels and of editable installs, as the extra ``jit`` does.
NUMBA = "numba>=0.61"


def native_build(root: str) -> Any:
    """Return the module ``native/build.py``."""
    spec = spec_from_file_location("preflow_native_build", Path(root, "native", "build.py"))
    assert spec is not None
    assert spec.loader is not None
    build = sys.modules[spec.name] = module_from_spec(spec)
    spec.loader.exec_module(build)
    return build


def obstacle(root: str) -> str | None:
    """Return why the wheel is pure, None where it is not."""
    if os.environ.get("PREFLOW_PURE") == "1":
        return "PREFLOW_PURE is 1"
    found: str | None = native_build(root).obstacle(numba_comes_later=True)
    return found


def least_stars() -> int:
    """Return the stars that kinds need in kinds.txt to be compiled into the wheel: 0 for a release."""
    return int(os.environ.get("PREFLOW_KINDS") != "all")


def needs_numba(root: str) -> bool:
    """Return whether Numba compiles kernels of the wheel on first use."""
    return least_stars() > 0 or obstacle(root) is not None


def library_of(root: str) -> Path:
    """Return the library that goes into the wheel."""
    return Path(root, "build", "wheel", native_build(root).LIBRARY.name)


class KernelHook(BuildHookInterface):  # type: ignore[misc]
    """Compiles the kernels into the wheel."""

    PLUGIN_NAME = "custom"

    def dependencies(self) -> list[str]:
        """Return what a build with kernels needs: the compiler, and what preflow imports when it compiles."""
        if obstacle(self.root) or self.is_current():
            return []
        return list(self.config["compiler"])

    def is_current(self) -> bool:
        """Return whether an earlier build has left the library, or an editable install needs none."""
        current: bool = native_build(self.root).is_current(library_of(self.root), False, least_stars())
        return current

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Build the library, but for an editable install: there ``native/build.py`` does, on demand."""
        if version == "editable":
            build_data["dependencies"].append(NUMBA)
            return
        native = native_build(self.root)
        native.end_with_parent()
        if needs_numba(self.root):
            build_data["dependencies"].append(NUMBA)
        reason = obstacle(self.root)
        if reason is not None:
            self.app.display_warning(f"kernels compile at their first use: {reason}")
            return
        library = library_of(self.root)
        library.parent.mkdir(parents=True, exist_ok=True)
        if not self.is_current():
            build = [sys.executable, Path(self.root, "native", "build.py"), "--wheel", "--library", library]
            subprocess.run([*build, "--stars", str(least_stars())], check=True)  # type: ignore[list-item]
        platform = sysconfig.get_platform().replace("-", "_").replace(".", "_")
        version = f"cp3{sys.version_info.minor}"
        python = f"{version}-{version}t" if native.FREE_THREADED else "cp311-abi3"
        build_data["tag"] = f"{python}-{platform}"
        build_data["pure_python"] = False
        build_data["force_include"][str(library)] = f"preflow/{library.name}"
