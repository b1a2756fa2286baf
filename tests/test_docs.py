"""Every Python block of the README and of the pages for users runs alone."""

from __future__ import annotations

import re
from importlib.util import find_spec
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PAGES = [
    ROOT / "README.md",
    ROOT / "docs" / "getting_started.md",
    *sorted((ROOT / "docs" / "problems").glob("*.md")),
]
BLOCKS = [
    pytest.param(block, id=f"{page.stem}-{number}")
    for page in PAGES
    for number, block in enumerate(re.findall(r"^```python\n(.*?)^```", page.read_text("utf-8"), re.S | re.M))
]


#: Packages that the extra ``dev`` lacks, or that some platform lacks.
OPTIONAL = ("dask", "ray")


@pytest.mark.parametrize("block", BLOCKS)
def test_block_runs_alone(block: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for package in OPTIONAL:
        if re.search(rf"^import {package}\b", block, re.M) and find_spec(package) is None:
            pytest.skip(f"{package} is not installed")
    monkeypatch.chdir(tmp_path)
    exec(compile(block, "<block>", "exec"), {"__name__": "block"})
