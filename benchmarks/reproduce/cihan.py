"""Cihan, "Parallel Maximum Flow Solver for Multi-Core Machines" (2010): instances, tables and comparison.

The suite "cihan" has the thesis's families at its sizes (tables A.1 to A.3) and its vision instances (table
B.1). A report shows the operation counts of preflow's methods beside those of the thesis's codes. As in the
thesis, times and counts of a family are means over the instances of its seeds.
"""

from __future__ import annotations

import math
import statistics
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

from preflow.errors import InvalidInputError
from preflow.generators import family, grid_3d
from preflow.graph.network import MaxFlowProblem
from preflow.io.dimacs import read_max_flow, write_dimacs
from preflow.maxflow.problem import METHODS as MAX_FLOW_METHODS
from preflow.solving.dispatch import find_method, usable_cpus

from ..files import find_files, instance_name
from ..instances.flow import FlowInstance
from ..machine import check_memory
from ..problem import Case, SolverSettings, Suite, Table, method_and_threads
from ..problems import PROBLEMS
from ..records import InstanceRecord, Measurement
from ..scaling import by_group, own_contestants, part_seconds
from ..suites.flow import flow_case
from .activity import RECORDED, activity_table
from .means import Mean, mean_seconds
from .programs import Record, Row, read_settings
from .selection import Paper, Program, Selection

#: multicore-fifo with the parallel global relabel of section 4.6.3 and the donation of the oldest vertex.
AS_PRINTED = "multicore-fifo[search=jump-queues,donation=oldest]"
#: The methods that correspond to the codes Cihan, also as printed, F_PRF and H_PRF; the codes HI_PR, HI_PRO
#: and HI_PRW as the tables show them, each beside ours, which pushes along paths and drains; and auto.
METHODS = (
    "multicore-fifo",
    AS_PRINTED,
    "serial-fifo",
    "serial-highest-label-gap",
    "HI_PR",
    "serial-hi-pr",
    "HI_PRO",
    "serial-hi-pro",
    "HI_PRW",
    "serial-hi-prw",
    "auto",
)
#: F_PRF and Cihan with the numbers of active vertices: section 5.4 says that these limit the speed-up.
ACTIVITY_METHODS = (f"serial-fifo[{RECORDED}]", f"multicore-fifo[{RECORDED}]")
#: The other parallel systems, of chapter 3: pulses, and rounds in which vertices are relabelled often;
#: Anderson and Setubal; Bader and Sachdeva, also without gaps and with vertices in the order of a search.
RELATED_METHODS = (
    "multicore-fifo",
    "pulses",
    "multicore-synchronous",
    "multicore-anderson-setubal",
    "multicore-highest-label-gap",
    "multicore-highest-label-gap[gap=False]",
    "multicore-highest-label-gap[order=search]",
)
THREADS = (1, 2, 4, 8, 16)
#: The thesis has the times of Cihan on eight cores in its tables.
TABLE_THREADS = (1, 8)
#: Seeds of each family. The thesis has 20.
SEEDS = 3
#: The numbers of arcs of the vision instances in table B.1.
VOLUME_ARCS: Mapping[str, int] = MappingProxyType(
    {
        "BL06-gargoyle-lrg": 86_175_090,
        "BL06-gargoyle-med": 44_398_548,
        "LB07-bunny-med": 38_739_041,
        "babyface.n6c100": 30_386_370,
        "babyface.n6c10": 30_386_370,
        "BL06-camel-lrg": 93_749_846,
        "BL06-camel-med": 47_933_324,
    }
)
#: Shapes with as many voxels as the vision instances of table B.1, and the largest capacity between voxels.
VOLUMES: Mapping[str, tuple[tuple[int, int, int], int]] = MappingProxyType(
    {
        "BL06-gargoyle-lrg": ((240, 256, 280), 100),
        "BL06-gargoyle-med": ((192, 192, 240), 100),
        "LB07-bunny-med": ((202, 199, 157), 100),
        "babyface.n6c100": ((250, 250, 81), 100),
        "babyface.n6c10": ((250, 250, 81), 10),
        "BL06-camel-lrg": ((300, 210, 300), 100),
        "BL06-camel-med": ((240, 168, 240), 100),
    }
)
#: Vertices of a vision instance that are no voxels.
TERMINALS = 2
#: The suite "cihan-small" divides the sides of the volumes by this.
DIVISOR = 8
#: The groups of the suite "cihan-small", with the groups of the thesis's sizes.
SMALL_GROUPS: Mapping[str, str] = MappingProxyType(
    {
        "rmf-wide 32x8": "rmf-wide 400x16",
        "rlg-wide 1024x32": "rlg-wide 32768x64",
        "acyclic dense 500": "acyclic dense 8192",
        "rmf-long 8x128": "rmf-long 32x1024",
        "rlg-long 32x1024": "rlg-long 64x65536",
        "line-moderate 4096x4 degree 32": "line-moderate 65536x4 degree 128",
    }
)
#: The memory in bytes that a voxel takes while a volume is generated and solved.
BYTES_A_VOXEL = 600

