"""The version of a build: the number in ``preflow/__init__.py``, and in a clone the commit.

"0.1.0+2950.g1a2b3c4d" is commit 1a2b3c4d, the 2950th of its history. A commit with the tag of its version has
the number alone.
"""

import re
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def version() -> str:
    """Return the version of the package that is built from this folder."""
    archive = ROOT / "PKG-INFO"  # a source archive has the version that it was made with
    if archive.exists():
        return str(re.findall(r"^Version: (.+)$", archive.read_text(encoding="utf-8"), re.MULTILINE)[0])
    text = (ROOT / "src" / "preflow" / "__init__.py").read_text(encoding="utf-8")
    number = str(re.findall(r'^__version__ = "(.+)"$', text, re.MULTILINE)[0])
    if not (ROOT / ".git").exists() or f"v{number}" in _git("tag", "--points-at", "HEAD").split():
        return number
    commit = _git("rev-parse", "--short=8", "HEAD")
    return f"{number}+{_git('rev-list', '--count', 'HEAD')}.g{commit}" if commit else number


def _git(*arguments: str) -> str:
    """Return what git prints; nothing where there is no git."""
    try:
        done = subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=False)
    except FileNotFoundError:
        return ""
    return done.stdout.strip()


__version__ = version()
