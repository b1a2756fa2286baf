"""Tables on the command line: names go in, and the same names come out."""

from __future__ import annotations

import gzip
import json
import re
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from preflow.errors import InvalidInputError, MissingDependencyError, ParseError
from preflow.io.tables import read_columns, read_cost_table, write_columns
from preflow.solving.run import Control
from tests.cli.test_matching import run, succeed

pytestmark = pytest.mark.fast

ROADS = "from,to,capacity\ndepot,north,4\ndepot,south,3\nnorth,shop,2\nsouth,shop,5\n"
HOURS = "worker,sew,cook,dig\nada,4,1,9\nbob,2,0,5\ncyd,3,2,2\n"


def written(folder: Path, name: str, text: str) -> str:
    path = folder / name
    content = text.encode()
    path.write_bytes(gzip.compress(content) if name.endswith(".gz") else content)
    return str(path)


def lines_of(path: Path) -> list[str]:
    return path.read_text().splitlines()


class TestSolve:
    def test_names_in_and_out(self, tmp_path: Path) -> None:
        roads, flow = written(tmp_path, "roads.csv", ROADS), tmp_path / "flow.csv"
        text = succeed("solve", roads, "--source", "depot", "--sink", "shop", "-o", str(flow), "--verify")
        assert "roads: 4 vertices, 4 arcs" in text
        assert lines_of(flow) == [
            "source,target,capacity,flow,cut",
            "depot,north,4,2,False",
            "depot,south,3,3,True",
            "north,shop,2,2,True",
            "south,shop,5,3,False",
        ]
        text = succeed("solve", roads, "--source", "depot", "--sink", "shop", "--min-cut", "-o", "-")
        assert text.splitlines() == ["vertex,side", "depot,source", "north,source", "south,sink", "shop,sink"]
        facts = json.loads(succeed("solve", roads, "--source", "depot", "--sink", "shop", "--json"))
        assert facts["value"] == 5
        assert "4" in succeed("info", roads)

    @pytest.mark.parametrize("name", ["roads.tsv", "roads.csv.gz", "roads.csv"])
    def test_separators(self, tmp_path: Path, name: str) -> None:
        text = ROADS.replace(",", "\t" if ".tsv" in name else ";") + "\n\n"
        file = written(tmp_path, name, "\ufeff" + text)
        facts = json.loads(succeed("solve", file, "--source", "depot", "--sink", "shop", "--json"))
        assert facts["value"] == 5
        output = tmp_path / f"out{name}"
        succeed("solve", file, "--source", "depot", "--sink", "shop", "-o", str(output))
        assert read_columns(output).names == ["source", "target", "capacity", "flow", "cut"]

    def test_numbers_stay_as_they_are_written(self, tmp_path: Path) -> None:
        file = written(tmp_path, "x.csv", "tail,head,capacity\n007,7,3\n7,100,0x\n".replace("0x", "2"))
        text = succeed("solve", file, "--source", "007", "--sink", "100", "-o", "-")
        assert text.splitlines()[1:] == ["007,7,3,2,False", "7,100,2,2,True"]

    def test_undirected_and_several_sources(self, tmp_path: Path) -> None:
        file = written(tmp_path, "x.csv", "u,v,capacity\na,b,3\nc,b,2\nd,c,1.5\n")
        options = ["--source", "a", "--source", "d", "--sink", "c", "--json"]
        assert json.loads(succeed("solve", file, *options, "--undirected"))["value"] == 3.5
        assert json.loads(succeed("solve", file, *options))["value"] == 1.5

    def test_costs(self, tmp_path: Path) -> None:
        arcs = written(tmp_path, "arcs.csv", "source,target,capacity,cost\na,b,4,1\na,c,4,5\nb,c,4,2\n")
        supply = written(tmp_path, "supply.csv", "vertex,supply\na,6\nc,-6\n")
        text = succeed("solve", arcs, "--supply", supply, "--verify", "-o", "-")
        assert text.splitlines()[1:] == ["a,b,4,1,4", "a,c,4,5,2", "b,c,4,2,4"]

    def test_a_dimacs_problem_to_a_table(self, tmp_path: Path) -> None:
        problem = written(tmp_path, "x.max", "p max 3 2\nn 1 s\nn 3 t\na 1 2 4\na 2 3 2\n")
        flow, cut = tmp_path / "flow.csv", tmp_path / "cut.csv"
        succeed("solve", problem, "-o", str(flow))
        assert lines_of(flow)[1:] == ["1,2,4,2,False", "2,3,2,2,True"]
        succeed("solve", problem, "--min-cut", "-o", str(cut))
        assert lines_of(cut) == ["vertex,side", "1,source", "2,source", "3,sink"]
        assert succeed("solve", problem, "-o", "-").startswith("c ")

    @pytest.mark.parametrize(
        ("arguments", "message"),
        [
            ([], "--source A --sink B"),
            (["--source", "depot", "--sink", "moon"], "vertex 'moon' is not in the file"),
            (["--source", "depot", "--sink", "shop", "-o", "flow.sol"], "names go to a table"),
            (["--source", "depot", "--sink", "depot"], "'depot' is both source and sink"),
        ],
    )
    def test_bad_arguments(self, tmp_path: Path, arguments: list[str], message: str) -> None:
        result = run("solve", written(tmp_path, "roads.csv", ROADS), *arguments)
        assert result.exit_code == 2
        assert message in result.stderr

    def test_terminals_are_for_tables(self, tmp_path: Path) -> None:
        problem = written(tmp_path, "x.max", "p max 2 1\nn 1 s\nn 2 t\na 1 2 4\n")
        assert "are for tables" in run("solve", problem, "--source", "1").stderr
        costs = written(tmp_path, "x.csv", "from,to,cost\na,b,3\n")
        assert "--supply FILE" in run("solve", costs).stderr
        roads = written(tmp_path, "roads.csv", ROADS)
        assert "no column 'cost'" in run("solve", roads, "--supply", roads.replace("roads", "x")).stderr


