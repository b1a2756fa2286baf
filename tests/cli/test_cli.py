"""The command line: what it prints and writes, its exit codes, and errors without tracebacks."""

from __future__ import annotations

import gzip
import json
import os
import pty
import re
import select
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner, Result

import preflow
from preflow.cli import app
from preflow.errors import DeviceUnavailableError, PreflowError, VerificationError
from preflow.generators import BIPARTITE_FAMILIES, FAMILIES
from preflow.graph.network import FlowNetwork, MaxFlowProblem
from preflow.io.dimacs import write_dimacs
from preflow.io.npz import save_npz
from preflow.io.solution import flow_on_arcs, read_solution

#: Two paths, of capacities 2 and 1.
TWO_PATHS = "c small\np max 4 4\nn 1 s\nn 4 t\na 1 2 3\na 2 4 2\na 1 3 1\na 3 4 5\n"
PROGRAM = [sys.executable, "-c", "from preflow.cli import main; main()"]


@pytest.fixture
def small(tmp_path: Path) -> str:
    path = tmp_path / "small.max"
    path.write_text(TWO_PATHS)
    return str(path)


@pytest.fixture(scope="session")
def slow(tmp_path_factory: pytest.TempPathFactory) -> str:
    """An instance that keeps the generic method busy for much longer than any test takes."""
    path = tmp_path_factory.mktemp("slow") / "slow.max.gz"
    write_dimacs(path, FAMILIES["rlg-long"].generate("64x1024"))
    return str(path)


def run(*arguments: str) -> Result:
    """Run a command; whatever is not caught on purpose is a failure of the test."""
    return CliRunner().invoke(app, arguments, catch_exceptions=False)


def succeed(*arguments: str) -> str:
    """Return what a command prints, without the colours that some environments ask for."""
    result = run(*arguments)
    assert result.exit_code == 0, result.output
    return re.sub(r"\x1b\[[0-9;]*m", "", result.stdout)


def fail(*arguments: str, code: int = 2) -> str:
    """Return the one line on standard error with which a command ends."""
    result = run(*arguments)
    assert result.exit_code == code, result.output
    assert result.stdout == ""
    (line,) = (text for text in result.stderr.splitlines() if not text.startswith("preflow: compiling"))
    assert line.startswith("preflow: error: ")
    return line.removeprefix("preflow: error: ")


# Help


def test_help_loads_nothing_heavy() -> None:
    heavy = ["numba", "scipy", "numpy", "networkx", "skimage", "matplotlib", "imageio"]
    code = f"import sys, preflow.cli; print([name for name in {heavy} if name in sys.modules])"
    output = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert output.stdout.strip() == "[]"


def test_help_lists_commands_and_exit_codes() -> None:
    text = succeed("--help")
    for command in (
        "solve",
        "info",
        "generate",
        "verify",
        "match",
        "assign",
        "methods",
        "segment",
        "segment-labels",
        "denoise",
    ):
        assert f" {command} " in text
        assert "For example" in succeed(command, "--help")
    for code in (0, 1, 2, 3, 4, 130):
        assert re.search(rf"^ +{code}  \w", text, re.MULTILINE)


def test_version() -> None:
    """Of a clone it has the commit, so that an upgrade can be seen."""
    first = succeed("--version").splitlines()[0]
    assert re.fullmatch(rf"preflow {re.escape(preflow.__version__)}(\+\d+\.g[0-9a-f]{{8}})?", first)


