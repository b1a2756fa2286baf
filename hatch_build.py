"""Hooks of the package build: compile the kernels into the wheel where that is possible.

A wheel with compiled kernels does not need Numba. The wheel is pure Python and depends on Numba where the
kernels cannot be compiled, or where the environment says PREFLOW_PURE=1. That is decided when the wheel is
built, perhaps on another machine than the source archive: so Numba is no dependency of the archive.
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


class KernelHook(BuildHookInterface):  # type: ignore[misc]
    """Compiles the kernels into the wheel."""

    PLUGIN_NAME = "custom"

    def dependencies(self) -> list[str]:
        """Return what a build with kernels needs: the compiler, and what preflow imports when it compiles."""
        if obstacle(self.root):
            return []
        return [*self.config["compiler"], *self.metadata.core.dependencies]

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Build the library, but for an editable install: there ``native/build.py`` does, on demand."""
        if version == "editable":
            build_data["dependencies"].append(NUMBA)
            return
        reason = obstacle(self.root)
        if reason is not None:
            build_data["dependencies"].append(NUMBA)
            self.app.display_warning(f"a pure wheel, whose kernels Numba compiles on first use: {reason}")
            return
        self.app.display_info("compiling the kernels: about eight CPU minutes unless they are cached")
        library = Path(self.root, "build", "wheel", native_build(self.root).LIBRARY.name)
        library.parent.mkdir(parents=True, exist_ok=True)
        build = Path(self.root, "native", "build.py")
        subprocess.run([sys.executable, build, "--wheel", "--library", library], check=True)
        platform = sysconfig.get_platform().replace("-", "_").replace(".", "_")
        build_data["tag"] = f"cp311-abi3-{platform}"
        build_data["pure_python"] = False
        build_data["force_include"][str(library)] = f"preflow/{library.name}"