class TestMatchAndAssign:
    def test_match(self, tmp_path: Path) -> None:
        skills = written(tmp_path, "skills.csv", "worker,job\nada,sew\nbob,sew\nada,cook dinner\n")
        text = succeed("match", skills, "--verify", "-o", "-")
        assert text.splitlines() == ["row,column", "ada,cook dinner", "bob,sew"]
        assert "names" in run("match", skills, "--permutation", str(tmp_path / "p.txt")).stderr
        assert "names go to a table" in run("match", skills, "-o", str(tmp_path / "p.txt")).stderr

    def test_the_same_numbers_in_and_out(self, tmp_path: Path) -> None:
        edges = written(tmp_path, "edges.txt", "1 1\n2 1\n2 2\n3 3\n")
        pairs = tmp_path / "pairs.csv"
        succeed("match", edges, "-o", str(pairs))
        assert sorted(lines_of(pairs)[1:]) == ["1,1", "2,2", "3,3"]
        assert sorted(succeed("match", edges, "-o", "-").splitlines()) == ["1 1", "2 2", "3 3"]
        matrix = "%%MatrixMarket matrix coordinate pattern general\n2 2 2\n1 2\n2 1\n"
        succeed("match", written(tmp_path, "m.mtx", matrix), "-o", str(pairs))
        assert lines_of(pairs)[1:] == ["1,2", "2,1"]

    def test_general(self, tmp_path: Path) -> None:
        friends = written(tmp_path, "friends.csv", "u,v,weight\nada,bob,3\nbob,cyd,4\ncyd,dan,3\n")
        text = succeed("match", friends, "--general", "--verify", "-o", "-")
        assert text.splitlines() == ["source,target,weight", "ada,bob,3", "cyd,dan,3"]
        text = succeed("match", friends, "--general", "--unweighted", "-o", "-")
        assert text.splitlines()[0] == "source,target"

    @pytest.mark.parametrize(
        "costs",
        [HOURS, "row,column,cost\nada,sew,4\nada,cook,1\nbob,sew,2\nbob,cook,0\nbob,dig,5\ncyd,dig,2\n"],
    )
    def test_assign(self, tmp_path: Path, costs: str) -> None:
        file, pairs = written(tmp_path, "hours.csv", costs), tmp_path / "pairs.csv"
        text = succeed("assign", file, "--verify", "-o", str(pairs))
        assert "5" in text
        assert lines_of(pairs) == ["row,column,cost", "ada,cook,1", "bob,sew,2", "cyd,dig,2"]

    def test_numbers_that_could_be_weights(self, tmp_path: Path) -> None:
        friends = written(tmp_path, "friends.csv", "who,whom,since,name\nada,bob,3,x\nbob,cyd,9,y\n")
        assert "--ends FIRST,SECOND" in run("match", friends, "--general").stderr
        error = run("match", friends, "--general", "--ends", "who,whom").stderr
        assert (
            "friends.csv:1: there is no column 'weight'; there are: 'who', 'whom', 'since', 'name'" in error
        )
        assert "; --weight since names another one; --unweighted counts each edge as 1" in error
        by_year = ("--general", "--weight", "SINCE", "--ends", "who,whom", "-o", "-")
        assert succeed("match", friends, *by_year).splitlines()[1:] == ["bob,cyd,9"]
        options = ("--general", "--unweighted", "--ends", "who,whom", "-o", "-")
        assert succeed("match", friends, *options).startswith("source,target\n")

    def test_infinite_costs(self, tmp_path: Path) -> None:
        file = written(tmp_path, "x.csv", "who,sew,cook\nada,inf,1\nbob,3,0\n")
        assert succeed("assign", file, "-o", "-").splitlines()[1:] == ["ada,cook,1.0", "bob,sew,3.0"]

    def test_names_in_errors(self, tmp_path: Path) -> None:
        file = written(tmp_path, "x.csv", "who,sew,cook\nada,inf,1\nbob,inf,2\n")
        result = run("assign", file)
        assert result.exit_code == 2
        assert "rows ada, bob" in result.stderr or "column sew" in result.stderr
        assert "; --partial leaves some of them over" in result.stderr

    def test_columns_with_numbers_as_names(self, tmp_path: Path) -> None:
        file = written(tmp_path, "x.csv", ",101,102\n7,3,1\n8,2,9\n")
        assert succeed("assign", file, "-o", "-").splitlines()[1:] == ["7,102,1", "8,101,2"]

    def test_transport(self, tmp_path: Path) -> None:
        cost = written(tmp_path, "cost.csv", ",shop,port\nnorth,4,1\nsouth,2,3\n")
        a = written(tmp_path, "a.csv", "name,mass\nsouth,5\nnorth,3\n")
        b = written(tmp_path, "b.csv", "name,mass\nshop,4\nport,4\n")
        plan = tmp_path / "plan.csv"
        succeed("transport", cost, "--a", a, "--b", b, "--out", str(plan), "--verify")
        assert sorted(lines_of(plan)[1:]) == ["north,port,3", "south,port,1", "south,shop,4"]
        wrong = written(tmp_path, "wrong.csv", "name,mass\neast,5\n")
        assert "'east'" in run("transport", cost, "--a", wrong, "--b", b).stderr


