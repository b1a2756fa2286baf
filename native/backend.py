"""The build backend: hatchling's, which also tells the metadata without building anything.

pip asks for the metadata first. hatchling leaves pip without an answer, since build hooks may change it, and
pip then builds the whole wheel to read it, with nothing on the screen for minutes.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from hatchling import build as hatchling
from hatchling.build import build_editable, build_sdist, build_wheel, get_requires_for_build_sdist

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
import hatch_build

__all__ = [
    "build_editable",
    "build_sdist",
    "build_wheel",
    "get_requires_for_build_editable",
    "get_requires_for_build_sdist",
    "get_requires_for_build_wheel",
    "prepare_metadata_for_build_wheel",
]

#: Older versions of Python get the metadata, by which pip refuses the package in one line.
OLDEST = (3, 11)


def get_requires_for_build_wheel(config_settings: dict[str, Any] | None = None) -> list[str]:
    """Return what a build needs beside hatchling: nothing where no kernel has to be compiled."""
    return hatchling.get_requires_for_build_wheel(config_settings) if sys.version_info >= OLDEST else []


def get_requires_for_build_editable(config_settings: dict[str, Any] | None = None) -> list[str]:
    """Return what an editable install needs beside hatchling: it compiles nothing."""
    return hatchling.get_requires_for_build_editable(config_settings) if sys.version_info >= OLDEST else []


def prepare_metadata_for_build_wheel(
    metadata_directory: str, config_settings: dict[str, Any] | None = None
) -> str:
    """Write the metadata that the wheel will have; return the name of its folder."""
    from hatchling.builders.wheel import WheelBuilder

    root = Path.cwd()
    builder = WheelBuilder(str(root))
    folder = Path(metadata_directory, f"{builder.artifact_project_id}.dist-info")
    folder.mkdir(exist_ok=True)
    needs = [hatch_build.NUMBA] if hatch_build.needs_numba(str(root)) else []
    text = builder.config.core_metadata_constructor(builder.metadata, extra_dependencies=needs)
    Path(folder, "METADATA").write_text(text, encoding="utf-8")
    return folder.name