# Instances


def cases(files: Sequence[str], seeds: int = SEEDS) -> list[Case]:
    """Return the families and the vision instances at the sizes of the thesis.

    A vision instance is read if one of the `files` has its name; it must have as many voxels as in table B.1.
    Otherwise a synthetic volume of the same size replaces it; its name ends in "-like".
    """
    synthetic = [
        *_family_seeds("rmf-wide", "400x16", seeds),
        *_family_seeds("rlg-wide", "32768x64", seeds),
        *_family_seeds("ac-dense", "8192", seeds, "acyclic dense 8192", max_capacity=10_000),
        *_family_seeds("rmf-long", "32x1024", seeds),
        *_family_seeds("rlg-long", "64x65536", seeds),
        *_family_seeds("line-moderate", "65536x4x128", seeds, "line-moderate 65536x4 degree 128"),
    ]
    own = {instance_name(path, ".max"): path for path in find_files(files, ".max")}
    volumes = [
        replace(flow_case(name, partial(_read_volume, own[name], shape, VOLUME_ARCS[name])), group=name)
        if name in own
        else _volume(f"{name}-like", shape, strength)
        for name, (shape, strength) in VOLUMES.items()
    ]
    return synthetic + volumes


def small_cases(files: Sequence[str], seeds: int = SEEDS) -> list[Case]:
    """Return smaller instances of the same families, and smaller synthetic volumes."""
    synthetic = [
        *_family_seeds("rmf-wide", "32x8", seeds),
        *_family_seeds("rlg-wide", "1024x32", seeds),
        *_family_seeds("ac-dense", "500", seeds, "acyclic dense 500", max_capacity=10_000),
        *_family_seeds("rmf-long", "8x128", seeds),
        *_family_seeds("rlg-long", "32x1024", seeds),
        *_family_seeds("line-moderate", "4096x4x32", seeds, "line-moderate 4096x4 degree 32"),
    ]
    volumes = [
        _volume(f"{name}-like small", tuple(side // DIVISOR for side in shape), strength)
        for name, (shape, strength) in VOLUMES.items()
    ]
    return synthetic + volumes


def _family_seeds(
    name: str, size: str, seeds: int, shown: str | None = None, **parameters: int
) -> list[Case]:
    """Return a group: the instances of several seeds."""
    group = shown or f"{name} {size}"
    return [
        replace(
            flow_case(f"{group} seed {seed}", partial(family(name).generate, size, seed=seed, **parameters)),
            group=group,
        )
        for seed in range(seeds)
    ]


def _read_volume(path: str | Path, shape: tuple[int, ...], arcs: int) -> MaxFlowProblem:
    """Return a vision instance; the thesis has no values of flows to compare.

    Raises
    ------
    InvalidInputError
        It has other numbers of voxels or arcs than those of the table.
    """
    problem = read_max_flow(path)
    voxels, wanted = problem.network.num_vertices - TERMINALS, math.prod(shape)
    if voxels != wanted:
        raise InvalidInputError(f"{path} has {voxels:,} voxels, not {wanted:,} as in table B.1 of the thesis")
    if problem.network.num_arcs != arcs:
        raise InvalidInputError(
            f"{path} has {problem.network.num_arcs:,} arcs, not {arcs:,} as in table B.1 of the thesis"
        )
    return problem


def _volume(name: str, shape: tuple[int, ...], strength: int) -> Case:
    """Return a synthetic volume with the size of a vision instance."""

    def generate() -> MaxFlowProblem:
        check_memory(BYTES_A_VOXEL * math.prod(shape))
        return grid_3d(*shape, contrast=True, strength=strength, data_weight=strength, seed=0)

    return replace(flow_case(name, generate), group=name)


# Published tables


class Published(NamedTuple):
    """A row of a table of the thesis."""

    seconds: float
    pushes: int
    relabels: int
    global_relabels: int


class PublishedTable(NamedTuple):
    """A table of the thesis: its number, and its rows by code."""

    number: str
    rows: Mapping[str, Published]


def _table(number: str, **rows: tuple[float, int, int, int]) -> PublishedTable:
    return PublishedTable(number, MappingProxyType({code: Published(*row) for code, row in rows.items()}))


#: The tables of appendices C and D by instance. They were measured on two quad-core Xeons X5355 of 2.66 GHz.
#: Table C has means over 20 seeds with three runs each, table D means over 20 runs. Parsing is not included.
TABLES: Mapping[str, PublishedTable] = MappingProxyType(
    {
        "rmf-wide 400x16": _table(
            "C.1",
            Cihan=(144.56, 608_354_883, 324_971_087, 42),
            F_PRF=(472.2, 604_329_223, 265_709_785, 104),
            H_PRF=(168.94, 357_932_622, 210_455_046, 82),
            HI_PR=(153.85, 345_341_109, 203_143_194, 81),
            HI_PRO=(152.9, 342_331_384, 201_709_409, 80),
            HI_PRW=(146.9, 331_505_857, 195_644_032, 78),
        ),
        "rlg-wide 32768x64": _table(
            "C.2",
            Cihan=(34.15, 126_367_606, 52_292_047, 17),
            F_PRF=(64.07, 92_457_946, 30_672_323, 15),
            H_PRF=(41.42, 91_626_681, 37_085_639, 18),
            HI_PR=(45.35, 92_383_060, 37_477_319, 19),
            HI_PRO=(44.96, 92_311_356, 37_445_503, 19),
            HI_PRW=(44.65, 91_140_000, 36_790_682, 19),
        ),
        "acyclic dense 8192": _table(
            "C.3",
            Cihan=(20.61, 278_379, 128_737, 6),
            F_PRF=(36.29, 202_765, 74_208, 9),
            H_PRF=(19.18, 134_287, 46_827, 6),
            HI_PR=(32.86, 181_995, 52_971, 8),
            HI_PRO=(27.9, 133_111, 46_101, 7),
            HI_PRW=(34.04, 182_576, 53_466, 8),
        ),
        "rmf-long 32x1024": _table(
            "C.4",
            Cihan=(17.28, 59_429_217, 17_250_374, 16),
            F_PRF=(34.68, 66_248_774, 17_965_208, 17),
            H_PRF=(11.8, 33_646_761, 26_848_312, 26),
            HI_PR=(10.2, 33_412_519, 26_636_933, 27),
            HI_PRO=(10.19, 33_448_035, 26_670_890, 27),
            HI_PRW=(11.34, 37_272_662, 29_120_180, 29),
        ),
        "rlg-long 64x65536": _table(
            "C.5",
            Cihan=(74.71, 416_787_522, 61_070_981, 7),
            F_PRF=(156.08, 455_468_236, 36_393_644, 9),
            H_PRF=(2.22, 17_066_286, 2_757_994, 1),
            HI_PR=(2.52, 17_078_084, 2_764_515, 2),
            HI_PRO=(2.43, 17_066_286, 2_758_057, 2),
            HI_PRW=(2.63, 17_435_751, 2_773_932, 2),
        ),
        "line-moderate 65536x4 degree 128": _table(
            "C.6",
            Cihan=(3.09, 1_619_893, 371_663, 2),
            F_PRF=(1.81, 970_826, 170_807, 1),
            H_PRF=(0.92, 473_983, 12_576, 1),
            HI_PR=(2.53, 473_904, 12_536, 2),
            HI_PRO=(2.53, 473_983, 12_576, 2),
            HI_PRW=(2.54, 473_912, 12_550, 2),
        ),
        "BL06-gargoyle-lrg": _table(
            "D.1",
            Cihan=(139.35, 481_472_484, 185_776_642, 10),
            F_PRF=(361.42, 515_678_942, 137_625_624, 9),
            H_PRF=(327.64, 593_231_209, 288_901_272, 17),
            HI_PR=(252.31, 573_404_232, 277_538_216, 17),
            HI_PRO=(316.25, 573_404_232, 277_538_311, 18),
            HI_PRW=(235.23, 545_866_547, 252_860_479, 16),
        ),
        "BL06-gargoyle-med": _table(
            "D.2",
            Cihan=(62.45, 224_193_550, 89_910_873, 9),
            F_PRF=(151.7, 228_801_386, 61_931_541, 8),
            H_PRF=(146.5, 250_236_488, 124_966_936, 15),
            HI_PR=(117.77, 258_291_346, 129_415_650, 15),
            HI_PRO=(144.41, 258_291_346, 129_415_725, 16),
            HI_PRW=(108.12, 234_920_307, 113_515_312, 14),
        ),
        "LB07-bunny-med": _table(
            "D.3",
            Cihan=(22.65, 68_152_847, 28_370_124, 5),
            F_PRF=(36.08, 59_696_211, 25_244_356, 5),
            H_PRF=(42.8, 61_505_463, 35_620_715, 6),
            HI_PR=(46.83, 62_132_193, 35_947_981, 7),
            HI_PRO=(47.02, 63_901_025, 35_923_078, 7),
            HI_PRW=(63.93, 114_232_037, 59_410_754, 11),
        ),
        "babyface.n6c100": _table(
            "D.4",
            Cihan=(27.68, 102_149_201, 45_417_102, 8),
            F_PRF=(51.67, 66_512_855, 25_710_368, 6),
            H_PRF=(70.89, 144_081_054, 67_919_846, 14),
            HI_PR=(69.96, 144_727_796, 68_305_595, 15),
            HI_PRO=(69.76, 145_046_119, 68_172_555, 15),
            HI_PRW=(65.3, 137_095_408, 63_109_261, 14),
        ),
        "babyface.n6c10": _table(
            "D.5",
            Cihan=(24.06, 68_909_744, 31_885_082, 8),
            F_PRF=(51.7, 60_133_237, 25_339_596, 6),
            H_PRF=(52.86, 108_512_380, 55_665_530, 11),
            HI_PR=(52.27, 107_922_330, 55_655_142, 12),
            HI_PRO=(51.9, 107_959_242, 55_596_317, 12),
            HI_PRW=(54.5, 111_159_170, 57_578_572, 13),
        ),
        "BL06-camel-lrg": _table(
            "D.6",
            Cihan=(163.84, 518_414_986, 201_545_792, 10),
            F_PRF=(318.19, 438_198_557, 151_200_025, 9),
            H_PRF=(401.1, 830_152_726, 392_764_654, 21),
            HI_PR=(399.37, 846_148_257, 404_634_873, 22),
            HI_PRO=(431.78, 846_148_257, 404_634_929, 23),
            HI_PRW=(389.83, 848_117_029, 397_136_601, 22),
        ),
        "BL06-camel-med": _table(
            "D.7",
            Cihan=(72.49, 240_321_840, 98_548_804, 9),
            F_PRF=(132.17, 194_376_600, 67_737_622, 8),
            H_PRF=(163.62, 337_977_034, 159_339_534, 17),
            HI_PR=(163.42, 350_016_127, 168_312_018, 18),
            HI_PRO=(178.47, 350_016_127, 168_312_066, 19),
            HI_PRW=(150.38, 336_872_618, 158_178_409, 17),
        ),
    }
)


# Comparison

COUNTS = ("pushes", "relabels", "global_relabels")


class Operations(NamedTuple):
    """A contestant's means on a group beside those of the corresponding code.

    Attributes
    ----------
    group, contestant : str
    instances : int
        The instances that it solved.
    stopped : tuple of str
        The other instances, each with the reason. They are in no mean: what was stopped is slower.
    seconds : Mean or None
        Over the instances, or over the runs if there is one instance. None if it solved no instance.
    relabels_share : float
        The share of the solve that global relabels took, where it is known.
    counts : tuple of Mean
        The operations in the order of COUNTS.
    table : str
    published : Published or None
    """

    group: str
    contestant: str
    instances: int
    stopped: tuple[str, ...]
    seconds: Mean | None
    relabels_share: float
    counts: tuple[Mean, ...]
    table: str
    published: Published | None


def table_of(group: str) -> PublishedTable | None:
    """Return the published table of a group; smaller instances have that of the thesis's size."""
    name = group.removesuffix(" small").removesuffix("-like")
    return TABLES.get(SMALL_GROUPS.get(name, name))


def operations(records: Sequence[InstanceRecord]) -> list[Operations]:
    """Return the operations of preflow's methods on each group."""
    rows = []
    for group, members in by_group(records).items():
        table = table_of(group)
        for contestant in own_contestants(members):
            took_part = [(record.name, each) for record in members if (each := record.of(contestant))]
            solved = [each for _, each in took_part if each.seconds]
            code = _code(contestant)
            rows.append(
                Operations(
                    group,
                    contestant,
                    len(solved),
                    tuple(f"{name}: {each.status}" for name, each in took_part if not each.seconds),
                    mean_seconds(solved),
                    _share_of_relabels(solved),
                    tuple(Mean.of([each.detail[name] for each in solved]) for name in COUNTS if solved),
                    table.number if table and code else "",
                    table.rows[code] if table and code else None,
                )
            )
    return rows


def _share_of_relabels(solved: Sequence[Measurement]) -> float:
    """Return the share of the solve that global relabels took in the last runs, in the mean."""
    shares = []
    for each in solved:
        times, relabels = each.all_seconds("solve"), part_seconds(each, "relabel")
        if times and relabels:
            shares.append(relabels / times[-1])
    return statistics.fmean(shares) if shares else 0.0


def _code(contestant: str) -> str | None:
    """Return the name of a method's code in the tables, None if the tables have no such code."""
    method, _ = method_and_threads(contestant)
    if method == AS_PRINTED:
        return "Cihan"
    method = method.removesuffix(f"[{RECORDED}]")
    if method == "auto" or "[" in method:
        return None
    codes = next(iter(TABLES.values())).rows
    names = (method, *find_method(MAX_FLOW_METHODS, method).other_names)
    return next((name for name in names if name in codes), None)


def operation_tables(records: Sequence[InstanceRecord]) -> list[Table]:
    """Return the table of operations."""
    rows = [
        [
            row.group,
            row.contestant,
            f"{row.instances}" + (f"; {'; '.join(row.stopped)}" if row.stopped else ""),
            row.seconds.text(".3g") if row.seconds else "",
            f"{row.relabels_share:.0%}" if row.relabels_share else "",
            *([count.text(",.0f") for count in row.counts] if row.counts else [""] * len(COUNTS)),
            row.table,
            *_published_cells(row.published),
        ]
        for row in operations(records)
    ]
    if not rows:
        return []
    names = [name.replace("_", " ") for name in COUNTS]
    published = [f"published {name}" for name in ("seconds", *names)]
    title = (
        "Operations, means ± standard deviations over the seeds (of seconds over the runs where there is one "
        "instance), beside the tables of Cihan's thesis (2010, two quad-core Xeons X5355). Instances that a "
        "method did not solve are named and in no mean. The `-like` instances have the size of the thesis's "
        "instances, but not their capacities. Published numbers are those of the thesis's sizes, also beside "
        "smaller instances"
    )
    header = ["instances", "contestant", "solved", "seconds", "global relabels' share", *names]
    return [Table(title, [*header, "table", *published], rows)]


def report_tables(records: Sequence[InstanceRecord]) -> list[Table]:
    """Return the table of operations, and that of active vertices if they were recorded."""
    return operation_tables(records) + activity_table(records, {})


def _published_cells(row: Published | None) -> list[str]:
    return [""] * 4 if row is None else [f"{row.seconds:g}", *(f"{count:,}" for count in row[1:])]


#: The suites by name.
SUITES: Mapping[str, Suite] = MappingProxyType(
    {
        "cihan": Suite(cases, METHODS, THREADS, report_tables),
        "cihan-small": Suite(small_cases, METHODS, THREADS, report_tables),
    }
)

# Reading

#: The instance that section 5.2.2 reads, and a smaller one: parameters of line-moderate.
READ, READ_SMALL = "65536x4x128", "4096x4x32"
#: The parts of a run, in seconds.
READ_PARTS = ("read", "build", "solve")


def show_reading(arguments: Sequence[str]) -> None:
    """Measure reading line-moderate from a file beside solving it: a part of the paper.

    The file lies in the folder for temporary files, and has been read before.
    """
    settings = read_settings("reading", arguments, seeds=1, repeats=3)
    record = Record(settings, ("instance", "run", "method"))
    size = READ_SMALL if settings.small else READ
    name, count = f"line-moderate {size}", min(max(TABLE_THREADS), usable_cpus())
    methods = settings.methods or ("F_PRF", "H_PRF", f"multicore-fifo@{count}", f"{AS_PRINTED}@{count}")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "instance.max"
        write_dimacs(path, family("line-moderate").generate(size, seed=0))
        read_max_flow(path)
        for run in range(settings.repeats):
            missing = [method for method in methods if record.lacks(name, run, method)]
            if not missing:
                continue
            began = time.perf_counter()
            problem = read_max_flow(path)
            reading = time.perf_counter() - began
            instance = FlowInstance.from_problem(problem)
            for method in missing:
                solver = PROBLEMS["min_cut"].contestant(f"preflow:{method}", SolverSettings(1, math.inf))
                solver.load(instance)
                found = solver.run(solver.prepare(instance)).seconds
                parts = {"read": reading, "build": found["build"], "solve": found["solve"]}
                record.add({"instance": name, "run": run, "method": method, **parts})
    title = "Seconds of reading a file of line-moderate and of solving it, medians of the runs"
    record.show(Table(title, READING_HEADER, reading_shares(record.rows)))


READING_HEADER = ["code", *(f"{part}, s" for part in READ_PARTS), "reading, %", "reading and building, %"]


def reading_shares(measured: Sequence[Row]) -> list[list[str]]:
    """Return the cells of READING_HEADER."""
    rows = []
    for method in dict.fromkeys(str(row["method"]) for row in measured):
        runs = [row for row in measured if row["method"] == method]
        parts = [statistics.median(float(row[part]) for row in runs) for part in READ_PARTS]
        shares = (100 * part / sum(parts) for part in (parts[0], sum(parts[:2])))
        rows.append([method, *(f"{part:.2f}" for part in parts), *(f"{share:.0f}" for share in shares)])
    return rows


# Selection

SPEED_UP, ACTIVE, RELATED = "speed-up", "active", "related"
#: The parts that have all families, the methods of each, and its numbers of threads.
WHOLE: Mapping[str, tuple[str, tuple[str, ...], tuple[int, ...]]] = MappingProxyType(
    {
        SPEED_UP: (
            "speed-up of Cihan by threads, in total and of the global relabels",
            METHODS[:2],
            THREADS,
        ),
        ACTIVE: ("how many vertices are active in F_PRF and Cihan", ACTIVITY_METHODS, TABLE_THREADS),
        RELATED: (
            "the other parallel systems, of chapter 3; without gaps they need --time-limit at full size",
            RELATED_METHODS,
            THREADS,
        ),
    }
)


def suites(selection: Selection) -> dict[str, Suite]:
    """Return the suite of the selected tables, speed-ups, active vertices and related systems."""
    make = small_cases if selection.small else cases
    seeds = SEEDS if selection.seeds is None else selection.seeds
    whole = [name for name in WHOLE if selection.wants(name)]
    has_tables = any(selection.wants(table.number) for table in TABLES.values())

    def chosen(files: Sequence[str]) -> list[Case]:
        every = make(files, seeds)
        groups = dict.fromkeys(case.group for case in every)
        numbers = dict(zip(groups, (table.number for table in TABLES.values()), strict=True))
        return [case for case in every if whole or selection.wants(numbers[case.group])]

    methods = [*(METHODS if has_tables else ()), *(each for name in whole for each in WHOLE[name][1])]
    threads = {*(TABLE_THREADS if has_tables else ()), *(each for name in whole for each in WHOLE[name][2])}
    return {"max_flow": Suite(chosen, tuple(dict.fromkeys(methods)), tuple(sorted(threads)), report_tables)}


PAPER = Paper(
    "Cihan, Parallel Maximum Flow Solver for Multi-Core Machines (2010)",
    MappingProxyType(
        {
            **{table.number: f"seconds and operations on {group}" for group, table in TABLES.items()},
            **{name: text for name, (text, _, _) in WHOLE.items()},
        }
    ),
    suites,
    seeded=True,
    full="for each seed and run on 16 cores 1.7 hours for the tables, 0.9 for speed-up, 0.7 for active, 0.2 "
    "for related with --threads 16 --time-limit 20",
    small="minutes",
    # Their methods are not those of the tables.
    apart=(ACTIVE, RELATED),
    programs=MappingProxyType(
        {"reading": Program("section 5.2.2: reading line-moderate beside solving it", show_reading)}
    ),
)