def test_version_says_that_kernels_are_not_compiled(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("preflow.kernels.kernel.native", None)
    assert "Numba compiles each at its first use" in succeed("--version")


@pytest.mark.parametrize(
    "arguments", [["slove"], ["solve"], ["solve", "--fast"], ["solve", "x", "--threads", "a"]]
)
def test_wrong_usage_is_said_without_a_traceback(arguments: list[str]) -> None:
    result = run(*arguments)
    assert result.exit_code == 2
    assert "Usage:" in result.stderr
    assert "Traceback" not in result.output


# Solve


def test_solve_reports_value_method_and_times(small: str) -> None:
    text = succeed("solve", small)
    assert "small: 4 vertices, 4 arcs" in text
    assert "3 (maximum flow)" in text
    assert re.search(r"^method +serial-\S+ \(cpu, 1 thread\): \w", text, re.MULTILINE)
    assert re.search(r"^time +read .* s, build .* s, solve .* s$", text, re.MULTILINE)
    assert "not asked for" in text
    assert "the value is proved" in succeed("solve", small, "--verify")


def test_solve_on_several_threads(small: str) -> None:
    several = ("solve", small, "--method", "multicore-fifo", "--threads", "2")
    assert "multicore-fifo (cpu, 2 threads)" in succeed(*several)
    per_thread = json.loads(succeed(*several, "--json"))["counts_per_thread"]
    assert [counts["pushes"] >= 0 for counts in per_thread] == [True, True]


@pytest.mark.parametrize("extra", [[], ["--min-cut"], ["--verify"]])
def test_json_is_all_there_is_on_stdout(small: str, tmp_path: Path, extra: list[str]) -> None:
    facts = json.loads(succeed("solve", small, "--json", "--output", str(tmp_path / "out"), *extra))
    assert facts["status"] == "optimal"
    assert facts["value"] == facts["lower_bound"] == facts["upper_bound"] == 3
    assert facts["problem"] == ("min_cut" if "--min-cut" in extra else "max_flow")
    assert facts["verified"] == ("--verify" in extra)
    assert facts["cut_arcs"] == 2
    assert facts["counts"]["pushes"] >= 0
    assert facts["seconds"]["read"] > 0


@pytest.mark.parametrize("name", ["flow.sol", "flow.sol.gz"])
def test_solution_is_written_and_verifies(small: str, tmp_path: Path, name: str) -> None:
    solution = tmp_path / name
    succeed("solve", small, "--output", str(solution))
    assert (solution.read_bytes()[:2] == b"\x1f\x8b") == name.endswith(".gz")
    assert read_solution(solution).value == 3
    assert succeed("verify", small, str(solution)).startswith("verified: a maximum flow")


def test_the_report_is_silent_on_the_numbers_of_active_vertices(tmp_path: Path) -> None:
    """One for each global relabel would be too many; the facts in JSON have them."""
    path = tmp_path / "dense.max"
    arcs = [(v, w, 1 + v * w % 7) for v in range(1, 31) for w in range(1, 31) if v != w]
    lines = ["p max 30 870", "n 1 s", "n 30 t", *(f"a {v} {w} {most}" for v, w, most in arcs)]
    path.write_text("\n".join(lines) + "\n")
    options = ["--method", "serial-fifo", "--option", "record_active=True", "--option", "relabel_period=0.1"]
    assert "global relabels" in succeed("solve", str(path), *options)
    assert json.loads(succeed("solve", str(path), "--json", *options))["active"]


def test_solution_goes_to_stdout_and_the_report_to_stderr(small: str) -> None:
    result = run("solve", small, "--output", "-")
    assert "\ns 3\nf 1 2 2\n" in result.stdout
    assert "maximum flow" in result.stderr
    assert "standard output" in fail("solve", small, "--output", "-", "--json")


def test_min_cut_writes_the_sink_side(small: str, tmp_path: Path) -> None:
    cut = tmp_path / "cut.gz"
    text = succeed("solve", small, "--min-cut", "--output", str(cut))
    assert "3 (minimum cut)" in text
    assert "recover" not in text
    lines = gzip.decompress(cut.read_bytes()).decode().splitlines()
    assert [line for line in lines if not line.startswith("c")] == ["s 3", "n 3 t", "n 4 t"]


def test_flow_limit(small: str, tmp_path: Path) -> None:
    solution = tmp_path / "flow.sol"
    text = succeed("solve", small, "--flow-limit", "2", "--verify", "--output", str(solution))
    assert "flow limit reached: maximum flow between 2 and " in text
    assert read_solution(solution).value == 2
    assert "3 (maximum flow)" in succeed("solve", small, "--flow-limit", "3.0")
    assert "not a number" in fail("solve", small, "--flow-limit", "much")
    assert "maximum flows" in fail("solve", small, "--flow-limit", "2", "--min-cut")
    assert "integers" in fail("solve", small, "--flow-limit", "2.5")


def test_all_formats_give_the_same_value(tmp_path: Path) -> None:
    problem = FAMILIES["rmf-wide"].generate("8x4")
    values = set()
    for name in ("a.max", "a.max.gz", "a.npz"):
        path = tmp_path / name
        save_npz(path, problem) if name.endswith(".npz") else write_dimacs(path, problem)
        values.add(json.loads(succeed("solve", str(path), "--json"))["value"])
    assert len(values) == 1


def test_method_options_device_and_threads(small: str) -> None:
    arguments = ["--method", "F_PRF", "--option", "gap=true", "--option", "relabel_period=0.5"]
    facts = json.loads(succeed("solve", small, "--json", *arguments, "--device", "cpu", "--threads", "1"))
    assert (facts["method"], facts["reason"], facts["threads"]) == ("serial-fifo", "asked for", 1)


def test_infinite_bounds_are_json(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    result = preflow.min_cut(([0, 1], [1, 2], [np.inf, 1.0]), 0, 2)

    def unfinished(*arguments: object, **keywords: object) -> object:
        return replace(result, status="time-limit", upper_bound=np.inf)

    path = tmp_path / "small.max"
    path.write_text(TWO_PATHS)
    monkeypatch.setattr("preflow.cuts.min_cut", unfinished)
    shown = run("solve", str(path), "--min-cut", "--json")
    facts = json.loads(shown.stdout, parse_constant=pytest.fail)
    assert (shown.exit_code, facts["value"], facts["lower_bound"], facts["upper_bound"]) == (
        3,
        None,
        1,
        None,
    )


def test_time_limit_has_its_exit_code_and_a_feasible_flow(slow: str, tmp_path: Path) -> None:
    solution = tmp_path / "flow"
    arguments = ["--method", "serial-generic", "--time-limit", "0.3", "--verify", "--output", str(solution)]
    result = run("solve", slow, *arguments)
    assert result.exit_code == 3
    assert "time limit reached: maximum flow between" in result.stdout
    assert "both bounds are proved" in result.stdout
    network = preflow.read_dimacs(slow).network
    assert (flow_on_arcs(network, read_solution(solution)) >= 0).all()
    assert "not proved maximum" in solution.read_text()[:100]
    assert "the flow is not maximum" in run("verify", slow, str(solution)).stdout


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--method", "magic"], "unknown method 'magic'; there are: auto, serial-generic"),
        (["--device", "tpu"], "device must be one of auto, cpu, cuda"),
        (["--threads", "0"], "threads must be a positive integer"),
        (["--time-limit", "0"], "time_limit must be a positive number"),
        (["--option", "gap"], "an option must be written NAME=VALUE, got 'gap'"),
        (["--method", "serial-hi-pr", "--option", "alpha=10"], "has no option 'alpha'; it has: gap"),
        (["--method", "serial-fifo", "--option", "gap=much"], "gap must be True or False, got 'much'"),
    ],
)
def test_impossible_requests(small: str, arguments: list[str], message: str) -> None:
    assert message in fail("solve", small, *arguments)


