"""Citations of the package, and of the papers that its methods and results come from."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from importlib.metadata import PackageNotFoundError, metadata
from importlib.resources import files
from typing import Literal, NamedTuple

from .errors import InvalidInputError
from .maxflow.batch.methods import METHODS as BATCH_METHODS
from .registry import PROBLEMS, methods
from .solving.method import Method

#: As in CITATION.cff.
AUTHORS = "the preflow developers"
TITLE = "preflow: maximum flow, minimum cut, matching, assignment, minimum-cost flow and transport"
YEAR = 2026
#: The field of a BibTeX entry that says where a paper was published, by the type of the entry.
FIELD_OF_PLACE = {
    "article": "journal",
    "inproceedings": "booktitle",
    "mastersthesis": "school",
    "misc": "howpublished",
}


class Paper(NamedTuple):
    """A source."""

    #: the type of its entry in ``papers.bib``, one of `FIELD_OF_PLACE`, and the name of the entry
    kind: str
    key: str
    #: of the entry: author, title, the field of the place, perhaps volume, year
    fields: dict[str, str]

    def bibtex(self) -> str:
        """Return the entry of a BibTeX file, whose title keeps its capital letters."""
        return bibtex_entry(self.kind, self.key, self.fields | {"title": f"{{{self.fields['title']}}}"})

    def text(self) -> str:
        """Return the entry of a list of references."""
        authors = self.fields["author"].split(" and ")
        listed = " and ".join(filter(None, [", ".join(authors[:-1]), authors[-1]]))
        place = f"{self.fields[FIELD_OF_PLACE[self.kind]]} {self.fields.get('volume', '')}".strip()
        return f'{listed}, "{self.fields["title"]}", {place}, {self.fields["year"]}.'


def bibtex_entry(kind: str, key: str, fields: dict[str, str]) -> str:
    """Return an entry of a BibTeX file; fields that are empty are left out."""
    lines = [f"  {name} = {{{value}}}," for name, value in fields.items() if value]
    return "\n".join([f"@{kind}{{{key},", *lines, "}"])


@cache
def papers() -> dict[str, Paper]:
    """Return the papers by the words with which methods name them; a section or a figure may follow these."""
    text = files(__package__).joinpath("papers.bib").read_text("utf-8")
    found = {}
    for kind, key, lines in re.findall(r"^@(\w+)\{(\w+),\n(.*?)^\}", text, re.DOTALL | re.MULTILINE):
        fields = dict(re.findall(r"^  (\w+) = \{(.*)\},$", lines, re.MULTILINE))
        found[fields.pop("label")] = Paper(kind, key, fields)
    return found


#: Other words for some of them.
SHORT = {
    "Azad et al. 2012": "Azad, Halappanavar, Rajamanickam, Boman, Khan and Pothen 2012",
    "Goldberg's HI_PR codes": "Cherkassky and Goldberg 1997",
    "Łupińska": "Łupińska 2011",
}
#: The sources of results that do not come from one method, by the name of their class.
OF_RESULTS = {
    "BottleneckAssignment": "Duff and Koster 2001",
    "CheapPaths": "Suurballe 1974",
    "DiagonalScaling": "Duff and Koster 2001; Duff and Pralet 2005",
    "DirectedMinCut": "Hao and Orlin 1994",
    "DulmageMendelsohn": "Dulmage and Mendelsohn 1958; Pothen and Fan 1990",
    "EdgeConnectivity": "Even 1975; Esfahanian and Hakimi 1984",
    "GlobalMinCut": "Nagamochi and Ibaraki 1992",
    "GomoryHuTree": "Gusfield 1990; Gomory and Hu 1961",
    "GrabCut": "Rother, Kolmogorov and Blake 2004",
    "Labelling": "Boykov, Veksler and Zabih 2001",
    "LabelSegmentation": "Boykov, Veksler and Zabih 2001",
    "LayeredSurfaces": "Li, Wu, Chen and Sonka 2006",
    "MinimumCuts": "Picard and Queyranne 1980",
    "OpticalFlow": "Boykov, Veksler and Zabih 2001",
    "ParametricMaxFlow": "Gallo, Grigoriadis and Tarjan 1989",
    "PartialLabelling": "Boros and Hammer 2002; Kolmogorov and Rother 2007",
    "PostmanTour": "Edmonds and Johnson 1973",
    "ProjectSelection": "Picard 1976",
    "RankedAssignments": "Murty 1968",
    "Stereo": "Boykov, Veksler and Zabih 2001",
    "TJoin": "Edmonds and Johnson 1973",
    "UnwrappedPhase": "Costantini 1998",
    "VertexConnectivity": "Even 1975; Esfahanian and Hakimi 1984",
}


def cite(what: object = None, *, style: Literal["bibtex", "text"] = "bibtex") -> str:
    """Return what to cite in published work: preflow, and the papers of a method or of a result.

    Parameters
    ----------
    what : str, Method or result, optional
        The name of a method, also one of those that papers use, in all problems that have such a method; a
        method that :func:`preflow.methods` lists; or the result of a solve or of a reduction. Default:
        preflow alone.
    style : {"bibtex", "text"}
        Entries of a BibTeX file, or of a list of references.

    Returns
    -------
    str
        The entries, with preflow as the first one.

    Raises
    ------
    InvalidInputError
        There is no such method, or it is no result.

    Examples
    --------
    >>> import preflow
    >>> print(preflow.cite("serial-dinic", style="text"))  # doctest: +ELLIPSIS
    the preflow developers, "preflow: maximum flow, minimum cut, ... and transport", version ..., 2026.
    E. A. Dinic, "Algorithm for solution of a problem of maximum flow in networks with power estimation", \
