"""Citations of the package, and of the papers that its methods and results come from."""

from __future__ import annotations

import re
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, metadata
from typing import Literal, NamedTuple

from .errors import InvalidInputError
from .maxflow.batch.methods import METHODS as BATCH_METHODS
from .registry import methods
from .solving.method import Method

#: As in CITATION.cff.
AUTHORS = "the preflow developers"
TITLE = "preflow: maximum flow, minimum cut, matching and assignment"
YEAR = 2026
#: The field of a BibTeX entry that says where a paper was published, by the type of the entry.
FIELD_OF_PLACE = {
    "article": "journal",
    "inproceedings": "booktitle",
    "mastersthesis": "school",
    "misc": "howpublished",
}


class Paper(NamedTuple):
    """A source.

    Attributes
    ----------
    kind : str
        The type of its BibTeX entry: a key of `FIELD_OF_PLACE`.
    authors : str
        Separated by " and ".
    title : str
    place : str
        The journal, the proceedings or the school.
    year : int
    volume : str
        Of a journal.
    """

    kind: str
    authors: str
    title: str
    place: str
    year: int
    volume: str = ""

    @property
    def key(self) -> str:
        """The name of the entry: the first author, the year and a word of the title."""
        word = next(word for word in self.title.split() if len(word) > 3)
        words = (self.authors.split(" and ")[0].split()[-1], str(self.year), word)
        return re.sub(r"[^\w]", "", "".join(words)).lower()

    def bibtex(self) -> str:
        """Return the entry of a BibTeX file."""
        fields = {
            "author": self.authors,
            "title": f"{{{self.title}}}",
            FIELD_OF_PLACE[self.kind]: self.place,
            "volume": self.volume,
            "year": str(self.year),
        }
        return bibtex_entry(self.kind, self.key, fields)

    def text(self) -> str:
        """Return the entry of a list of references."""
        authors = self.authors.split(" and ")
        listed = " and ".join(filter(None, [", ".join(authors[:-1]), authors[-1]]))
        place = f"{self.place} {self.volume}".strip()
        return f'{listed}, "{self.title}", {place}, {self.year}.'


def bibtex_entry(kind: str, key: str, fields: dict[str, str]) -> str:
    """Return an entry of a BibTeX file; fields that are empty are left out."""
    lines = [f"  {name} = {{{value}}}," for name, value in fields.items() if value]
    return "\n".join([f"@{kind}{{{key},", *lines, "}"])


