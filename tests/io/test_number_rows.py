"""Files of numbers alone, as NumPy and pandas write them: costs and masses without names."""

from __future__ import annotations

import codecs
from pathlib import Path
from typing import Any

import numpy as np
import pandas
import pytest
import scipy.io
import scipy.sparse
from scipy.optimize import linear_sum_assignment

from preflow.errors import ParseError
from preflow.io.costs import is_matrix, read_costs, read_masses
from tests.cli.test_matching import run, succeed

pytestmark = pytest.mark.fast

COSTS = np.array([[42, 32, 26, 14], [16, 3, 4, 1], [9, 41, 32, 46]])
WAYS: list[dict[str, Any]] = [
    {},
    {"delimiter": ",", "fmt": "%d"},
    {"delimiter": ", ", "fmt": "%g"},
    {"delimiter": ";", "newline": "\r\n"},
    {"delimiter": "\t", "footer": "end"},
    {"header": "costs of May, 2026"},
]


@pytest.mark.parametrize(
    "name", ["cost.csv", "cost.csv.gz", "cost.tsv", "cost.txt", "cost.txt.bz2", "cost.xz"]
)
@pytest.mark.parametrize("way", WAYS, ids=repr)
def test_matrices_of_savetxt(tmp_path: Path, name: str, way: dict[str, Any]) -> None:
    path = tmp_path / name
    np.savetxt(path, COSTS, **way)
    found = read_costs(path)
    assert found.costs.tolist() == COSTS.tolist()
    assert found.costs.dtype == (np.int64 if way.get("fmt") else np.float64)
    assert found.rows.tolist() == [1, 2, 3]


def test_commands_take_them_with_masses(tmp_path: Path) -> None:
    cost, a, b = (str(tmp_path / name) for name in ("cost.csv", "a.csv", "b.txt"))
    np.savetxt(cost, COSTS, delimiter=",", fmt="%d")
    np.savetxt(a, [[5, 4, 3]], delimiter=",", fmt="%d")
    np.savetxt(b, [2, 2, 2, 6], fmt="%d")
    row, column = linear_sum_assignment(COSTS)
    pairs, plan = tmp_path / "pairs.txt", tmp_path / "plan.csv"
    assert f"cost      {COSTS[row, column].sum()} (least)" in succeed(
        "assign", cost, "-o", str(pairs), "--verify"
    )
    assert pairs.read_text().split() == [str(x + 1) for pair in zip(row, column, strict=True) for x in pair]
    assert "mass 12" in succeed("transport", cost, "--a", a, "--b", b, "--out", str(plan), "--verify")
    assert plan.read_text().startswith("row,column,mass\n1,")
    assert "are for tables" in run("assign", cost, "--ends", "A,B").stderr


