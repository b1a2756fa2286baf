"""Each field of each kind of result is damaged in many ways: verify() refuses all that is not right.

`docs/development/proofs.md` says of which fields other values may pass, and why.
"""

from __future__ import annotations

import inspect
import random
import re
import warnings
from collections.abc import Iterator

import pytest

import preflow
from preflow import reductions, vision
from preflow.errors import VerificationError
from tests.support.damage import Damage, damaged, damages, fields_of, samples
from tests.support.paths import ROOT

#: How many ways are tried of each sample where not all are.
FEW = 80
REASONS = {"how", "later", "answer", "witness", "bound", "problem", "name"}


def table() -> dict[str, dict[str, str]]:
    """Return, for each class, the fields of which other values may pass, and why."""
    found: dict[str, dict[str, str]] = {}
    text = (ROOT / "docs" / "development" / "proofs.md").read_text(encoding="utf-8")
    for name, cell in re.findall(r"^\| ([A-Z]\w+) \| (.*?)\|$", text, re.MULTILINE):
        found[name] = {}
        for part in filter(None, cell.strip().split("; ")):
            fields, reason = part.split(": ")
            found[name] |= dict.fromkeys(fields.split(", "), reason)
    return found


def provable() -> Iterator[type]:
    """Yield all public classes of results with a proof."""
    for module in (preflow, reductions, vision, preflow.distributed):
        for name in module.__all__:
            kind = getattr(module, name)
            if inspect.isclass(kind) and hasattr(kind, "verify"):
                yield kind


def test_the_table_has_all_results() -> None:
    classes = {kind.__name__ for kind in provable()} - {"DrawnResult"}
    assert classes == set(table()), "list each class of results in docs/development/proofs.md"
    assert classes == {name.split()[0].strip(",") for name in samples()}, "tests/support/damage.py lacks one"
    assert {reason for fields in table().values() for reason in fields.values()} <= REASONS


def what_passes(name: str, few: bool) -> Iterator[tuple[str, Damage]]:
    """Yield the damage that verify() does not find."""
    sample = samples()[name]
    result, other = sample.one(), sample.other()
    result.verify()
    ways = [
        (field, damage)
        for field in fields_of(result)
        for damage in damages(getattr(result, field, None), getattr(other, field, None))
    ]
    for field, damage in random.Random(name).sample(ways, min(FEW, len(ways))) if few else ways:
        changed = damaged(result, field, damage.value)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                changed.verify()
        except VerificationError:
            continue
        except Exception as error:
            raise AssertionError(f"{field}, {damage.what}: {type(error).__name__}: {error}") from error
        yield field, damage


def check(name: str, few: bool) -> None:
    kind = name.split()[0].strip(",")
    allowed = table()[kind]
    wrong = [f"{field}: {damage.what}" for field, damage in what_passes(name, few) if field not in allowed]
    assert not wrong


@pytest.mark.parametrize("name", samples())
def test_damage_is_found(name: str) -> None:
    check(name, few=True)


@pytest.mark.slow
@pytest.mark.parametrize("name", samples())
def test_all_damage_is_found(name: str) -> None:
    check(name, few=False)
