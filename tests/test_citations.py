"""Tests of `cite`: it names preflow, and the papers of methods and results."""

from __future__ import annotations

import dataclasses
import re
from pathlib import Path

import numpy as np
import pytest

import preflow
from preflow import citations
from preflow.errors import InvalidInputError

pytestmark = pytest.mark.fast

ROOT = Path(__file__).resolve().parents[1]


def test_the_package_is_as_in_citation_cff() -> None:
    entry = preflow.cite()
    cff = ROOT.joinpath("CITATION.cff").read_text("utf-8")
    for what in (citations.TITLE, citations.AUTHORS, preflow.__version__):
        assert what in cff
        assert what in entry
    released = re.search(r"^date-released: (\d{4})", cff, re.M)
    assert released is None or int(released[1]) == citations.YEAR


def test_the_paper_of_every_method_is_known() -> None:
    for method in citations._methods_of(None):
        for words in method.paper.split("; "):
            assert words == "preflow" or citations.paper_of(words), f"{method.name}: {words}"
        for name in (method.name, *method.other_names):
            assert {*preflow.cite(method).split("\n\n")} <= {*preflow.cite(name).split("\n\n")}
    for words in "; ".join(citations.OF_RESULTS.values()).split("; "):
        assert citations.paper_of(words), words


def test_results_with_sources_of_their_own_exist() -> None:
    for name in citations.OF_RESULTS:
        places = (preflow, preflow.reductions, preflow.vision)
        assert any(hasattr(place, name) for place in places), name


def test_the_file_of_papers_is_read_whole() -> None:
    keys = [paper.key for paper in citations.papers().values()]
    assert len(keys) == len(set(keys))
    entries = ROOT.joinpath("src", "preflow", "papers.bib").read_text("utf-8").count("\n@")
    assert entries == len(keys)


def test_cite_a_result() -> None:
    result = preflow.max_flow(([0], [1], [3]), 0, 1, method="serial-dinic")
    assert preflow.cite(result) == preflow.cite("serial-dinic")
    assert "@article{dinic1970algorithm,\n  author = {E. A. Dinic},\n" in preflow.cite(result)
    tree = preflow.gomory_hu_tree(([0], [1]))
    assert [line.split(",")[0] for line in preflow.cite(tree, style="text").splitlines()] == [
        citations.AUTHORS,
        "D. Gusfield",
        "R. E. Gomory and T. C. Hu",
    ]
    image = np.zeros((6, 6))
    image[2:4, 2:4] = 1
    segmentation = preflow.vision.segment(image, image > 0, image == 0)
    assert preflow.cite(segmentation) == preflow.cite(segmentation.cut)


def test_results_that_hold_another_result() -> None:
    jobs = preflow.reductions.assign_jobs([[1, 2], [3, 1]], limit=1)
    assert preflow.cite(jobs) == preflow.cite(jobs.result)
    denoised = preflow.vision.denoise(np.arange(16, dtype=np.uint8).reshape(4, 4), 1)
    assert preflow.cite(denoised) == preflow.cite(denoised.cuts[0])
    grey = preflow.vision.denoise(np.zeros((4, 4), dtype=np.uint8), 1)
    assert preflow.cite(grey) == preflow.cite()  # nothing was cut


def test_methods_of_one_name_in_two_problems() -> None:
    """A result has the source of its own problem's method."""
    assignment = preflow.linear_assignment([[1, 2], [3, 1]], method="multicore-lockfree", threads=1)
    assert "Hong" not in preflow.cite(assignment)
    assert "Hong" in preflow.cite("multicore-lockfree")


def test_a_method_from_outside_names_its_source() -> None:
    outside = dataclasses.replace(preflow.methods("max_flow")[0], paper="Nobody 2030")
    assert preflow.cite(outside).endswith("@misc{nobody2030,\n  note = {Nobody 2030},\n}")
    assert preflow.cite(outside, style="text").endswith("\nNobody 2030.")


def test_errors() -> None:
    with pytest.raises(InvalidInputError, match="unknown method 'hipr'"):
        preflow.cite("hipr")
    with pytest.raises(InvalidInputError, match="a Method or a result, not int"):
        preflow.cite(3)
    with pytest.raises(InvalidInputError, match="style must be"):
        preflow.cite(style="apa")  # type: ignore[arg-type]