@pytest.mark.parametrize("name", ["x.csv", "x.parquet", "X.XLSX"])
def test_write_and_read(tmp_path: Path, name: str) -> None:
    if name.endswith("parquet"):
        pytest.importorskip("pyarrow")
    if name.endswith("XLSX"):
        pytest.importorskip("openpyxl")
    columns = {"source": ["a, b", 'c"', "d\ne"], "number": [1, 2**53 + 1, -3]}
    if name.endswith("XLSX"):
        with pytest.raises(InvalidInputError, match=r"past 2\*\*53"):
            write_columns(tmp_path / name, columns)
        columns["number"][1] -= 2
    write_columns(tmp_path / name, columns)
    table = read_columns(tmp_path / name)
    assert table.names == list(columns)
    assert table.labels("source") == columns["source"]
    assert table.numbers("number") == columns["number"]


def test_parquet(tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    roads = str(tmp_path / "roads.parquet")
    write_columns(roads, {"source": [1, 1, 2], "target": [2, 3, 3], "capacity": [4, 1, 2]})
    flow = tmp_path / "flow.parquet"
    succeed("solve", roads, "--source", "1", "--sink", "3", "-o", str(flow))
    assert read_columns(flow).labels("source") == [1, 1, 2]
    assert read_columns(flow).numbers("flow") == [2, 1, 2]
    write_columns(roads, {"source": [1, None], "target": [2, 3], "capacity": [4, 1]})
    assert "row 2: no value in column 'source'" in run("solve", roads, "--source", "1", "--sink", "3").stderr
    (tmp_path / "bad.parquet").write_bytes(b"PAR1 nonsense")
    result = run("assign", str(tmp_path / "bad.parquet"))
    assert result.exit_code == 2
    assert "no Parquet file, or a damaged one" in result.stderr
    assert run("assign", str(tmp_path / "none.parquet")).exit_code == 2


def test_without_pyarrow(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(MissingDependencyError, match="pyarrow"):
        write_columns(tmp_path / "x.parquet", {"a": [1]})
    assert run("assign", str(tmp_path / "x.parquet")).exit_code == 4


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "the file is empty"),
        ("a,b,3\nb,c,2\n", "the first line names the columns, and it has the number 3"),
        ("from,to,capacity\na,b\n", ":2: expected 3 fields, got 2"),
        ("from,to,capacity\na,b,three\n", "'three' in column 'capacity' is not a number"),
        (
            "from;to;capacity\na;b;4,5\n",
            "'4,5' in column 'capacity' is not a number; an infinite capacity is inf; --decimal , takes",
        ),
        (
            'from,to,capacity\na,b,"1,000"\n',
            "is inf; --decimal . takes a comma for a mark of thousands",
        ),
        ("from,to,capacity\n\na,b,3\n\nb,c,x\n", ":5: 'x' in column 'capacity' is not a number"),
        ("from,to,cost\na,b,3\n", "no 'capacity', which a maximum flow needs"),
        ("from,to,capacity\na,b,1_000\n", "'1_000' in column 'capacity' is not a number"),
        ("from,to,capacity\na,,3\n", ":2: no value in column 'to'"),
        ("from,to,capacity\na,b,\n", ":2: no value in column 'capacity'"),
        ("from,to,capacity\na,b,-3\n", ":2: the capacity is negative, -3"),
        ("from,to,capacity\na,b,nan\n", ":2: the capacity is NaN"),
        (
            "from,to,a price\na,b,3\n",
            "no column 'capacity'; there are: 'from', 'to', 'a price'; --capacity 'a price' names another",
        ),
        ("from,to,capacity,lower\na,b,3,1\n", ":2: column 'lower' has a lower bound, which a maximum flow"),
        ("from,there,capacity\na,b,3\n", "expected columns for both ends"),
        ("from,to,capacity,Capacity\na,b,3,4\n", "there are several columns 'capacity'"),
        ('from,to,capacity\n"a,b,3\n', "damaged"),
        ("from,to,capacity\n\x00,b,3\n", None),
    ],
)
def test_bad_tables(tmp_path: Path, text: str, message: str | None) -> None:
    result = run("solve", written(tmp_path, "x.csv", text), "--source", "a", "--sink", "b")
    assert result.exit_code == 2
    assert message is None or message in result.stderr