Soviet Mathematics Doklady 11, 1970.
    """
    if style not in ("bibtex", "text"):
        raise InvalidInputError(f"style must be 'bibtex' or 'text', got {style!r}")
    as_bibtex = style == "bibtex"
    entries = [_package(as_bibtex)]
    for words in dict.fromkeys(() if what is None else _sources_of(what)):
        paper = paper_of(words)
        if paper is not None:
            entries.append(paper.bibtex() if as_bibtex else paper.text())
        elif not words.startswith("preflow"):
            # A method from outside may name any source.
            key = re.sub(r"[^\w]", "", words).lower()
            entries.append(bibtex_entry("misc", key, {"note": words}) if as_bibtex else f"{words}.")
    return ("\n\n" if as_bibtex else "\n").join(dict.fromkeys(entries))


def _package(as_bibtex: bool) -> str:
    from . import __version__

    try:
        addresses = metadata("preflow").get_all("Project-URL") or []
    except PackageNotFoundError:
        addresses = []
    home = "".join(each.partition(", ")[2] for each in addresses if each.startswith("Homepage, "))
    if as_bibtex:
        fields = {
            "author": f"{{{AUTHORS}}}",
            "title": f"{{{TITLE}}}",
            "version": __version__,
            "url": home,
            "year": str(YEAR),
        }
        return bibtex_entry("software", "preflow", fields)
    return ", ".join(filter(None, [AUTHORS, f'"{TITLE}"', f"version {__version__}", home, f"{YEAR}."]))


def _sources_of(what: object) -> Iterator[str]:
    """Yield the sources of a method or of a result, in the words of `Method.paper`."""
    if isinstance(what, Method):
        yield from what.paper.split("; ")
    elif isinstance(what, str):
        yield from _sources_by_name(what, None)
    else:
        of_class = OF_RESULTS.get(type(what).__name__)
        parts = getattr(what, "__dict__", {}).values()
        # Some results hold the result of another solve, or a tuple of them.
        held = (part[0] if isinstance(part, tuple) and part else part for part in parts)
        solved = next((each for each in (what, *held) if isinstance(_method_name(each), str)), None)
        name = _method_name(solved)
        is_ours = type(what).__module__.startswith("preflow.")
        if of_class is None and not isinstance(name, str) and not is_ours:
            raise InvalidInputError(
                f"cite takes the name of a method, a Method or a result, not {type(what).__name__}"
            )
        yield from of_class.split("; ") if of_class else ()
        if isinstance(name, str):
            # Several problems have methods of one name.
            folder = "".join(type(solved).__module__.split(".")[1:2])
            problems = (problem.name for problem in PROBLEMS if problem.folder == folder)
            yield from _sources_by_name(name, next(problems, None))


def _method_name(result: object) -> object:
    return getattr(getattr(result, "stats", None), "method", None)


def _sources_by_name(name: str, problem: str | None) -> Iterator[str]:
    """Yield the sources of the methods with a name, of one problem or of all."""
    found = [each for each in _methods_of(problem) if name in (each.name, *each.other_names)]
    if not found:
        raise InvalidInputError(f"unknown method {name!r}: preflow.methods() lists them")
    for method in found:
        yield from method.paper.split("; ")


def _methods_of(problem: str | None) -> Iterator[Method]:
    for name, listed in methods().items():
        if problem in (None, name):
            yield from listed
    if problem in (None, "max_flow"):
        yield from BATCH_METHODS


def paper_of(words: str) -> Paper | None:
    """Return the paper that `words` name, perhaps with a section or a figure behind its year."""
    words = words.removeprefix("preflow, after ")
    names = [name for name in (*papers(), *SHORT) if words == name or words.startswith(f"{name}, ")]
    if not names:
        return None
    longest = max(names, key=len)
    return papers()[SHORT.get(longest, longest)]
