"""Each field of each kind of result is damaged in many ways: verify() refuses all that is not right.

`docs/development/proofs.md` says of which fields other values may pass, and why.
"""

from __future__ import annotations

import inspect
import re
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import preflow
from preflow import reductions, vision
from preflow.errors import VerificationError
from tests.support.damage import Damage, damaged, damages, fields_of, more_samples, samples
from tests.support.paths import ROOT

#: Samples of which a proof solves many cuts.
LONG = {
    "Denoised channels",
    "LabelSegmentation of an image",
    "OpticalFlow of textures",
    "Stereo of textures",
}
#: Reasons for which no value of a field matters to the proof.
UNSEEN = {"how", "later", "name"}
REASONS = {*UNSEEN, "answer", "witness", "bound", "problem"}


def class_of(name: str) -> str:
    """Return the class of a sample."""
    return re.split("[ ,]", name)[0]


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
    assert classes == set(map(class_of, samples())), "tests/support/damage.py lacks one"
    assert {reason for fields in table().values() for reason in fields.values()} <= REASONS


def what_passes(result: Any, other: Any) -> Iterator[tuple[str, Damage]]:
    """Yield the damage that verify() does not find."""
    result.verify()
    for field in fields_of(result):
        for damage in damages(getattr(result, field, None), getattr(other, field, None)):
            try:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    damaged(result, field, damage.value).verify()
            except VerificationError:
                continue
            except Exception as error:
                raise AssertionError(f"{field}, {damage.what}: {type(error).__name__}: {error}") from error
            yield field, damage


@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=[pytest.mark.slow] * (name in LONG)) for name in (*samples(), *more_samples())],
)
def test_all_damage_is_found(name: str) -> None:
    sample, reasons = {**samples(), **more_samples()}[name], table()[class_of(name)]
    result = sample.one()
    wrong = []
    for field, damage in what_passes(result, sample.other()):
        # Where another value may pass, it is one of the same kind.
        alike = (type(None), int, float, type(getattr(result, field)))
        if reasons.get(field) not in UNSEEN and (field not in reasons or type(damage.value) not in alike):
            wrong.append(f"{field}: {damage.what}")
    assert not wrong


def test_no_gap_is_smaller_than_the_proof_allows() -> None:
    """A larger bound than that of an optimum holds, too, but sums of floats do not prove a gap of 0."""
    checked = set()
    for name, sample in {**samples(), **more_samples()}.items():
        if not name.endswith("of floats"):
            continue
        result = sample.one()
        field = next((each for each in ("_gap", "gap") if each in fields_of(result)), None)
        gap = getattr(result, field) if field else 0
        if not np.any(gap):
            continue
        with pytest.raises(VerificationError):
            damaged(result, field, 0 * gap).verify()
        checked.add(class_of(name))
    assert checked >= {
        *("MaxFlowResult", "MinCutResult", "MaxFlowBatchResult", "GridCutResult", "GridCutBatchResult"),
        *("GeneralMatchingResult", "TransportResult", "GlobalMinCut", "ParametricMaxFlow", "GomoryHuTree"),
        *("ProjectSelection", "EnergyMinimum"),
    }