@pytest.mark.parametrize("encoding", ["latin-1", "utf-16", "utf-16-le"])
def test_another_encoding(tmp_path: Path, encoding: str) -> None:
    """UTF-16 says what it is where it begins with its mark; other encodings are named."""
    file = tmp_path / "x.csv"
    file.write_bytes("from,to,capacity\na,b,3\nb,Zürich,4\n".encode(encoding))
    command = ("solve", str(file), "--source", "a", "--sink", "Zürich")
    result = run(*command)
    assert result.exit_code == (0 if encoding == "utf-16" else 2)
    if encoding == "latin-1":
        assert "x.csv:3: the text is not in UTF-8; --encoding latin-1 reads" in result.stderr
    assert json.loads(succeed(*command, "--encoding", encoding, "--json"))["value"] == 3
    assert "encoding 'klingon' is unknown" in run(*command, "--encoding", "klingon").stderr
    assert "the text is not in ascii" in run(*command, "--encoding", "ascii").stderr


@pytest.mark.parametrize(
    ("decimal", "numbers", "value"),
    [
        (",", ("4,5", "1.000,5"), 4.5),
        (",", ("1.234.567", "1.000.000"), 1_000_000),
        (".", ("1,000", "2,500.5"), 1000),
        (".", ("4.5", "-0"), 0),
        (",", ("4.5", "3"), None),
        (",", ("1.00", "3"), None),
        (".", ("1,00", "3"), None),
        (".", ("1,0000", "3"), None),
        (",", ("1,000,000", "3"), None),
        (";", ("1", "3"), None),
    ],
)
def test_decimal(tmp_path: Path, decimal: str, numbers: tuple[str, str], value: float | None) -> None:
    text = f"from;to;capacity\na;b;{numbers[0]}\nb;c; {numbers[1]} \n"
    done = run(
        "solve",
        written(tmp_path, "x.csv", text),
        *("--source", "a", "--sink", "c", "--decimal", decimal, "--json"),
    )
    assert done.exit_code == (2 if value is None else 0), done.output
    assert value is None or json.loads(done.stdout)["value"] == value


def test_columns_with_other_names(tmp_path: Path) -> None:
    """Names of the ends and of all numbers, in any case; spaces and slashes are part of them."""
    roads = written(
        tmp_path,
        "roads.csv",
        "id;Von;Nach;Lkw/Tag;Kosten;mindestens;;\n1;a;b;4;1,5;0;;\n2;b;c;3;2;2;;\n\n",
    )
    names = ("--ends", "von,nach", "--capacity", "Lkw/Tag")
    terminals = ("--source", "a", "--sink", "c", "--json")
    assert json.loads(succeed("solve", roads, *names, *terminals))["value"] == 3
    costs = ("--cost", "Kosten", "--decimal", ",")
    found = json.loads(succeed("solve", roads, *names, *terminals, *costs, "--min-cost"))
    assert (found["cost"], found["supply"]) == (10.5, 3)
    supply = written(tmp_path, "s.csv", "Ort;Menge\na;1\nc;-1\n")
    with_lower = ("solve", roads, *names, *costs, "--supply", supply, "--lower", "mindestens")
    assert "no feasible flow" in run(*with_lower).stderr
    assert succeed(*with_lower[:-2], "-o", "-").splitlines()[1:] == ["a,b,4,1.5,1", "b,c,3,2.0,1"]
    facts = json.loads(succeed("info", roads, *names, *costs, "--json"))
    assert facts["table_columns"]["cost"] == "Kosten"
    hours = written(tmp_path, "h.csv", "nr,wer,was,std\n1,ada,sew,2\n2,bob,sew,1\n2,bob,cook,1\n")
    assert "--ends FIRST,SECOND names them" in run("assign", hours, "--cost", "std").stderr
    text = succeed("assign", hours, "--ends", "wer,was", "--cost", "std", "-o", "-")
    assert text.splitlines()[1:] == ["ada,sew,2", "bob,cook,1"]
    for command in ("solve", "info", "match", "assign"):
        problem = written(tmp_path, "x.txt", "p max 2 1\nn 1 s\nn 2 t\na 1 2 4\n")
        assert "--encoding" in run(command, problem, "--encoding", "latin-1").stderr


def test_the_cheapest_maximum_flow(tmp_path: Path) -> None:
    prices = written(tmp_path, "p.csv", "from,to,capacity,cost,lower\na,b,4,1,0\na,b,4,9,1\nb,c,6,2,0\n")
    terminals = ("--source", "a", "--sink", "c", "--min-cost")
    text = succeed("solve", prices, *terminals, "--verify", "-o", "-")
    assert [line.rsplit(",")[-1] for line in text.splitlines()] == ["flow", "4", "2", "6"]
    assert "--min-cost goes with" in run("solve", prices, "--min-cost").stderr
    assert "--min-cost goes with" in run("solve", prices, *terminals, "--min-cut").stderr
    roads = written(tmp_path, "roads.csv", ROADS)
    options = ("--source", "depot", "--sink", "shop", "--min-cost")
    assert "has no column 'cost'" in run("solve", roads, *options).stderr


