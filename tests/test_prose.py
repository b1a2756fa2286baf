"""No private words in ``src``, ``benchmarks``, ``docs``, README and CONTRIBUTING: use those of the field.

``docs/glossary.md`` has the words of the field that a textbook lacks. ``tests/data/prose_exempt.txt`` lists
the files that are still to be rewritten, a line each; it may only shrink. This prints the words of all files:

    python -m tests.test_prose
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.support.paths import DATA, ROOT

pytestmark = pytest.mark.fast

#: What must not be written, as a regular expression, and what to write instead.
PRIVATE = {
    r"(?<!not )(?<!than )so many(?! that)": 'a number with a name: "n items", "every k-th"',
    r"so manyth": '"every k-th"',
    r"for nothing": '"in vain", "wasted"',
    r"anew": '"again"',
    r"heed(s|ed|ing)?": '"obey", "respect"',
    r"stand(s|ing)? in (it|them|for|there)": '"is stored in", "replaces"',
    r"to and fro": '"back and forth"',
    r"gifts?": '"donated work", "stolen work"',
    r"crews?": '"thread pool"',
    r"naps?|napp(ed|ing)": '"sleep", "back off"',
    r"letters?(?= (to|of|for) (a|the|its|other) thread)|mail(s|ed)?": '"messages"',
    r"(is|are|was|were) told": '"is notified"',
    r"in there": "the place",
    r"the way there and back": '"transfer"',
    r"stacks? of matrices": '"batch of matrices"',
}
PATTERN = {re.compile(rf"\b({words})\b", re.IGNORECASE): instead for words, instead in PRIVATE.items()}
RELATIVE_NOUN = re.compile(r'"""(What|Who)\b(?![^"]*\?)')
EXEMPT = DATA / "prose_exempt.txt"


def texts() -> list[Path]:
    """Return the files whose prose is checked."""
    found = [
        path for path in (ROOT / "src").rglob("*") if path.suffix in (".py", ".pyi", ".cu", ".cuh", ".h")
    ]
    found += (ROOT / "benchmarks").rglob("*.py")
    docs = [path for path in (ROOT / "docs").rglob("*.md") if "_build" not in path.parts]
    return sorted([*found, *docs, ROOT / "README.md", ROOT / "CONTRIBUTING.md"])


def private_words(path: Path) -> list[str]:
    """Return the private words of a file, each with its line."""
    found = []
    for number, line in enumerate(path.read_text("utf-8").splitlines(), 1):
        for pattern, instead in PATTERN.items():
            found += [
                f"{path.relative_to(ROOT)}:{number}: {match[0]!r} -> {instead}"
                for match in pattern.finditer(line)
            ]
        if match := RELATIVE_NOUN.search(line):
            begin = line[match.start() :]
            found.append(f"{path.relative_to(ROOT)}:{number}: {begin!r} -> a noun, not a relative clause")
    return found


def test_no_private_words() -> None:
    exempt = set(EXEMPT.read_text("utf-8").split())
    found = [
        line for path in texts() if str(path.relative_to(ROOT)) not in exempt for line in private_words(path)
    ]
    assert not found, "\n".join(found)


if __name__ == "__main__":
    for file in texts():
        for line in private_words(file):
            print(line)