#: By the words with which methods name them; a section or a figure may follow these words.
PAPERS: dict[str, Paper] = {
    "Ahuja and Orlin 1991": Paper(
        "article",
        "R. K. Ahuja and J. B. Orlin",
        "Distance-directed augmenting path algorithms for maximum flow and parametric maximum flow problems",
        "Naval Research Logistics",
        1991,
        "38",
    ),
    "Anderson and Setubal 1992": Paper(
        "inproceedings",
        "R. J. Anderson and J. C. Setubal",
        "On the parallel implementation of Goldberg's maximum flow algorithm",
        "SPAA",
        1992,
    ),
    "Avis 1983": Paper(
        "article",
        "D. Avis",
        "A survey of heuristics for the weighted matching problem",
        "Networks",
        1983,
        "13",
    ),
    "Azad, Buluç and Pothen 2016": Paper(
        "article",
        "A. Azad and A. Buluç and A. Pothen",
        "Computing maximum cardinality matchings in parallel on bipartite graphs via tree-grafting",
        "IEEE TPDS",
        2017,
        "28",
    ),
    "Azad, Halappanavar, Rajamanickam, Boman, Khan and Pothen 2012": Paper(
        "inproceedings",
        "A. Azad and M. Halappanavar and S. Rajamanickam and E. G. Boman and A. Khan and A. Pothen",
        "Multithreaded algorithms for maximum matching in bipartite graphs",
        "IPDPS",
        2012,
    ),
    "Bader and Sachdeva 2005": Paper(
        "inproceedings",
        "D. A. Bader and V. Sachdeva",
        "A cache-aware parallel implementation of the push-relabel network flow algorithm and experimental "
        "evaluation of the gap relabeling heuristic",
        "PDCS",
        2005,
    ),
    "Balas, Miller, Pekny and Toth 1991": Paper(
        "article",
        "E. Balas and D. Miller and J. Pekny and P. Toth",
        "A parallel shortest augmenting path algorithm for the assignment problem",
        "Journal of the ACM",
        1991,
        "38",
    ),
    "Baumstark, Blelloch and Shun 2015": Paper(
        "inproceedings",
        "N. Baumstark and G. Blelloch and J. Shun",
        "Efficient implementation of a synchronous parallel push-relabel algorithm",
        "ESA",
        2015,
    ),
    "Bertsekas 1988": Paper(
        "article",
        "D. P. Bertsekas",
        "The auction algorithm: a distributed relaxation method for the assignment problem",
        "Annals of Operations Research",
        1988,
        "14",
    ),
    "Boykov and Kolmogorov 2004": Paper(
        "article",
        "Y. Boykov and V. Kolmogorov",
        "An experimental comparison of min-cut/max-flow algorithms for energy minimization in vision",
        "IEEE PAMI",
        2004,
        "26",
    ),
    "Boykov, Veksler and Zabih 2001": Paper(
        "article",
        "Y. Boykov and O. Veksler and R. Zabih",
        "Fast approximate energy minimization via graph cuts",
        "IEEE PAMI",
        2001,
        "23",
    ),
    "Chandran and Hochbaum 2009": Paper(
        "article",
        "B. G. Chandran and D. S. Hochbaum",
        "A computational study of the pseudoflow and push-relabel algorithms for the maximum flow problem",
        "Operations Research",
        2009,
        "57",
    ),
    "Cherkassky and Goldberg 1997": Paper(
        "article",
        "B. V. Cherkassky and A. V. Goldberg",
        "On implementing the push-relabel method for the maximum flow problem",
        "Algorithmica",
        1997,
        "19",
    ),
    "Cihan 2010": Paper(
        "mastersthesis",
        "S. Cihan",
        "Parallel maximum flow solver for multi-core machines",
        "Boğaziçi University",
        2010,
    ),
    "Costantini 1998": Paper(
        "article",
        "M. Costantini",
        "A novel phase unwrapping method based on network programming",
        "IEEE Transactions on Geoscience and Remote Sensing",
        1998,
        "36",
    ),
    "Cunningham 1976": Paper(
        "article", "W. H. Cunningham", "A network simplex method", "Mathematical Programming", 1976, "11"
    ),
    "Cuturi 2013": Paper(
        "inproceedings",
        "M. Cuturi",
        "Sinkhorn distances: lightspeed computation of optimal transport",
        "NIPS",
        2013,
    ),
    "Dantzig 1951": Paper(
        "inproceedings",
        "G. B. Dantzig",
        "Application of the simplex method to a transportation problem",
        "Activity Analysis of Production and Allocation",
        1951,
    ),
    "Delong and Boykov 2008": Paper(
        "inproceedings",
        "A. Delong and Y. Boykov",
        "A scalable graph-cut algorithm for N-D grids",
        "CVPR",
        2008,
    ),
    "Deveci, Kaya, Uçar and Çatalyürek 2013": Paper(
        "inproceedings",
        "M. Deveci and K. Kaya and B. Uçar and Ü. V. Çatalyürek",
        "A push-relabel-based maximum cardinality bipartite matching algorithm on GPUs",
        "ICPP",
        2013,
    ),
    "Deveci, Kaya, Uçar and Çatalyürek, Euro-Par 2013": Paper(
        "inproceedings",
        "M. Deveci and K. Kaya and B. Uçar and Ü. V. Çatalyürek",
        "GPU accelerated maximum cardinality matching algorithms for bipartite graphs",
        "Euro-Par",
        2013,
    ),
    "Dinic 1970": Paper(
        "article",
        "E. A. Dinic",
        "Algorithm for solution of a problem of maximum flow in networks with power estimation",
        "Soviet Mathematics Doklady",
        1970,
        "11",
    ),
    "Drake and Hougardy 2003": Paper(
        "inproceedings",
        "D. E. Drake and S. Hougardy",
        "Linear time local improvements for weighted matchings in graphs",
        "WEA",
        2003,
    ),
    "Duff and Wiberg 1988": Paper(
        "article",
        "I. S. Duff and T. Wiberg",
        "Remarks on implementations of O(n^(1/2) τ) assignment algorithms",
        "ACM TOMS",
        1988,
        "14",
    ),
    "Duff, Kaya and Uçar 2011": Paper(
        "article",
        "I. S. Duff and K. Kaya and B. Uçar",
        "Design, implementation, and analysis of maximum transversal algorithms",
        "ACM TOMS",
        2011,
        "38",
    ),
    "Dulmage and Mendelsohn 1958": Paper(
        "article",
        "A. L. Dulmage and N. S. Mendelsohn",
        "Coverings of bipartite graphs",
        "Canadian Journal of Mathematics",
        1958,
        "10",
    ),
    "Edmonds 1965": Paper(
        "article", "J. Edmonds", "Paths, trees, and flowers", "Canadian Journal of Mathematics", 1965, "17"
    ),
    "Edmonds and Johnson 1973": Paper(
        "article",
        "J. Edmonds and E. L. Johnson",
        "Matching, Euler tours and the Chinese postman",
        "Mathematical Programming",
        1973,
        "5",
    ),
    "Edmonds and Karp 1972": Paper(
        "article",
        "J. Edmonds and R. M. Karp",
        "Theoretical improvements in algorithmic efficiency for network flow problems",
        "Journal of the ACM",
        1972,
        "19",
    ),
    "Esfahanian and Hakimi 1984": Paper(
        "article",
        "A. H. Esfahanian and S. L. Hakimi",
        "On computing the connectivities of graphs and digraphs",
        "Networks",
        1984,
        "14",
    ),
    "Even 1975": Paper(
        "article",
        "S. Even",
        "An algorithm for determining whether the connectivity of a graph is at least k",
        "SIAM J. Computing",
        1975,
        "4",
    ),
    "Ford and Fulkerson 1958": Paper(
        "article",
        "L. R. Ford and D. R. Fulkerson",
        "A suggested computation for maximal multi-commodity network flows",
        "Management Science",
        1958,
        "5",
    ),
    "Gabow 1976": Paper(
        "article",
        "H. N. Gabow",
        "An efficient implementation of Edmonds' algorithm for maximum matching on graphs",
        "Journal of the ACM",
        1976,
        "23",
    ),
    "Gabow 2017": Paper(
        "article",
        "H. N. Gabow",
        "The weighted matching approach to maximum cardinality matching",
        "Fundamenta Informaticae",
        2017,
        "154",
    ),
    "Gabow and Tarjan 1991": Paper(
        "article",
        "H. N. Gabow and R. E. Tarjan",
        "Faster scaling algorithms for general graph-matching problems",
        "Journal of the ACM",
        1991,
        "38",
    ),
    "Galil, Micali and Gabow 1986": Paper(
        "article",
        "Z. Galil and S. Micali and H. Gabow",
        "An O(EV log V) algorithm for finding a maximal weighted matching in general graphs",
        "SIAM Journal on Computing",
        1986,
        "15",
    ),
    "Gallo, Grigoriadis and Tarjan 1989": Paper(
        "article",
        "G. Gallo and M. D. Grigoriadis and R. E. Tarjan",
        "A fast parametric maximum flow algorithm and applications",
        "SIAM J. Computing",
        1989,
        "18",
    ),
    "Goldberg 1997": Paper(
        "article",
        "A. V. Goldberg",
        "An efficient implementation of a scaling minimum-cost flow algorithm",
        "Journal of Algorithms",
        1997,
        "22",
    ),
    "Goldberg 2008": Paper(
        "inproceedings",
        "A. V. Goldberg",
        "The partial augment-relabel algorithm for the maximum flow problem",
        "ESA",
        2008,
    ),
    "Goldberg and Kennedy 1995": Paper(
        "article",
        "A. V. Goldberg and R. Kennedy",
        "An efficient cost scaling algorithm for the assignment problem",
        "Mathematical Programming",
        1995,
        "71",
    ),
    "Goldberg and Tarjan 1988": Paper(
        "article",
        "A. V. Goldberg and R. E. Tarjan",
        "A new approach to the maximum-flow problem",
        "Journal of the ACM",
        1988,
        "35",
    ),
    "Goldberg and Tarjan 1990": Paper(
        "article",
        "A. V. Goldberg and R. E. Tarjan",
        "Finding minimum-cost circulations by successive approximation",
        "Mathematics of Operations Research",
        1990,
        "15",
    ),
    "Goldberg, Hed, Kaplan, Tarjan and Werneck 2011": Paper(
        "inproceedings",
        "A. V. Goldberg and S. Hed and H. Kaplan and R. E. Tarjan and R. F. Werneck",
        "Maximum flows by incremental breadth-first search",
        "ESA",
        2011,
    ),
    "Gomory and Hu 1961": Paper(
        "article", "R. E. Gomory and T. C. Hu", "Multi-terminal network flows", "SIAM Journal", 1961, "9"
    ),
    "Grigoriadis 1986": Paper(
        "article",
        "M. D. Grigoriadis",
        "An efficient implementation of the network simplex method",
        "Mathematical Programming Study",
        1986,
        "26",
    ),
    "Gusfield 1990": Paper(
        "article",
        "D. Gusfield",
        "Very simple methods for all pairs network flow analysis",
        "SIAM J. Computing",
        1990,
        "19",
    ),
    "He and Hong 2010": Paper(
        "inproceedings",
        "Z. He and B. Hong",
        "Dynamically tuned push-relabel algorithm for the maximum flow problem on CPU-GPU-hybrid platforms",
        "IPDPS",
        2010,
    ),
    "Hochbaum 2008": Paper(
        "article",
        "D. S. Hochbaum",
        "The pseudoflow algorithm: a new algorithm for the maximum-flow problem",
        "Operations Research",
        2008,
        "56",
    ),
    "Hong 2008": Paper(
        "inproceedings",
        "B. Hong",
        "A lock-free multi-threaded algorithm for the maximum flow problem",
        "IPDPS",
        2008,
    ),
    "Hong and He 2011": Paper(
        "article",
        "B. Hong and Z. He",
        "An asynchronous multithreaded algorithm for the maximum network flow problem with nonblocking "
        "global relabeling heuristic",
        "IEEE TPDS",
        2011,
        "22",
    ),
    "Hopcroft and Karp 1973": Paper(
        "article",
        "J. E. Hopcroft and R. M. Karp",
        "An n^(5/2) algorithm for maximum matchings in bipartite graphs",
        "SIAM Journal on Computing",
        1973,
        "2",
    ),
    "Jonker and Volgenant 1987": Paper(
        "article",
        "R. Jonker and A. Volgenant",
        "A shortest augmenting path algorithm for dense and sparse linear assignment problems",
        "Computing",
        1987,
        "38",
    ),
    "Karp and Sipser 1981": Paper(
        "inproceedings", "R. M. Karp and M. Sipser", "Maximum matchings in sparse random graphs", "FOCS", 1981
    ),
    "Langguth, Azad, Halappanavar and Manne 2014": Paper(
        "article",
        "J. Langguth and A. Azad and M. Halappanavar and F. Manne",
        "On parallel push-relabel based algorithms for bipartite graph matching",
        "Parallel Computing",
        2014,
        "40",
    ),
    "Liu and Sun 2010": Paper(
        "inproceedings",
        "J. Liu and J. Sun",
        "Parallel graph-cuts by adaptive bottom-up merging",
        "CVPR",
        2010,
    ),
    "Manne and Bisseling 2008": Paper(
        "inproceedings",
        "F. Manne and R. H. Bisseling",
        "A parallel approximation algorithm for the weighted maximum matching problem",
        "PPAM 2007",
        2008,
    ),
    "Nagamochi and Ibaraki 1992": Paper(
        "article",
        "H. Nagamochi and T. Ibaraki",
        "Computing edge-connectivity in multigraphs and capacitated graphs",
        "SIAM J. Discrete Mathematics",
        1992,
        "5",
    ),
    "Pettie and Sanders 2004": Paper(
        "article",
        "S. Pettie and P. Sanders",
        "A simpler linear time 2/3 - epsilon approximation for maximum weight matching",
        "Information Processing Letters",
        2004,
        "91",
    ),
    "Picard 1976": Paper(
        "article",
        "J.-C. Picard",
        "Maximal closure of a graph and applications to combinatorial problems",
        "Management Science",
        1976,
        "22",
    ),
    "Picard and Queyranne 1980": Paper(
        "article",
        "J.-C. Picard and M. Queyranne",
        "On the structure of all minimum cuts in a network and applications",
        "Mathematical Programming Study",
        1980,
        "13",
    ),
    "Pothen and Fan 1990": Paper(
        "article",
        "A. Pothen and C.-J. Fan",
        "Computing the block triangular form of a sparse matrix",
        "ACM TOMS",
        1990,
        "16",
    ),
    "Preis 1999": Paper(
        "inproceedings",
        "R. Preis",
        "Linear time 1/2-approximation algorithm for maximum weighted matching in general graphs",
        "STACS",
        1999,
    ),
    "Rother, Kolmogorov and Blake 2004": Paper(
        "inproceedings",
        "C. Rother and V. Kolmogorov and A. Blake",
        "GrabCut: interactive foreground extraction using iterated graph cuts",
        "SIGGRAPH",
        2004,
    ),
    "Suurballe 1974": Paper(
        "article", "J. W. Suurballe", "Disjoint paths in a network", "Networks", 1974, "4"
    ),
    "Tomizawa 1971": Paper(
        "article",
        "N. Tomizawa",
        "On some techniques useful for solution of transportation network problems",
        "Networks",
        1971,
        "1",
    ),
    "Vineet and Narayanan 2008": Paper(
        "inproceedings",
        "V. Vineet and P. J. Narayanan",
        "CUDA cuts: fast graph cuts on the GPU",
        "CVPR Workshops",
        2008,
    ),
    "Wu, He and Hong 2011": Paper(
        "inproceedings",
        "J. Wu and Z. He and B. Hong",
        "Efficient CUDA algorithms for the maximum network flow problem",
        "GPU Computing Gems, Jade Edition",
        2011,
    ),
    "Łupińska 2011": Paper(
        "misc",
        "A. Łupińska",
        "Parallel implementation of flow and matching algorithms",
        "Jagiellonian University",
        2011,
    ),
}
#: Other words for some of them.
SHORT = {
    "Azad et al. 2012": "Azad, Halappanavar, Rajamanickam, Boman, Khan and Pothen 2012",
    "Goldberg's HI_PR codes": "Cherkassky and Goldberg 1997",
    "Łupińska": "Łupińska 2011",
}
#: The sources of results that do not come from one method, by the name of their class.
OF_RESULTS = {
    "CheapPaths": "Suurballe 1974",
    "DulmageMendelsohn": "Dulmage and Mendelsohn 1958; Pothen and Fan 1990",
    "EdgeConnectivity": "Even 1975; Esfahanian and Hakimi 1984",
    "GlobalMinCut": "Nagamochi and Ibaraki 1992",
    "GomoryHuTree": "Gusfield 1990; Gomory and Hu 1961",
    "GrabCut": "Rother, Kolmogorov and Blake 2004",
    "Labelling": "Boykov, Veksler and Zabih 2001",
    "LabelSegmentation": "Boykov, Veksler and Zabih 2001",
    "MinimumCuts": "Picard and Queyranne 1980",
    "OpticalFlow": "Boykov, Veksler and Zabih 2001",
    "ParametricMaxFlow": "Gallo, Grigoriadis and Tarjan 1989",
    "PostmanTour": "Edmonds and Johnson 1973",
    "ProjectSelection": "Picard 1976",
    "Stereo": "Boykov, Veksler and Zabih 2001",
    "TJoin": "Edmonds and Johnson 1973",
    "UnwrappedPhase": "Costantini 1998",
    "VertexConnectivity": "Even 1975; Esfahanian and Hakimi 1984",
}


#: The problems whose results are in a folder of the package; several problems have methods of one name.
PROBLEMS = {
    "maxflow": "max_flow",
    "gridcut": "grid_cut",
    "bipartite": "bipartite_matching",
    "general_matching": "matching",
    "assignment": "linear_assignment",
    "mincost": "min_cost_flow",
    "transportation": "transport",
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
    the preflow developers, "preflow: maximum flow, minimum cut, matching and assignment", version ..., 2026.
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
            folder = type(solved).__module__.split(".")[1:2]
            yield from _sources_by_name(name, PROBLEMS.get("".join(folder)))


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
    names = [name for name in (*PAPERS, *SHORT) if words == name or words.startswith(f"{name}, ")]
    if not names:
        return None
    longest = max(names, key=len)
    return PAPERS[SHORT.get(longest, longest)]