@pytest.mark.parametrize("command", [["solve"], ["info"], ["verify"]])
def test_unreadable_and_malformed_files(command: list[str], tmp_path: Path) -> None:
    rest = [str(tmp_path / "solution")] if command == ["verify"] else []
    bad = tmp_path / "bad.max"
    bad.write_text(TWO_PATHS + "a 1 9 1\n")
    assert f"{bad}:9: " in fail(*command, str(bad), *rest)
    assert "No such file" in fail(*command, str(tmp_path / "none.max"), *rest)
    assert "cannot be read" in fail(*command, str(tmp_path / "none.npz"), *rest)


def test_network_without_terminals(tmp_path: Path) -> None:
    path = tmp_path / "network.npz"
    save_npz(path, FlowNetwork.from_arrays([0], [1], [5]))
    assert "without source and sink" in fail("solve", str(path))
    assert "bound" not in succeed("info", str(path))


@pytest.mark.parametrize("output", ["none/flow", "file/flow", "."])
def test_unwritable_output_is_found_before_any_work(output: str, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    path = str(tmp_path / output)
    message = f"{path}: cannot be written"
    assert message in fail("solve", "no-such-file.max", "--output", path)
    ending = "" if output == "." else ".npz"
    if ending:
        assert "cannot be written" in fail("generate", "rmf-wide", "99999x99999", "-o", path + ending)


def test_failure_leaves_an_older_output_as_it_was(small: str, tmp_path: Path) -> None:
    output = tmp_path / "flow"
    output.write_text("precious")
    fail("solve", small, "--output", str(output), "--device", "tpu")
    fail("solve", "no-such-file.max", "--output", str(output))
    assert output.read_text() == "precious"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["flow", "small.max"]


def test_missing_device_and_unproved_result(small: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def raising(error: PreflowError) -> None:
        def fake(*arguments: object, **keywords: object) -> None:
            raise error

        monkeypatch.setattr("preflow.maxflow.api.max_flow", fake)

    raising(DeviceUnavailableError("no GPU"))
    assert fail("solve", small, code=4) == "no GPU"
    raising(VerificationError("arc 3 carries too much"))
    assert fail("solve", small, code=1) == "arc 3 carries too much"


def test_bugs_keep_their_traceback(small: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*arguments: object, **keywords: object) -> None:
        raise ZeroDivisionError("a bug")

    monkeypatch.setattr("preflow.maxflow.api.max_flow", broken)
    with pytest.raises(ZeroDivisionError):
        run("solve", small)


def test_too_little_memory_is_an_error_not_a_bug(small: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def hungry(*arguments: object, **keywords: object) -> None:
        raise MemoryError("unable to allocate 8 EiB")

    monkeypatch.setattr("preflow.maxflow.api.max_flow", hungry)
    assert fail("solve", small) == "not enough memory: unable to allocate 8 EiB"


# Info


def test_info(tmp_path: Path) -> None:
    path = tmp_path / "odd.max"
    lines = ["p max 6 9", "n 2 s", "n 5 t", "a 2 3 4", "a 2 3 1", "a 3 2 7", "a 3 3 2", "a 2 4 0"]
    path.write_text("\n".join([*lines, "a 4 5 9", "a 3 5 inf", "a 5 4 3", "a 3 4 2.5"]))
    facts = json.loads(succeed("info", str(path), "--json"))
    expected = {
        "vertices": 6,
        "arcs": 9,
        "two_way_arcs": 0,
        "parallel_arcs": 1,
        "antiparallel_pairs": 2,
        "self_loops": 1,
        "isolated_vertices": 2,
        "largest_out_degree": 4,
        "largest_in_degree": 3,
        "capacity_type": "float64",
        "least_capacity": 0,
        "largest_capacity": 9,
        "zero_capacities": 1,
        "infinite_capacities": 1,
        "source": [1],
        "sink": [4],
        "source_arcs": 3,
        "source_capacity": 5,
        "sink_arcs": 2,
        "sink_capacity": None,
    }
    assert {name: facts[name] for name in expected} == expected
    text = succeed("info", str(path))
    assert re.search(r"^source +vertex 2: 3 arcs out", text, re.MULTILINE)
    assert "no flow exceeds 5.0" in text
    assert "1 parallel to another, 2 antiparallel pairs, 1 self loop\n" in text


def test_info_of_two_way_arcs_several_sources_and_nothing(tmp_path: Path) -> None:
    network = FlowNetwork.from_arrays([0, 2], [3, 1], [5, 4], reverse_capacity=[2, 0])
    save_npz(tmp_path / "a.npz", MaxFlowProblem(network, (0, 1), 3))
    facts = json.loads(succeed("info", str(tmp_path / "a.npz"), "--json"))
    assert (facts["two_way_arcs"], facts["source"]) == (1, [0, 1])
    assert (facts["source_capacity"], facts["sink_capacity"]) == (5, 5)
    assert re.search("^source +vertex 0, 1: ", succeed("info", str(tmp_path / "a.npz")), re.MULTILINE)
    save_npz(tmp_path / "none.npz", FlowNetwork.from_arrays([], [], [], num_vertices=0))
    assert "none finite" in succeed("info", str(tmp_path / "none.npz"))


# Generate


def test_generate_lists_families_and_parameters() -> None:
    text = succeed("generate", "--list")
    assert all(re.search(rf"^{name} ", text, re.MULTILINE) for name in [*FAMILIES, *BIPARTITE_FAMILIES])
    text = succeed("generate", "grid-2d", "--list")
    assert "HEIGHTxWIDTHxCONNECTIVITY" in text
    assert re.search(r"--contrast +true or false, false by default", text)


@pytest.mark.parametrize(
    ("arguments", "size", "parameters"),
    [
        (["rmf-wide", "5x3"], "5x3", {}),
        (["rmf-wide", "16x8", "--seed", "3"], "16x8", {"seed": 3}),
        (["rmf-wide", "--side", "5", "--frames=3", "--max-capacity", "9"], "5x3", {"max_capacity": 9}),
        (["grid-2d", "--contrast", "6x5", "--smoothing", "2.5"], "6x5", {"contrast": True, "smoothing": 2.5}),
        (["grid-2d", "6x5", "--contrast", "false"], "6x5", {}),
    ],
)
def test_generate_is_the_library(
    arguments: list[str], size: str, parameters: dict[str, float], tmp_path: Path
) -> None:
    expected = FAMILIES[arguments[0]].generate(size, **parameters)
    for name in ("x.npz", "x.max", "x.max.gz"):
        assert "wrote" in succeed("generate", *arguments, "-o", str(tmp_path / name))
    written = preflow.load_npz(tmp_path / "x.npz")
    assert isinstance(written, MaxFlowProblem)
    assert written.name == expected.name
    assert (written.network.capacity == expected.network.capacity).all()
    assert gzip.decompress((tmp_path / "x.max.gz").read_bytes()) == (tmp_path / "x.max").read_bytes()
    assert run("generate", *arguments, "-o", "-").stdout == (tmp_path / "x.max").read_text()


def test_generate_names_the_file_after_the_instance(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    succeed("generate", "rmf-wide", "5x3")
    assert preflow.read_dimacs("rmf-wide-5x3-seed-0.max.gz").network.num_vertices == 75


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "name a family"),
        (["rmf-lang"], "unknown family 'rmf-lang', did you mean 'rmf-long'? There are: genrmf, rmf-wide"),
        (["rmf-wide"], "rmf-wide needs 'side'"),
        (["rmf-wide", "5"], "a size of rmf-wide must be written"),
        (["rmf-wide", "5x3", "4x4"], "a second size '4x4', after '5x3'"),
        (["rmf-wide", "5x3", "--depth", "4"], "rmf-wide has no parameter 'depth': it has side, frames"),
        (["rmf-wide", "5x3", "--max-capacity"], "--max-capacity lacks its value"),
        (["rmf-wide", "5x3", "--max-capacity", "big"], "--max-capacity must be an integer, got 'big'"),
        (["grid-2d", "5x3", "--contrast=5"], "--contrast must be true or false, got '5'"),
        (["rmf-wide", "5x3", "-o", "x.txt"], "x.txt: for rmf-wide the name ends in .max.gz, .max or .npz"),
    ],
)
def test_generate_says_what_is_wrong(
    arguments: list[str], message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert message in fail("generate", *arguments)
    assert not list(tmp_path.iterdir())


# Verify


@pytest.mark.parametrize(
    ("solution", "violation"),
    [
        ("s 2\nf 1 2 2\nf 2 4 2\n", "the flow is not maximum"),
        ("s 4\nf 1 2 2\nf 2 4 2\nf 1 3 1\nf 3 4 1\n", "the flow into the sink is 3, not 4"),
        ("s 3\nf 1 2 3\nf 2 4 2\nf 1 3 1\nf 3 4 1\n", "vertex 1 gains 1: flow is not conserved"),
        ("s 3\nf 1 2 3\nf 2 4 3\n", "sends 3 from vertex 2 to vertex 4, the capacity is 2"),
        ("s 3\nf 1 4 3\n", "a flow from vertex 1 to vertex 4, the network no such arc"),
        ("s 3\nf 1 7 3\n", "names vertex 7, the network has 4 vertices"),
    ],
)
def test_verify_names_the_violation(small: str, tmp_path: Path, solution: str, violation: str) -> None:
    path = tmp_path / "claimed.sol"
    path.write_text(solution)
    result = run("verify", small, str(path))
    assert result.exit_code == 1
    assert result.stdout.startswith("not verified: ")
    assert violation in result.stdout


def test_verify_rejects_malformed_solutions(small: str, tmp_path: Path) -> None:
    path = tmp_path / "claimed.sol"
    path.write_text("s 3\nf 1 2\n")
    assert f"{path}:2: " in fail("verify", small, str(path))


# Methods


def test_methods_tells_all_about_each() -> None:
    text = succeed("methods")
    assert "max_flow, min_cut" in text
    for method in preflow.methods("max_flow"):
        assert all(name in text for name in (method.name, method.paper, method.summary, *method.other_names))
    assert "relabel_period=1.0" in text
    assert "serial-hi-pr" in succeed("methods", "min_cut")
    assert "unknown problem or method 'sorting'; there are: max_flow" in fail("methods", "sorting")
    near = {
        "dinic": "'serial-dinic'",
        "jv": "'JV'",
        "pothen fan": "'serial-pothen-fan' or 'multicore-pothen-fan'",
    }
    for name, meant in near.items():
        assert f"did you mean {meant}? There are: max_flow" in fail("methods", name)
    text = succeed("methods", "HI_PR")
    assert text.startswith("max_flow, min_cut (serial-hi-pr)\n\nHighest-label push-relabel")


# Segment and bench


@pytest.fixture
def square(tmp_path: Path) -> str:
    """A bright square in a dark image."""
    imageio = pytest.importorskip("imageio.v3")
    pixels = np.zeros((40, 50), dtype=np.uint8)
    pixels[10:30, 10:35] = 220
    imageio.imwrite(tmp_path / "square.png", pixels)
    return str(tmp_path / "square.png")


SEEDS = ["--foreground", "15,15,20,20", "--background", "2,2 45,2"]


def test_segment(square: str, tmp_path: Path) -> None:
    from preflow.vision import read_image

    out, mask = tmp_path / "out.png", tmp_path / "mask.png"
    text = succeed("segment", square, *SEEDS, "--out", str(out), "--mask", str(mask), "--verify")
    assert "500 pixels, 25.0%" in text
    assert "the energy is the least" in text
    assert read_image(out).shape == (40, 50, 3)
    assert (read_image(mask) == np.where(read_image(square) > 0, 255, 0)).all()


def test_strokes_correct_the_object_in_a_box(square: str, tmp_path: Path) -> None:
    from preflow.vision import read_image

    mask = tmp_path / "mask.png"
    files = ["--out", str(tmp_path / "out.png"), "--mask", str(mask)]
    stroke = ["--foreground", "10,36 20,36", "--background", "40,20 40,20", "--brush", "1"]
    text = succeed("segment", square, *files, "--box", "5,5,42,38", *stroke, "--verify")
    assert "verified" in text
    assert (read_image(mask)[36, 10:21] == 255).all()
    assert read_image(mask)[20, 40] == 0


def test_segment_writes_a_cutout(square: str, tmp_path: Path) -> None:
    import imageio.v3 as imageio

    out, alone = str(tmp_path / "out.png"), str(tmp_path / "alone.png")
    assert alone in succeed("segment", square, *SEEDS, "--out", out, "--cutout", alone)
    found = imageio.imread(alone)
    assert found.shape == (40, 50, 4)
    assert int((found[..., 3] == 255).sum()) == 500
    assert "a cut-out is of an image" in fail("segment", square, *SEEDS, "--out", out, "--cutout", "x.jpg")


def test_segment_labels(square: str, tmp_path: Path) -> None:
    from preflow.vision import read_image, write_image

    out, labels = tmp_path / "out.png", tmp_path / "labels.npy"
    files = ("--out", str(out), "--labels", str(labels))
    seeds = ("--seed", "1=15,15,20,20", "--seed", "2=2,2 45,2", "--seed", "7=2,38 45,38")
    text = succeed("segment-labels", square, *files, *seeds, "--verify")
    assert "no expansion lowers the energy" in text
    assert "1: 500, 2: " in text
    assert read_image(out).shape == (40, 50, 3)
    found = np.load(labels)
    assert set(np.unique(found)) == {1, 2, 7}
    assert ((found == 1) == (read_image(square) > 0)).all()
    for name, write in (("m.npy", np.save), ("m.png", write_image)):
        marked = str(tmp_path / name)
        write(marked, np.where(np.arange(50) % 48 == 0, 2, np.eye(40, 50)).astype(np.uint8))
        assert "verified" in succeed("segment-labels", square, *files, "--markers", marked, "--verify")
    (tmp_path / "m.npy").write_bytes(b"no array")
    marked = str(tmp_path / "m.npy")
    for arguments, message in (
        ((), "seeds are needed"),
        (("--markers", marked, *seeds), "seeds are needed"),
        (("--markers", marked), "markers are a NumPy array"),
        (("--seed", "15,15,20,20"), "a seed of a label is"),
        (("--seed", "0=15,15,20,20"), "a seed of a label is"),
        (("--seed", "1=1,1,9,9", "--seed", "2=5,5,20,20"), "overlaps with seeds of label 1"),
    ):
        assert message in fail("segment-labels", square, *files, *arguments)
    assert "ends in .png" in fail("segment-labels", square, "--out", "x.jpg", *seeds)
    assert "ends in .npy" in fail("segment-labels", square, *files[:2], "--labels", "x.jpg", *seeds)


def test_segment_in_a_box_shows_sizes_and_times(square: str, tmp_path: Path) -> None:
    from preflow.vision import read_image

    mask = tmp_path / "mask.png"
    files = ["--out", str(tmp_path / "out.png"), "--mask", str(mask)]
    text = succeed("segment", square, *files, "--box", "5,5,40,34", "--show", "--verify")
    assert "GridNetwork(40 x 50, 8 neighbours" in text
    assert all(step in text for step in ("read", "segment", "verify", "write", "cuts"))
    assert (read_image(mask) == np.where(read_image(square) > 0, 255, 0)).all()


def test_segment_of_a_volume(tmp_path: Path) -> None:
    nibabel = pytest.importorskip("nibabel")
    pytest.importorskip("imageio")
    from preflow.vision import read_image, read_volume

    values = np.zeros((14, 12, 10), dtype=np.uint8)  # x, y, z
    values[3:11, 4:9, 2:7] = 200
    file, mask, labels = (str(tmp_path / name) for name in ("brain.nii.gz", "mask.nii", "labels.nii"))
    nibabel.save(nibabel.Nifti1Image(values, np.diag([2.0, 2.0, 3.0, 1.0])), file)
    files = ["--out", str(tmp_path / "out.png"), "--mask", mask]
    seeds = ["--foreground", ">180", "--foreground", "5,5,4,6,6,5", "--background", "1,1,1 12,1,1"]
    succeed("segment", file, *files, *seeds, "--smoothness", "5", "--verify")
    assert (read_volume(mask).values == (values.T > 0)).all()
    assert (read_volume(mask).affine == np.diag([2.0, 2.0, 3.0, 1.0])).all()
    assert read_image(tmp_path / "out.png").shape == (15, 14 + 14 + 12, 3)
    painted = np.where(values > 0, 1, 2).astype(np.uint8)
    nibabel.save(nibabel.Nifti1Image(painted, np.eye(4)), labels)
    succeed("segment", file, *files, "--scribbles", labels)
    assert (read_volume(mask).values == (values.T > 0)).all()
    nibabel.save(nibabel.Nifti1Image(painted[:-1], np.eye(4)), labels)
    assert "labels.nii has shape" in fail("segment", file, *files, "--scribbles", labels)
    for sides in ("1,1", "1,1,0", "1,1,a", "1,1,inf"):
        assert "--spacing is X,Y,Z" in fail("segment", file, *files[:2], *seeds, "--spacing", sides)
    header, cubes, millimetres = (
        succeed("segment", file, *files[:2], *seeds, "--sigma", "inf", *more)
        for more in ((), ("--spacing", "1,1,1"), ("--spacing", "2,2,3"))
    )
    energies = [
        next(line for line in text.splitlines() if "energy" in line) for text in (header, cubes, millimetres)
    ]
    assert energies[0] == energies[2] != energies[1]
    assert "ends in .nii" in fail("segment", file, *files[:2], "--mask", str(tmp_path / "m.png"), *seeds)
    assert "outside the image" in fail("segment", file, *files, "--foreground", "1,1,40", *seeds)
    assert "a seed is a box" in fail("segment", file, *files, "--foreground", "1,1,2,2", *seeds)
    assert "cannot be read" in fail("segment", "none.nii", *files, *seeds)


def test_labels_of_a_volume(tmp_path: Path) -> None:
    for package in ("nibabel", "tifffile", "imageio"):
        pytest.importorskip(package)
    from preflow.vision import Volume, read_image, read_volume, write_labels, write_volume

    values = np.full((10, 12, 14), 90, np.uint8)
    values[2:7, 4:9, 3:11], values[:, :2] = 200, 10
    like = Volume(values, np.diag([2.0, 2.0, 3.0, 1.0]))
    truth = np.searchsorted([50, 150], values) + 1
    seeds = ["--seed", "1=<20", "--seed", "2=1,10,1 12,10,9", "--seed", "3=5,6,3,6,7,5"]
    for kind in ("nii.gz", "tif"):
        file, out, labels, markers = (str(tmp_path / f"{name}.{kind}") for name in ("v", "o", "l", "m"))
        write_volume(file, like)
        out = out.replace(kind, "png")
        files = ["segment-labels", file, "--out", out, "--labels"]
        assert "10 x 12 x 14" in succeed(*files, labels, *seeds, "--smoothness", "1", "--verify")
        assert (read_volume(labels).values == truth).all()
        assert read_volume(labels).spacing == pytest.approx((3, 2, 2))
        assert read_image(out).shape == (15, 14 + 14 + 12, 3)
        write_labels(markers, np.where(np.indices(truth.shape).sum(0) % 3, 0, truth), like)
        between = [*seeds[:2], "--seed", "2=50:150", "--seed", "3=>150"]
        succeed(*files, labels, *between, "--spacing", "0.5,1,4")
        assert (read_volume(labels).values == truth).all()
        assert read_volume(labels).spacing == pytest.approx((4, 1, 0.5))
        succeed(*files, str(tmp_path / "l.npy"), "--markers", markers)
        assert (np.load(tmp_path / "l.npy") == truth).all()
    assert "ends in .npy" in fail(*files, str(tmp_path / "l.png"), *seeds)
    far = ["--seed", "1=<20", "--seed", "70000=>150"]
    assert "labels from 0 to 65,535" in fail(*files, str(tmp_path / "far.tif"), *far)


def test_given_sides_are_those_of_the_mask(tmp_path: Path) -> None:
    for package in ("nibabel", "tifffile", "imageio"):
        pytest.importorskip(package)
    from preflow.vision import read_volume, write_image

    slices = tmp_path / "slices"
    slices.mkdir()
    for k in range(4):
        write_image(
            slices / f"s{k}.png", np.where(np.indices((9, 8)).sum(0) > 8 + k, 200, 10).astype(np.uint8)
        )
    for name in ("m.tif", "m.nii.gz"):
        mask, out = str(tmp_path / name), str(tmp_path / "o.png")
        files = ["segment", str(slices), "--out", out, "--mask", mask, "--spacing", "0.2,0.3,0.5"]
        succeed(*files, "--foreground", "150:255", "--background", "<20")
        found = read_volume(mask)
        assert found.spacing == pytest.approx((0.5, 0.3, 0.2))
        assert (found.values == (read_volume(slices) > 100)).all()


@pytest.mark.parametrize("kind", ["png", "tif"])
def test_labels_of_an_image_are_a_picture(tmp_path: Path, kind: str) -> None:
    pytest.importorskip("imageio")
    from preflow.vision import read_image, write_image

    image = np.where(np.indices((9, 8)).sum(0) > 8, 200, 10).astype(np.uint8)
    file, out, labels = (str(tmp_path / name) for name in ("i.png", "o.png", f"l.{kind}"))
    write_image(file, image)
    succeed("segment-labels", file, "--out", out, "--labels", labels, "--seed", "1=<20", "--seed", "300=>150")
    assert (read_image(labels) == np.where(image > 100, 300, 1)).all()


def test_stacks_and_folders_are_volumes(tmp_path: Path) -> None:
    tifffile = pytest.importorskip("tifffile")
    pytest.importorskip("imageio")
    from preflow.vision import read_volume, write_image

    values = np.full((10, 12, 14), 90, np.uint8)
    values[2:7, 4:9, 3:11] = 200
    stack, folder, mask = tmp_path / "stack.tif", tmp_path / "slices", tmp_path / "mask.tif"
    tifffile.imwrite(stack, values)
    folder.mkdir()
    for number, page in enumerate(values):
        write_image(folder / f"{number}.png", page)
    for file in (stack, folder):
        files = ["segment", str(file), "--out", str(tmp_path / "out.png"), "--mask", str(mask)]
        assert "10 x 12 x 14" in succeed(*files, "--foreground", ">180", "--background", "1,1,1 12,1,1")
        assert (read_volume(mask).values == (values > 100)).all()
    assert "read_volume(path) reads all" in fail("denoise", str(stack), *files[2:4], "--weight", "1")


def test_denoise(square: str, tmp_path: Path) -> None:
    from preflow.vision import read_image, write_image

    clean = read_image(square)
    spotted = clean.copy()
    spotted[::9, ::7] = 255
    noisy, out = str(tmp_path / "noisy.png"), str(tmp_path / "out.png")
    write_image(noisy, np.stack([spotted, clean, spotted], axis=-1))
    options = ["--weight", "0.3", "--data", "absolute", "--connectivity", "4"]
    text = succeed("denoise", noisy, "--out", out, *options, "--verify", "--show")
    assert "the energy is the least" in text
    assert "24 cuts" in text
    assert (read_image(out)[1:-1, 1:-1] != clean[1:-1, 1:-1, np.newaxis]).mean() < 0.01
    assert "data must be 'squared'" in fail(
        "denoise", noisy, "--out", out, "--weight", "1", "--data", "cubed"
    )
    assert "ends in .png" in fail("denoise", noisy, "--out", "out.jpg", "--weight", "1")
    assert "weight" in fail("denoise", noisy, "--out", out, "--weight", "-1")


def test_segment_says_what_is_wrong(square: str, tmp_path: Path) -> None:
    out = str(tmp_path / "out.png")
    assert "seeds are needed" in fail("segment", square, "--out", out)
    assert "a seed is a box" in fail("segment", square, "--out", out, "--foreground", "1,2,3")
    assert "outside of the box" in fail("segment", square, "--out", out, *SEEDS, "--box", "1,1,5,5")
    assert "takes no scribbles" in fail(
        "segment", square, "--out", out, "--scribbles", "x.png", "--box", "1,1,5,5"
    )
    assert '--box is "x0,y0,x1,y1"' in fail("segment", square, "--out", out, "--box", "5,5")
    assert "leave --model" in fail("segment", square, "--out", out, "--box", "1,1,5,5", "--prior", "0.2")
    assert "no range of values" in fail("segment", square, "--out", out, "--foreground", ">bright", *SEEDS)
    assert "ends in .png" in fail("segment", square, "--out", "out.xyz", *SEEDS)
    assert "cannot be written" in fail("segment", square, "--out", str(tmp_path / "none" / "x.png"), *SEEDS)
    assert "cannot be read" in fail("segment", "none.png", "--out", out, *SEEDS)


def test_missing_extra_is_named(square: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in ("imageio", "imageio.v3"):
        monkeypatch.setitem(sys.modules, module, None)
    message = fail("segment", square, "--out", str(tmp_path / "out.png"), *SEEDS, code=4)
    assert "preflow[vision]" in message


@pytest.mark.parametrize("arguments", [[], ["tiny", "--no-peers"], ["--help"]])
def test_bench_names_its_successor(arguments: list[str]) -> None:
    assert "python -m benchmarks" in fail("bench", *arguments)
    assert " bench " not in succeed("--help")


# The process: pipes, Ctrl-C, the terminal


def test_a_pipe_from_generate_to_solve() -> None:
    generated = subprocess.run(
        [*PROGRAM, "generate", "rmf-wide", "8x4", "-o", "-"], capture_output=True, check=True
    )
    solved = subprocess.run([*PROGRAM, "solve", "-"], input=generated.stdout, capture_output=True, check=True)
    assert b"standard input: 256 vertices" in solved.stdout


def test_a_reader_that_goes_away_is_no_error() -> None:
    command = [*PROGRAM, "generate", "rmf-wide", "40x8", "-o", "-"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.readline()
        process.stdout.close()
        messages = process.stderr.read().decode().splitlines()
    assert process.returncode == 141
    assert not [line for line in messages if not line.startswith("preflow: compiling")]


class OnTerminal:
    """A command whose standard error is a terminal, which shows all there is to see."""

    def __init__(self, arguments: Sequence[str], **environment: str) -> None:
        self.terminal, theirs = pty.openpty()
        self.process = subprocess.Popen(
            [*PROGRAM, *arguments],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=theirs,
            env={**os.environ, "TERM": "xterm", "COLUMNS": "100", **environment},
        )
        os.close(theirs)
        self.shown = ""

    def wait_for(self, text: str | None, seconds: float) -> None:
        """Read what is shown until `text` is (or until the process ends, where it is None)."""
        end = time.monotonic() + seconds
        while text is None or text not in self.shown:
            ready, _, _ = select.select([self.terminal], [], [], max(0.0, end - time.monotonic()))
            assert ready, f"nothing within {seconds} s, after {self.shown[-300:]!r}"
            try:
                self.shown += os.read(self.terminal, 65536).decode()
            except OSError:
                assert text is None, f"the command ended: {self.shown[-300:]!r}"
                return

    def interrupt(self) -> float:
        """Send Ctrl-C and return how many seconds the process takes to end."""
        start = time.monotonic()
        self.process.send_signal(signal.SIGINT)
        self.wait_for(None, seconds=20)
        self.process.wait(timeout=20)
        os.close(self.terminal)
        return time.monotonic() - start


def test_ctrl_c_during_a_long_solve(slow: str) -> None:
    command = OnTerminal(["solve", slow, "--method", "serial-generic"])
    command.wait_for(" relabels", seconds=60)
    assert command.interrupt() < 5
    assert command.process.returncode == 130
    assert command.shown.endswith("preflow: interrupted\r\n")
    assert "Traceback" not in command.shown


def test_ctrl_c_while_kernels_compile(small: str, tmp_path: Path) -> None:
    to_numba = {"PREFLOW_NATIVE": "0", "PREFLOW_CACHE_DIR": str(tmp_path / "cache")}
    command = OnTerminal(["solve", small], **to_numba)
    command.wait_for("compiling", seconds=60)
    time.sleep(0.3)
    assert command.interrupt() < 5
    assert command.process.returncode == 130
    assert "Traceback" not in command.shown


def test_compiling_is_said_once(small: str, tmp_path: Path) -> None:
    process = subprocess.run(
        [*PROGRAM, "info", small, "--json"],
        env={**os.environ, "PREFLOW_NATIVE": "0", "PREFLOW_CACHE_DIR": str(tmp_path / "cache")},
        capture_output=True,
        text=True,
        check=True,
    )
    json.loads(process.stdout)
    lines = process.stderr.splitlines()
    assert len(lines) == len(set(lines)) > 0
    for line in lines:
        assert line.startswith("preflow: compiling ")
        assert str(tmp_path / "cache") in line