class TestRoster:
    SHIFTS = "who,Mo,Tu,We,Th,Fr\nada,1,2,3,4,9\nbob,2,1,2,1,inf\ncyd,9,9,1,1,1\n"

    def test_limits(self, tmp_path: Path) -> None:
        shifts = written(tmp_path, "shifts.csv", self.SHIFTS)
        text = succeed("assign", shifts)
        assert "3, 2 columns left over: --limit lets rows take several" in text
        assert "left over" not in succeed("assign", shifts, "--limit", "2", "--verify")
        text = succeed("assign", shifts, "--limit", "2", "-o", "-")
        assert sorted(text.splitlines()[1:]) == [
            "ada,Mo,1.0",
            "bob,Th,1.0",
            "bob,Tu,1.0",
            "cyd,Fr,1.0",
            "cyd,We,1.0",
        ]
        limits = written(tmp_path, "limits.csv", "worker;most\nada;3\nbob;1\ncyd;1\n")
        facts = json.loads(succeed("assign", shifts, "--limit", limits, "--json"))
        assert (facts["pairs"], facts["cost"], facts["problem"]) == (5, 8, "assign_jobs")
        worth = written(tmp_path, "worth.csv", self.SHIFTS.replace("inf", "0"))
        facts = json.loads(succeed("assign", worth, "--limit", "5", "--least", "1", "--maximize", "--json"))
        assert (facts["pairs"], facts["cost"]) == (5, 33)

    def test_errors(self, tmp_path: Path) -> None:
        shifts = written(tmp_path, "shifts.csv", self.SHIFTS)
        few = run("assign", shifts, "--limit", "1", "--needs", "1")
        assert few.exit_code == 2
        assert "--partial leaves some of them over" in few.stderr
        assert "2 left over" in succeed("assign", shifts, "--limit", "1", "--partial")
        assert "does not go with" in run("assign", shifts, "--limit", "1", "--unmatched-cost", "2").stderr
        wrong = written(tmp_path, "wrong.csv", "worker,most\ndan,3\n")
        assert "wrong.csv has an entry for 'dan'" in run("assign", shifts, "--limit", wrong).stderr
        few_names = written(tmp_path, "few.csv", "worker,most\nada,3\n")
        assert "few.csv has no entry for 'bob'" in run("assign", shifts, "--limit", few_names).stderr
        assert "cannot be read" in run("assign", shifts, "--limit", "two").stderr


def test_info_of_costs_without_supplies(tmp_path: Path) -> None:
    prices = written(tmp_path, "p.csv", "from,to,cost\na,b,1\n")
    assert "demand         0 at 0 sinks" in re.sub(" +0 at", "         0 at", succeed("info", prices))


class TestNumbersThatMayBeOthers:
    def test_marks_of_thousands(self, tmp_path: Path) -> None:
        """In a file with semicolons, 1.000 may mean a thousand."""
        ends = ("--source", "a", "--sink", "c")
        roads = written(tmp_path, "roads.csv", "from;to;capacity\na;b;1.000\nb;c;2.500\n")
        error = run("solve", roads, *ends).stderr
        assert "roads.csv:2: '1.000' in column 'capacity' has a decimal point, or marks thousands" in error
        assert "--decimal . reads a decimal point; --decimal , reads thousands" in error
        for decimal, value in ((".", 1), (",", 1000)):
            assert (
                json.loads(succeed("solve", roads, *ends, "--decimal", decimal, "--json"))["value"] == value
            )
        for text in ("from,to,capacity\na,b,1.000\nb,c,2.500\n", "from;to;capacity\na;b;1.000\nb;c;2.5\n"):
            succeed("solve", written(tmp_path, "clear.csv", text), *ends)

    def test_capacities_that_nobody_reads(self, tmp_path: Path) -> None:
        prices = written(tmp_path, "prices.csv", "from,to,limit,cost\na,b,3,1\n")
        supply = written(tmp_path, "supply.csv", "name,supply\na,5\nb,-5\n")
        error = run("solve", prices, "--supply", supply).stderr
        assert "--capacity limit names another one; --capacity inf says that no arc has a limit" in error
        assert "5 (minimum)" in succeed("solve", prices, "--supply", supply, "--capacity", "inf")

    def test_a_matrix_with_a_column_that_numbers_the_rows(self, tmp_path: Path) -> None:
        hours = written(tmp_path, "hours.csv", ",Nr,x,y\n0,1,5,6\n1,2,7,9\n2,3,8,8\n")
        assert "column 'Nr' of the costs numbers the rows" in run("assign", hours).stderr

    def test_labels_that_look_alike(self, tmp_path: Path) -> None:
        roads = written(tmp_path, "roads.csv", "from,to,capacity\nKo\u0308ln,b,3\nKöln,b,4\n")
        done = run("solve", roads, "--source", "Köln", "--sink", "b")
        assert "preflow: warning: 'Ko\\u0308ln' and 'K\\xf6ln' are two labels" in done.stderr


def test_the_line_of_excel_that_says_the_separator(tmp_path: Path) -> None:
    roads = written(tmp_path, "roads.csv", "sep=;\nfrom;to;capacity\na;b;x\n")
    assert "roads.csv:3: 'x' in column" in run("solve", roads, "--source", "a", "--sink", "b").stderr


