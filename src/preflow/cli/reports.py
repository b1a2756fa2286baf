"""Reports of the commands: facts as plain values, printed as JSON, and the same facts as aligned lines."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ..arrays import Array
    from ..generators.registry import Family
    from ..graph.bipartite import BipartiteGraph
    from ..graph.cost_network import CostNetwork
    from ..graph.network import FlowNetwork, MaxFlowProblem
    from ..solving.method import Method
    from ..stats import SolveStats

Facts = Mapping[str, Any]


def as_json(facts: Facts) -> str:
    """Return the facts as JSON; null replaces infinity, which JSON lacks."""

    def plain(value: Any) -> Any:
        if isinstance(value, Mapping):
            return {key: plain(entry) for key, entry in value.items()}
        return None if isinstance(value, float) and not math.isfinite(value) else value

    return json.dumps(plain(facts), indent=2)


def aligned(rows: Iterable[tuple[str, str]], indent: str = "") -> list[str]:
    """Return lines of a name and a text, with the texts aligned; rows without text are left out."""
    shown = [(name, text) for name, text in rows if text]
    width = max((len(name) for name, _ in shown), default=0)
    return [f"{indent}{name:<{width}}  {text}" for name, text in shown]


def counted(number: int, thing: str) -> str:
    """Return for example "1 arc" or "2,000 arcs"; `thing` is the plural, as in "arcs" or "vertices"."""
    one = "vertex" if thing == "vertices" else thing.removesuffix("s")
    return f"{number:,} {one if number == 1 else thing}"


#: Why a result has bounds in place of a value.
ENDED = {
    "time-limit": "time limit reached",
    "flow-limit": "flow limit reached",
    "approximate": "approximate, not proved optimal",
    "unproved": "not proved optimal",
}


def shape_text(shape: Iterable[int]) -> str:
    """Return a shape as in "1,024 x 768"."""
    return " x ".join(f"{length:,}" for length in shape)


def ended(status: str) -> str:
    """Return what follows an energy that is not proved the least."""
    return "" if status == "optimal" else f", not the least: {ENDED[status]}"


def proof(verified: bool, complete: bool, what: str = "the energy is the least") -> str:
    """Return what was proved of a picture."""
    return f"yes, {what}" if verified and complete else "yes" if verified else ""


def times(seconds: Mapping[str, float | None]) -> str:
    """Return the times of phases that there were."""
    return ", ".join(f"{phase} {time:.3g} s" for phase, time in seconds.items() if time is not None)


def method_and_reason(stats: SolveStats) -> str:
    """Return which method solved, where, and why it."""
    return f"{stats.method} ({stats.device}): {stats.reason}"


def bounds(result: Any, what: str = "") -> str:
    """Return why a result is not optimal, and its two bounds; `what` is what lies between them."""
    lower, upper = result.lower_bound, result.upper_bound
    return f"{ENDED[result.status]}: {f'{what} ' if what else ''}between {lower:,} and {upper:,}"


def amount(result: Any, value: str, goal: str, what: str = "") -> str:
    """Return the value of an optimal result by its name, and that it is the `goal`; else its bounds."""
    if result.status != "optimal":
        return bounds(result, what)
    within = f", within {result.gap:.3g}" if result.gap else ""
    return f"{getattr(result, value):,} ({goal}{within})"


def columns_text(columns: Mapping[str, str]) -> str:
    """Return which columns of a table were read, as in "from A to B, capacity 'capacity'"."""
    numbers = [f"{what} {name!r}" for what, name in columns.items() if what not in ("source", "target")]
    ends = [f"from {columns['source']!r} to {columns['target']!r}"] if "source" in columns else []
    return ", ".join([*ends, *numbers])


def total(amounts: Array) -> int | float:
    """Return the exact sum of integers, and that of floats."""
    from ..graph.network import exact_sum

    return exact_sum(amounts)


def how_solved(stats: SolveStats, seconds: Mapping[str, float], verified: bool) -> dict[str, Any]:
    """Return how a result was found; `seconds` are those outside of the solver."""
    counts = stats.to_dict()
    names = ("method", "initial", "reason", "attempts", "active", "device", "threads")
    how = {name: counts.pop(name) for name in names if name in counts}
    phases, per_thread = counts.pop("seconds"), counts.pop("per_thread")
    return {
        "verified": verified,
        **how,
        "counts": counts,
        "counts_per_thread": per_thread,
        "seconds": {"read": seconds["read"], **phases, "verify": seconds.get("verify")},
    }


def _work(name: str, count: float) -> str:
    """Return a count, or a time, with its name."""
    if name.endswith("_seconds"):
        return f"{count:.3g} s of {name.removesuffix('_seconds').replace('_', ' ')}s"
    return f"{count:,} {name.replace('_', ' ')}"


def solver_rows(facts: Facts, proved: str) -> list[tuple[str, str]]:
    """Return the rows that all reports end with; `proved` is what a proof covers, as in "the cost is"."""
    threads = f", {counted(facts['threads'], 'threads')}" if facts["device"] == "cpu" else ""
    start = f" from {facts['initial']}" if "initial" in facts else ""
    work = [_work(name, count) for name, count in facts["counts"].items() if count]
    return [
        ("method", f"{facts['method']}{start} ({facts['device']}{threads}): {facts['reason']}"),
        ("time", times(facts["seconds"])),
        ("work", ", ".join(work)),
        ("verified", f"yes, {proved} proved" if facts["verified"] else "not asked for (--verify)"),
    ]


def size_text(network: FlowNetwork | CostNetwork | BipartiteGraph) -> str:
    """Return the numbers of vertices and arcs, or of rows, columns and edges."""
    from ..graph.bipartite import BipartiteGraph

    if isinstance(network, BipartiteGraph):
        edges = counted(network.num_edges, "edges")
        return f"{network.num_rows:,} rows, {network.num_columns:,} columns, {edges}"
    return f"{counted(network.num_vertices, 'vertices')}, {counted(network.num_arcs, 'arcs')}"


def info_facts(problem: FlowNetwork | MaxFlowProblem | CostNetwork) -> Facts:
    """Return what `preflow info` says of a network, and of its terminals or costs."""
    from ..graph.cost_network import CostNetwork
    from ..graph.network import MaxFlowProblem

    if isinstance(problem, MaxFlowProblem):
        return {**_network_facts(problem.network), **_terminal_facts(problem)}
    return {**_network_facts(problem), **(_cost_facts(problem) if isinstance(problem, CostNetwork) else {})}


def _network_facts(network: FlowNetwork | CostNetwork) -> Facts:
    """Return sizes, degrees and capacities of a network, in O(m log m)."""
    import numpy as np

    from ..graph.cost_network import CostNetwork

    n, m = network.num_vertices, network.num_arcs
    tail, head = network.tail.astype(np.uint64), network.head.astype(np.uint64)
    between = tail != head
    pairs = np.unique(tail[between] * np.uint64(n) + head[between])
    opposite = (pairs % np.uint64(n or 1)) * np.uint64(n) + pairs // np.uint64(n or 1)
    out_degree = np.bincount(network.tail, minlength=n)
    in_degree = np.bincount(network.head, minlength=n)
    finite = network.capacity[np.isfinite(network.capacity)]
    reverse = network.undirected if isinstance(network, CostNetwork) else network.reverse_capacity
    return {
        "vertices": n,
        "arcs": m,
        "two_way_arcs": 0 if reverse is None else int(np.count_nonzero(reverse)),
        "parallel_arcs": int(np.count_nonzero(between)) - len(pairs),
        "antiparallel_pairs": len(np.intersect1d(pairs, opposite, assume_unique=True)) // 2,
        "self_loops": m - int(np.count_nonzero(between)),
        "isolated_vertices": int(np.count_nonzero(out_degree + in_degree == 0)),
        "mean_degree": m / n if n else 0.0,
        "largest_out_degree": int(out_degree.max(initial=0)),
        "largest_in_degree": int(in_degree.max(initial=0)),
        "capacity_type": str(network.capacity.dtype),
        "least_capacity": finite.min().item() if len(finite) else None,
        "largest_capacity": finite.max().item() if len(finite) else None,
        "zero_capacities": m - int(np.count_nonzero(network.capacity)),
        "infinite_capacities": m - len(finite),
    }


def _terminal_facts(problem: MaxFlowProblem) -> Facts:
    """Return the arcs and capacities at source and sink; the capacities bound every flow."""
    import numpy as np

    from ..certify.cut import crossing_arcs, cut_capacity

    network = problem.network
    sources = network.vertices(problem.source, "source")
    sinks = network.vertices(problem.sink, "sink")
    beyond_source = np.ones(network.num_vertices, dtype=bool)
    beyond_source[sources] = False
    at_sink = np.zeros(network.num_vertices, dtype=bool)
    at_sink[sinks] = True

    def arcs(sink_side: Any) -> int:
        forward, backward = crossing_arcs(network, sink_side)
        return len(forward) + (0 if network.reverse_capacity is None else len(backward))

    return {
        "source": sources.tolist(),
        "sink": sinks.tolist(),
        "source_arcs": arcs(beyond_source),
        "source_capacity": cut_capacity(network, beyond_source),
        "sink_arcs": arcs(at_sink),
        "sink_capacity": cut_capacity(network, at_sink),
    }


def _cost_facts(network: CostNetwork) -> Facts:
    """Return costs, lower bounds and supplies of a network."""
    import numpy as np

    supply = np.zeros(1, dtype=np.int64) if network.supply is None else network.supply
    return {
        "cost_type": str(network.cost.dtype),
        "least_cost": network.cost.min().item() if network.num_arcs else None,
        "largest_cost": network.cost.max().item() if network.num_arcs else None,
        "negative_costs": int(np.count_nonzero(network.cost < 0)),
        "lower_bounds": 0 if network.lower is None else int(np.count_nonzero(network.lower)),
        "sources": int(np.count_nonzero(supply > 0)),
        "sinks": int(np.count_nonzero(supply < 0)),
        "supply": total(supply[supply > 0]),
        "demand": total(-supply[supply < 0]),
    }


def info_lines(facts: Facts, first_vertex: int) -> list[str]:
    """Return the report of `preflow info` as lines of text; vertices are numbered from `first_vertex`."""
    arcs = [
        f"{facts['arcs']:,}",
        _if_any(facts["two_way_arcs"], "two-way"),
        _if_any(facts["parallel_arcs"], "parallel to another"),
        _if_any(facts["antiparallel_pairs"], "antiparallel pairs"),
        _if_any(facts["self_loops"], "self loops"),
    ]
    span = "none finite"
    if facts["least_capacity"] is not None:
        span = f"{facts['least_capacity']:,} to {facts['largest_capacity']:,}"
    capacities = [
        f"{span} ({facts['capacity_type']})",
        _if_any(facts["zero_capacities"], "zero"),
        _if_any(facts["infinite_capacities"], "infinite"),
    ]
    isolated = _if_any(facts["isolated_vertices"], "isolated")
    rows = [
        ("instance", facts["instance"]),
        ("vertices", ", ".join(filter(None, [f"{facts['vertices']:,}", isolated]))),
        ("arcs", ", ".join(filter(None, arcs))),
        (
            "degree",
            f"{facts['mean_degree']:.3g} on average; at most {facts['largest_out_degree']:,} out, "
            f"{facts['largest_in_degree']:,} in",
        ),
        ("capacity", ", ".join(filter(None, capacities))),
    ]
    if "cost_type" in facts:
        rows += _cost_rows(facts)
    for role, direction in (("source", "out"), ("sink", "in")):
        if role in facts:
            vertices = ", ".join(str(vertex + first_vertex) for vertex in facts[role][:5])
            more = ", ..." if len(facts[role]) > 5 else ""
            amount = f"{counted(facts[f'{role}_arcs'], 'arcs')} {direction}, capacity"
            rows.append((role, f"vertex {vertices}{more}: {amount} {facts[f'{role}_capacity']:,} in all"))
    if "source" in facts:
        bound = min(facts["source_capacity"], facts["sink_capacity"])
        rows.append(("bound", f"no flow exceeds {bound:,}"))
    return aligned(rows)


def _cost_rows(facts: Facts) -> list[tuple[str, str]]:
    span = "none"
    if facts["least_cost"] is not None:
        span = f"{facts['least_cost']:,} to {facts['largest_cost']:,} ({facts['cost_type']})"
    lower = facts["lower_bounds"]
    sent = f"{facts['supply']:,} at {counted(facts['sources'], 'sources')}"
    received = f"{facts['demand']:,} at {counted(facts['sinks'], 'sinks')}"
    return [
        ("cost", ", ".join(filter(None, [span, _if_any(facts["negative_costs"], "negative")]))),
        ("lower bound", f"{counted(lower, 'arcs')} with one" if lower else ""),
        ("supply", sent),
        ("demand", received),
    ]


def _if_any(number: int, what: str) -> str:
    return counted(number, what) if number else ""


def method_lines(problems: Mapping[str, Sequence[Method]]) -> Iterator[str]:
    """Yield the methods of each problem; problems with the same methods are listed together."""
    for _, group in groupby(problems, key=lambda problem: problems[problem]):
        names = list(group)
        yield f"{', '.join(names)}: --method auto chooses among"
        for method in problems[names[0]]:
            also = f", also {', '.join(method.aliases)}" if method.aliases else ""
            yield ""
            yield f"  {method.name} ({method.place}{also})"
            yield f"    {method.summary}"
            for name, preset in method.variants.items():
                changed = ", ".join(f"{option}={value}" for option, value in preset.items())
                yield f"    {name}: the same with {changed}"
            yield from aligned([("paper", method.paper), ("options", method.options_text)], indent="    ")
        yield ""


def family_table(families: Iterable[Family[Any]]) -> list[str]:
    """Return one line for each family of instances."""
    rows = [(family.name, _size_of(family), family.summary) for family in families]
    shape = max(len(size) for _, size, _ in rows)
    return aligned((name, f"{size:<{shape}}  {summary}") for name, size, summary in rows)


def _size_of(family: Family[Any]) -> str:
    return "x".join(parameter.upper() for parameter in family.size_parameters)


def family_lines(family: Family[Any]) -> list[str]:
    """Return the usage of a family: sizes, and parameters with their defaults."""
    kinds = {int: "integer", float: "number", bool: "true or false"}
    rows = [
        (
            f"--{parameter.name.replace('_', '-')}",
            kinds[parameter.type]
            + (", needed" if parameter.required else f", {str(parameter.default).lower()} by default"),
        )
        for parameter in family.parameters
    ]
    return [
        f"{family.name}: {family.summary}",
        "",
        *aligned([("size", _size_of(family)), ("such as", "  ".join(family.presets))], "  "),
        "",
        *aligned(rows, indent="  "),
    ]