def test_names_are_told_from_numbers(tmp_path: Path) -> None:
    path = tmp_path / "cost.csv"
    frame = pandas.DataFrame(COSTS)
    frame.to_csv(path)
    assert not is_matrix(path)
    assert read_costs(path).columns.tolist() == ["0", "1", "2", "3"]
    frame.to_csv(path, header=False, index=False)
    assert read_costs(path).costs.tolist() == COSTS.tolist()
    frame.to_csv(path, index=False)
    with pytest.raises(ParseError, match=r"cost\.csv:1: the numbers of the columns, or costs\? Leave"):
        read_costs(path)
    np.savetxt(path, COSTS, delimiter=",", header="a,b,c,d")
    with pytest.raises(ParseError, match=r"cost\.csv:1: a comment or the names of columns\?"):
        read_costs(path)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("1,2\n\n3,x\n", "3: 'x' in field 2 is not a number$"),
        ("1;2\n3;4,5\n", "2: '4,5' in field 2 is not a number; a number has a point and no comma"),
        ("1,2\n3,\n", "2: '' in field 2 is not a number"),
        ("1 2\n1_000 2\n", "2: '1_000' in field 1 is not a number"),
        ("1,2\n3,4,5\n", "2: expected 2 fields, as in line 1, got 3"),
        ("0.5 2\n3 9007199254740993\n", "2: '9007199254740993' in field 2 and the file mixes floats"),
        ("2 2\n1 2\n3 4\n", "1: the numbers of rows and columns, or costs\\?"),
        ("5 7\n1 2 3\n3 4 5\n", "2: expected 2 fields, as in line 1, got 3"),
        ("1 1 5\n1 2 4\n2 1 7.5\n2 2 3\n3 1 2\n3 2 6\n", "1: pairs and their costs, 'ROW COLUMN COST', or a"),
        ("2 4 1 3 2\n", "1: the number of rows and the costs, or a matrix of numbers?"),
    ],
)
def test_the_line_and_the_field_that_are_wrong(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "cost.txt"
    path.write_text(text)
    with pytest.raises(ParseError, match=r"cost\.txt:" + message):
        read_costs(path)


def test_what_editors_leave_in_files(tmp_path: Path) -> None:
    path = tmp_path / "cost.txt"
    path.write_bytes(codecs.BOM_UTF8 + b"\r\n 4  1 \t3 \r\n\r\n2\t0 5\r\n   \r\n")
    assert read_costs(path).costs.tolist() == [[4, 1, 3], [2, 0, 5]]
    path.write_bytes(codecs.BOM_UTF8 + b"2\r\n4 1\r\n2 0\r\n")
    assert read_costs(path).costs.tolist() == [[4, 1], [2, 0]]


def test_masses(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("# kg\n1 2.5 3\n")
    assert read_masses(path).tolist() == [1, 2.5, 3]
    path.write_text("1 2\n3 4\n")
    with pytest.raises(ParseError, match=r"one for each row or column, got shape \(2, 2\)"):
        read_masses(path)


@pytest.mark.parametrize("name", ["cost.txt", "cost.csv"])
def test_sizes_and_numbers_that_are_words(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    np.savetxt(path, COSTS, fmt="%d", header="3 4", comments="")
    assert read_costs(path).costs.tolist() == COSTS.tolist()
    infinite = COSTS.astype(float)
    infinite[0, 0] = np.inf
    np.savetxt(path, infinite, delimiter="," if name.endswith("csv") else " ")
    assert read_costs(path).costs.tolist() == infinite.tolist()
    np.savetxt(path, [[2.0, 2.0], [1, 2], [3, 4]])
    assert read_costs(path).costs.shape == (3, 2)


def test_matrix_market_files_are_costs(tmp_path: Path) -> None:
    path, costs = tmp_path / "cost.mtx", COSTS * (COSTS != 3)
    scipy.io.mmwrite(path, costs)
    assert read_costs(path).costs.tolist() == costs.tolist()
    scipy.io.mmwrite(path, scipy.sparse.coo_array(costs))
    found = read_costs(path).costs
    assert (found.toarray().tolist(), found.nnz) == (costs.tolist(), np.count_nonzero(costs))
    assert "3 x 4" in succeed("assign", str(path), "--verify")
    with pytest.raises(ParseError, match="not a Matrix Market file"):
        read_masses(path)
    scipy.io.mmwrite(path, scipy.sparse.coo_array(costs), field="pattern")
    with pytest.raises(ParseError, match="of a pattern, `preflow match` reads pairs"):
        read_costs(path)


def test_costs_are_not_taken_for_names(tmp_path: Path) -> None:
    path, frame = tmp_path / "cost.csv", pandas.DataFrame(COSTS, columns=[*"abcd"])
    frame.to_csv(path, index=False)
    message = (
        r"column 'a' has numbers: the names of the rows, or costs\? .* call it 'row'; else write numbers"
    )
    with pytest.raises(ParseError, match=message):
        read_costs(path)
    frame.rename(columns={"a": "row"}).to_csv(path, index=False)
    assert read_costs(path).rows.tolist() == ["42", "16", "9"]
    pandas.DataFrame([[1, 2], [3, 4]], columns=[*"ab"]).to_csv(path, index=False)
    with pytest.raises(ParseError, match=message):
        read_costs(path)
    for ids in ([1017, 1022, 1031], [1, 2, 3]):
        frame.assign(a=ids).to_csv(path, index=False)
        assert read_costs(path).costs.tolist() == COSTS[:, 1:].tolist()
    frame.to_csv(path, header=False)
    with pytest.raises(ParseError, match=r"its first column has 0, 1, 2, \.\.\.: the numbers of the rows"):
        read_costs(path)
    parquet = tmp_path / "cost.parquet"
    frame.to_parquet(parquet)
    with pytest.raises(ParseError, match="column 'a' has numbers"):
        read_costs(parquet)
    frame.set_axis([*"xyz"]).to_parquet(parquet)
    assert read_costs(parquet).rows.tolist() == [*"xyz"]
    assert read_costs(parquet).costs.tolist() == COSTS.tolist()