class TestExcel:
    def test_a_date(self, tmp_path: Path) -> None:
        """Excel makes a date of 1.2."""
        pandas = pytest.importorskip("pandas")
        pytest.importorskip("openpyxl")
        roads = str(tmp_path / "roads.xlsx")
        table = pandas.DataFrame({"from": ["a", "b"], "to": ["b", "c"], "capacity": [3, 4]}).astype(object)
        for cell, message in ((pandas.Timestamp(2026, 2, 1), "is not a number"), ("1.000", "thousands")):
            table.loc[1, "capacity"] = cell
            table.to_excel(roads, index=False)
            error = run("solve", roads, "--source", "a", "--sink", "c").stderr
            assert "roads.xlsx:3: " in error
            assert message in error

    def test_in_and_out(self, tmp_path: Path) -> None:
        pandas = pytest.importorskip("pandas")
        pytest.importorskip("openpyxl")
        roads, plan = tmp_path / "roads.xlsx", tmp_path / "plan.xlsx"
        table = pandas.DataFrame(
            {"From": ["a", "b ", None], "To": [7, "7", None], "Capacity": [4, "2", None]}
        )
        table.to_excel(roads, index=False)
        terminals = ("--source", "a", "--sink", "7")
        succeed("solve", str(roads), *terminals, "--verify", "-o", str(plan))
        assert pandas.read_excel(plan)["flow"].tolist() == [4, 0]
        assert "4 arrives" in succeed("verify", str(roads), str(plan), *terminals)
        table.loc[1, "Capacity"] = "many"
        table.to_excel(roads, index=False)
        error = run("solve", str(roads), *terminals).stderr
        assert "roads.xlsx:3: 'many' in column 'Capacity' is not a number" in error

    def test_damaged(self, tmp_path: Path) -> None:
        pytest.importorskip("pandas")
        pytest.importorskip("openpyxl")
        for content in (b"", b"from,to\n", b"PK\x03\x04 nonsense"):
            (tmp_path / "x.xlsx").write_bytes(content)
            done = run("info", str(tmp_path / "x.xlsx"))
            assert (done.exit_code, "no Excel file, or a damaged one" in done.stderr) == (2, True), (
                done.stderr
            )

    def test_an_archive_that_expands(self, tmp_path: Path) -> None:
        pytest.importorskip("pandas")
        pytest.importorskip("openpyxl")
        with zipfile.ZipFile(tmp_path / "x.xlsx", "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr("xl/workbook.xml", bytes(2**26 + 1))
        assert "expands to 67,108,865 bytes" in run("info", str(tmp_path / "x.xlsx")).stderr

    def test_without_openpyxl(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setitem(sys.modules, "openpyxl", None)
        done = run("info", str(tmp_path / "x.xlsx"))
        assert (done.exit_code, "preflow[tables]" in done.stderr) == (4, True)
        assert (
            "(.csv, .csv.gz, .tsv, .tsv.gz, .parquet, .xlsx)" in run("info", "x.xls", "--ends", "a,b").stderr
        )


def test_tables_as_people_write_them(tmp_path: Path) -> None:
    """Blanks around names, empty lines, and costs that a maximum flow does not need."""
    file = written(
        tmp_path, "x.csv", "from, to , capacity, cost\ndepot, north, 4, 1\n\n,,,\nnorth, shop, 3, 2\n\n"
    )
    assert json.loads(succeed("solve", file, "--source", "depot", "--sink", "shop", "--json"))["value"] == 3
    supply = written(tmp_path, "s.csv", "vertex, supply\n depot, 2\nshop , -2\n")
    assert json.loads(succeed("solve", file, "--supply", supply, "--json"))["cost"] == 6


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("4,1,3\n2,0,5\n3,2,2\n", "the first line names the columns"),
        ("4.0e+00,1.0e+00\n2.0e+00,0.0e+00\n", "costs without names are read from an array in a file"),
        ("who,sew\nada,\n", "no cost of 'ada' and 'sew'; a pair that is not allowed costs inf"),
        ("who\nada\n", "expected the names of rows"),
        ("who,sew\nada,x\n", "not a number"),
    ],
)
def test_bad_costs(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(ParseError) as caught:
        read_cost_table(written(tmp_path, "x.csv", text))
    assert message in str(caught.value)


@given(data=st.binary(max_size=80) | st.text(alphabet='ab,;\t"\n\r1', max_size=40).map(str.encode))
@settings(max_examples=200, deadline=None)
def test_any_bytes_end_in_one_error(data: bytes, tmp_path_factory: Any) -> None:
    path = tmp_path_factory.mktemp("bytes") / "x.csv"
    path.write_bytes(data)
    for arguments in (["solve", str(path), "--source", "a", "--sink", "b"], ["assign", str(path)]):
        assert run(*arguments).exit_code in (0, 2)


def test_help_loads_no_tables() -> None:
    code = (
        "import sys, preflow.cli; preflow.cli.app(['solve', '--help'], standalone_mode=False); "
        "print([name for name in ('numpy', 'pandas', 'pyarrow') if name in sys.modules])"
    )
    output = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert output.stdout.splitlines()[-1] == "[]"


def test_hints_at_other_commands_and_families(tmp_path: Path) -> None:
    matrix = written(tmp_path, "x.mtx", "%%MatrixMarket matrix coordinate pattern general\n1 1 1\n1 1\n")
    assert "`preflow match` reads" in run("info", matrix).stderr
    error = run("generate", "delauney").stderr
    assert "did you mean 'delaunay'? There are:" in error
    for family in ("rmf-wide", "netgen", "delaunay"):
        assert family in error


class TestWhichColumns:
    """A column that numbers the rows is never taken for an end of edges."""

    LINKS = "LINK,A,B,capacity\n1,1,2,10\n2,2,3,10\n3,1,3,5\n4,3,4,7\n"
    TERMINALS = ("--source", "1", "--sink", "4", "--verify")

    @pytest.mark.parametrize("command", ["solve", "info"])
    def test_an_id_in_front(self, tmp_path: Path, command: str) -> None:
        links = written(tmp_path, "links.csv", self.LINKS)
        options = self.TERMINALS if command == "solve" else ()
        refused = run(command, links, *options)
        assert refused.exit_code == 2
        for part in ("'LINK', 'A', 'B', 'capacity'", "--ends FIRST,SECOND", "such as source and target"):
            assert part in refused.stderr
        assert run(command, links, *options, "--ends", "A,B").exit_code == 0

    def test_the_report_names_the_columns(self, tmp_path: Path) -> None:
        links = written(tmp_path, "links.csv", self.LINKS)
        text = succeed("solve", links, *self.TERMINALS, "--ends", "a,B")
        assert "columns   from 'A' to 'B', capacity 'capacity'" in text
        assert re.search(r"^value +7 \(maximum flow\)$", text, re.MULTILINE)
        facts = json.loads(succeed("solve", links, *self.TERMINALS, "--ends", "A,B", "--json"))
        assert facts["table_columns"] == {"source": "A", "target": "B", "capacity": "capacity"}
        flow = str(tmp_path / "flow.csv")
        succeed("solve", links, *self.TERMINALS, "--ends", "A,B", "-o", flow)
        proved = succeed("verify", links, flow, *self.TERMINALS[:-1], "--ends", "A,B")
        assert "from 'A' to 'B', capacity 'capacity'" in proved

    @pytest.mark.parametrize(
        ("header", "ends"),
        [
            ("fid,source,target,capacity", ("source", "target")),
            ("source,from,to,capacity", ("from", "to")),  # the source of the data, perhaps
            ("id,u,v,key,capacity", ("u", "v")),
            ("to,note,capacity,from", ("from", "to")),
            ("A,B,capacity", ("A", "B")),
            ("capacity,A,B", ("A", "B")),
            ("tail,to,capacity", ("tail", "to")),
            ("fid,A,B,capacity", None),
            ("fid,from,B,capacity", None),
            ("fid,tail,to,capacity", None),
            ("u,v,from,to,capacity", None),
            ("row,node,to,capacity", None),
            ("from,B,capacity", None),
            ("A,capacity", None),
            ("A,A,B,capacity", None),
        ],
    )
    def test_names_of_ends(self, tmp_path: Path, header: str, ends: tuple[str, str] | None) -> None:
        row = ",".join("1" for _ in header.split(","))
        file = written(tmp_path, "x.csv", f"{header}\n{row}\n")
        table = read_columns(file)
        if ends is None:
            with pytest.raises(ParseError, match="it is not clear which they are"):
                table.ends()
        else:
            assert table.ends() == ends

    @pytest.mark.parametrize(
        ("ends", "message"),
        [
            ("A", "two names of columns"),
            ("A,B,C", "two names of columns"),
            ("A,", "two names of columns"),
            ("A,C", "there is no column 'C'; there are: 'LINK', 'A', 'B', 'capacity'"),
            ("A,a", "both ends of edges are in column 'A'"),
        ],
    )
    def test_bad_names(self, tmp_path: Path, ends: str, message: str) -> None:
        links = written(tmp_path, "links.csv", self.LINKS)
        refused = run("solve", links, *self.TERMINALS, "--ends", ends)
        assert (refused.exit_code, message in refused.stderr) == (2, True), refused.stderr
        problem = written(tmp_path, "x.max", "p max 2 1\nn 1 s\nn 2 t\na 1 2 4\n")
        for command in ("solve", "info", "match", "assign"):
            assert "for tables" in run(command, problem, "--ends", "A,B").stderr

    def test_other_commands(self, tmp_path: Path) -> None:
        pairs = written(tmp_path, "pairs.csv", "id,worker,job\n1,7,8\n2,7,9\n3,6,8\n")
        assert run("match", pairs).exit_code == run("match", pairs, "--general").exit_code == 2
        text = succeed("match", pairs, "--ends", "worker,job")
        assert "columns   row 'worker', column 'job'" in text
        general = ("--general", "--unweighted", "--ends", "worker,job")
        assert "from 'worker' to 'job'" in succeed("match", pairs, *general)
        hours = written(tmp_path, "hours.csv", "id,worker,job,cost\n1,7,8,3\n2,7,9,1\n3,6,8,2\n")
        assert "--ends" in run("assign", hours).stderr
        text = succeed("assign", hours, "--ends", "worker,job", "-o", "-")
        assert text.splitlines()[1:] == ["7,9,1", "6,8,2"]
        three = written(tmp_path, "three.csv", "worker,job,cost\n7,8,3\n7,9,1\n6,8,2\n")
        assert "row 'worker', column 'job', cost 'cost'" in succeed("assign", three)
        no_costs = written(tmp_path, "no.csv", "row,column,hours\n7,8,3\n7,9,1\n6,8,2\n")
        assert "no column 'cost'" in run("assign", no_costs).stderr
        assert "columns   row 'worker'" in succeed(
            "assign", written(tmp_path, "m.csv", "worker,8,9\n7,3,1\n6,2,4\n")
        )

    @pytest.mark.parametrize(
        ("table", "message"),
        [
            ("id,town,amount\n1,a,2\n2,b,-2\n", "expected two columns, names and amounts"),
            ("node,name,supply\n1,a,2\n2,b,-2\n", "expected two columns, names and amounts"),
            ("name,demand\na,-2\nb,2\n", "a supply is what a vertex sends"),
        ],
    )
    def test_supplies(self, tmp_path: Path, table: str, message: str) -> None:
        prices = written(tmp_path, "p.csv", "source,target,capacity,cost\na,b,4,1\n")
        assert message in run("solve", prices, "--supply", written(tmp_path, "s.csv", table)).stderr
        for names in ("id,vertex,supply\n1,a,2\n2,b,-2\n", "amount,node\n2,a\n-2,b\n", "x,y\na,2\nb,-2\n"):
            succeed("solve", prices, "--supply", written(tmp_path, "s.csv", names))


class TestVerify:
    def test_table_of_flows(self, tmp_path: Path) -> None:
        roads, flow = written(tmp_path, "roads.csv", ROADS), tmp_path / "flow.csv"
        terminals = ("--source", "depot", "--sink", "shop")
        succeed("solve", roads, *terminals, "-o", str(flow))
        assert "5 arrives at the sink\n" in succeed("verify", roads, str(flow), *terminals)
        header, *rows = lines_of(flow)
        flow.write_text("\n".join([header, *rows[::-1]]))
        assert "verified: a maximum flow" in succeed("verify", roads, str(flow), *terminals)
        for old, new, violation in ((",4,2,", ",4,1,", "into the sink"), (",4,2,", ",4,9,", "capacity")):
            wrong = written(tmp_path, "wrong.csv", "\n".join([header, *rows]).replace(old, new))
            done = run("verify", roads, wrong, *terminals)
            assert (done.exit_code, violation in done.stdout) == (1, True), done.stdout

    def test_numbers_of_a_file(self, tmp_path: Path) -> None:
        problem = written(tmp_path, "x.max", "p max 2 1\nn 1 s\nn 2 t\na 1 2 5\n")
        flow = tmp_path / "flow.csv"
        succeed("solve", problem, "-o", str(flow))
        assert "5 arrives" in succeed("verify", problem, str(flow))
        less = written(tmp_path, "less.csv", "source,target,flow\n1,2,4\n")
        assert "not verified" in run("verify", problem, less).stdout

    def test_costs(self, tmp_path: Path) -> None:
        prices = written(tmp_path, "p.csv", "source,target,capacity,cost\na,b,4,1\na,b,4,3\n")
        supply = written(tmp_path, "s.csv", "vertex,supply\na,5\nb,-5\n")
        flow = tmp_path / "flow.csv"
        succeed("solve", prices, "--supply", supply, "-o", str(flow))
        assert "cost          7\n" in succeed("verify", prices, str(flow), "--supply", supply)
        dear = written(tmp_path, "dear.csv", "source,target,flow\na,b,1\na,b,4\n")
        assert "not verified" in run("verify", prices, dear, "--supply", supply).stdout

    @pytest.mark.parametrize(
        ("text", "message"),
        [
            ("source,target,amount\ndepot,north,2\n", "column 'flow'"),
            ("source,target,flow\ndepot,moon,2\n", "no vertex 'moon'"),
        ],
    )
    def test_errors(self, tmp_path: Path, text: str, message: str) -> None:
        roads, flow = written(tmp_path, "roads.csv", ROADS), written(tmp_path, "flow.csv", text)
        done = run("verify", roads, flow, "--source", "depot", "--sink", "shop")
        assert done.exit_code == 2
        assert message in done.stderr


def test_answers_that_are_not_proved_optimal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """They have bounds, and an exit code of their own."""
    roads = written(tmp_path, "roads.csv", ROADS)
    prices = written(tmp_path, "p.csv", "source,target,capacity,cost\na,b,4,0.1\n")
    supply = written(tmp_path, "s.csv", "vertex,supply\na,2\nb,-2\n")
    cost = written(tmp_path, "cost.csv", ",shop,port\nnorth,4.5,1.5\nsouth,2.5,3.5\n")
    mass = [written(tmp_path, f"{n}.csv", f"name,mass\n{n},5\n") for n in ("north", "shop")]
    edges = written(tmp_path, "e.csv", "u,v,weight\nada,bob,0.3\n")
    commands = [
        ["solve", roads, "--source", "depot", "--sink", "shop"],
        ["solve", roads, "--source", "depot", "--sink", "shop", "--min-cut"],
        ["solve", prices, "--supply", supply],
        ["assign", cost],
        ["match", edges, "--general"],
        ["match", written(tmp_path, "m.csv", "row,column\n1,2\n")],
        ["transport", cost, "--a", mass[0], "--b", mass[1]],
    ]
    for reported, code, words in (
        ("approximate", 5, "approximate, not proved optimal: "),
        ("unproved", 5, "not proved optimal: "),
        ("time-limit", 3, "time limit reached: "),
    ):
        monkeypatch.setattr(Control, "status", lambda *_, reported=reported, **__: reported)
        for command in commands:
            done = run(*command)
            assert (done.exit_code, words in done.stdout) == (code, True), (command, done.output)
            facts = json.loads(run(*command, "--json").stdout)
            assert facts["status"] == reported
            assert facts["lower_bound"] <= facts["upper_bound"]
            assert facts.get("value") is facts.get("cost") is None
