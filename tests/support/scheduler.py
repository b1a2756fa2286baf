"""Explore every distinct state that two or three threads reach in a tiny case of a kernel.

Kernels run in plain Python here (``NUMBA_DISABLE_JIT=1``), one step at a time. A step is an atomic operation,
or a run of plain accesses to shared arrays up to the next atomic operation. A state is the content of the
shared arrays together with, for each thread, where it stands and its local variables. There are far fewer
states than schedules, and a loop that waits for another thread comes back to a state that is known.

No second thread runs. What a thread does next follows from its own frames and the shared arrays, so a thread
is brought to where it stood by running it alone from its start, with the shared arrays set before each of its
steps to what it met there; then it goes on, and unwinds where the outcome is known already.

What is found, besides what the caller checks:

- A thread that raises.
- A data race: two threads can make their next steps, these touch the same entry, at least one writes it, and
  at least one of the accesses is plain.
- A deadlock: from a state, no schedule leads to the end.

What is not: an effect of memory orders. Steps are sequentially consistent, so a store that ought to be a
release and is relaxed goes unnoticed.

A local variable that is read no more before it is set again is not part of the state. A value that an
expression has read and not yet stored is in no local variable, hence not in the state either.
:func:`hidden_values` finds expressions where that could matter.
"""

from __future__ import annotations

import ast
import dis
import inspect
import re
import sys
import textwrap
from collections import deque
from collections.abc import Callable, Hashable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from itertools import repeat
from types import CodeType, FrameType, ModuleType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from preflow.kernels import atomics
from preflow.kernels.clock import now
from preflow.network import arcs
from preflow.parallel.barrier import sleep

#: Operations that touch no shared array: they are not a step.
NO_ACCESS = frozenset({"pause"})
#: A case with more states is not tiny; exploring it is called off.
MAX_STATES = 300_000
#: Alignment of arrays in shared memory, in bytes.
ALIGNMENT = 16

#: The file whose accesses to arrays are atomic.
ATOMICS = str(atomics.__file__)
#: Types of most local variables.
NUMBERS = frozenset({bool, int, float, np.bool_, np.int64, np.uint32, np.uint64, np.float64})
#: Stands for the value of a local variable that is not set yet.
UNSET = "not set"

Entry = tuple[int, Hashable]
Thread = Callable[[Any], Any]


class Violation(Exception):  # noqa: N818 (what the explorer looks for, not an error of it)
    """Something that must not happen, with the schedule that leads to it."""

    def __init__(self, message: str, schedule: list[str]) -> None:
        super().__init__("\n  ".join([message, *schedule]))
        self.message = message


class _Unwind(BaseException):
    """Ends a run of a thread whose further steps are known."""


@cache
def _nothing(dtype: np.dtype[Any], size: int) -> NDArray[Any]:
    """Return the part of a shared array that has no entry, the same each time, so that states are known."""
    assert size == 0, "kernels share whole arrays"
    array = np.zeros(0, dtype)
    array.flags.writeable = False
    return array


class SharedArray(np.ndarray[Any, Any]):
    """An array whose entries several threads access: tells the explorer of each access."""

    number: int
    explorer: Explorer

    bare: NDArray[Any]

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return _nothing(self.dtype, len(range(*index.indices(len(self.bare)))))
        self.explorer.access(self.number, index, sys._getframe(1), False)
        return self.bare[index]

    def __setitem__(self, index: Any, value: Any) -> None:
        self.explorer.access(self.number, index, sys._getframe(1), True)
        self.bare[index] = value


@dataclass(slots=True)
class _Footprint:
    """The entries a step touches."""

    plain_reads: set[Entry] = field(default_factory=set)
    plain_writes: set[Entry] = field(default_factory=set)
    atomic_reads: set[Entry] = field(default_factory=set)
    atomic_writes: set[Entry] = field(default_factory=set)

    def races_with(self, other: _Footprint) -> set[Entry]:
        writes = other.plain_writes | other.atomic_writes
        touched = writes | other.plain_reads | other.atomic_reads
        return (
            self.plain_writes & touched | self.plain_reads & writes | self.atomic_reads & other.plain_writes
        )


@dataclass(frozen=True)
class _Position:
    """Where a thread stands, and how it got there first: by a step from `parent`, with memory `before`."""

    label: str
    parent: int
    before: int
    depth: int
    result: Any = None
    is_end: bool = False


@dataclass(frozen=True)
class _Step:
    """What a thread's next step does."""

    position: int
    memory: int
    footprint: _Footprint
    failure: BaseException | None = None


@dataclass(frozen=True)
class Outcome:
    """How large a case was."""

    states: int
    ends: int


State = tuple[int, tuple[int, ...]]


@cache
def unused_variables(code: CodeType) -> dict[int, set[str]]:
    """Return, by offset in the code, the local variables whose values do not matter after the instruction.

    Those matter that are read before they are set, and those that the expression of the instruction has
    read. Nothing is said of functions with ``for``, ``with`` or ``try``, whose stacks hold more.
    """
    instructions = list(dis.get_instructions(code))
    if code.co_exceptiontable or any(step.opname == "FOR_ITER" for step in instructions):
        return {}
    accesses = []
    for step in instructions:
        names = step.argval if isinstance(step.argval, tuple) else (step.argval,)
        kinds = re.findall("(LOAD|STORE|DELETE)_FAST", step.opname)
        accesses.append(list(zip(kinds, names, strict=bool(kinds))) if kinds else [])
    places = {step.offset: place for place, step in enumerate(instructions)}
    read_before: list[set[str]] = [set() for _ in range(len(instructions) + 1)]
    read_after: list[set[str]] = [set() for _ in instructions]
    changed = True
    while changed:
        changed = False
        for place, step in reversed(list(enumerate(instructions))):
            needed = set()
            if not step.opname.startswith(("RETURN_", "JUMP_FORWARD", "JUMP_BACKWARD")):
                needed |= read_before[place + 1]
            if step.opcode in dis.hasjrel or step.opcode in dis.hasjabs:
                needed |= read_before[places[step.argval]]
            read_after[place] = set(needed)
            for kind, name in reversed(accesses[place]):
                (needed.discard if kind == "STORE" else needed.add)(name)
            changed |= needed != read_before[place]
            read_before[place] = needed
    unused = {}
    in_expression: set[str] = set()
    local = set(code.co_varnames) - set(code.co_cellvars)
    for place, step in enumerate(instructions):
        in_expression |= {name for kind, name in accesses[place] if kind == "LOAD"}
        end = instructions[place + 1].offset if place + 1 < len(instructions) else len(code.co_code)
        for offset in range(step.offset, end):
            unused[offset] = local - read_after[place] - in_expression
        if step.opname.startswith("STORE_") and instructions[place - 1].opname != "COPY":
            in_expression = set()
    return unused


class Explorer:
    """The states of one case; see :func:`explore`."""

    def __init__(self, shared: Any, threads: list[Thread], check_races: bool) -> None:
        self.threads = threads
        self.check_races = check_races
        self.names: list[str] = []
        self.size = 0
        self._measure(shared, "")
        self.memory = np.zeros(self.size, dtype=np.uint8)
        self.bare: list[NDArray[Any]] = []
        self.shared = self._place(shared, True)
        self._placed = iter(self.bare)
        self.view = self._place(shared, False)

        self._bytes = memoryview(self.memory)  # sets them in a tenth of the time that an array takes
        self.memories: dict[bytes, int] = {}
        self.contents: list[bytes] = []
        self.position_numbers: dict[Hashable, int] = {}
        self.positions: list[_Position] = []
        self.steps: dict[tuple[int, int, int], _Step] = {}
        #: By their id, which stays their own since they are kept alive here.
        self._frozen: dict[int, tuple[Any, Hashable]] = {}
        self._used_names: dict[tuple[int, int], tuple[CodeType, list[str]]] = {}

        self._thread = 0
        self._target = 0
        self._replay: list[int] = []
        self._done_steps = 0
        self._from = (0, 0)
        self._footprint = _Footprint()
        self._in_plain_run = False
        self._unfit: TypeError | None = None

    # The shared memory: one buffer, so that it is saved and set in one go.

    def _measure(self, value: Any, name: str) -> None:
        if isinstance(value, np.ndarray) and value.flags.writeable:
            self.names.append(name)
            self.size += -(-value.nbytes // ALIGNMENT) * ALIGNMENT
        elif isinstance(value, tuple):
            fields = getattr(value, "_fields", range(len(value)))
            for key, part in zip(fields, value, strict=True):
                self._measure(part, f"{name}.{key}".lstrip("."))

    def _place(self, value: Any, hooked: bool) -> Any:
        """Return `value` with its writable arrays replaced by views of the shared memory."""
        if isinstance(value, np.ndarray) and value.flags.writeable:
            if not hooked:
                return next(self._placed)
            begin = sum(-(-array.nbytes // ALIGNMENT) * ALIGNMENT for array in self.bare)
            bare = self.memory[begin : begin + value.nbytes].view(value.dtype).reshape(value.shape)
            bare[...] = value
            array = bare.view(SharedArray)
            array.number, array.explorer, array.bare = len(self.bare), self, bare
            self.bare.append(bare)
            return array
        if isinstance(value, tuple):
            parts = [self._place(part, hooked) for part in value]
            return type(value)(*parts) if hasattr(value, "_fields") else tuple(parts)
        return value

    def _snapshot(self) -> int:
        content = self.memory.tobytes()
        number = self.memories.setdefault(content, len(self.memories))
        if number == len(self.contents):
            self.contents.append(content)
        return number

    def _restore(self, memory: int) -> None:
        self._bytes[:] = self.contents[memory]

    # Where a thread stands.

    def _freeze(self, value: Any) -> Hashable:
        known = self._frozen.get(id(value))
        if known is not None:
            return known[1]
        if type(value) in NUMBERS or value is None or isinstance(value, int | float | str | np.generic):
            return value
        if isinstance(value, list):
            return tuple(map(self._freeze, value))
        frozen: Hashable
        if isinstance(value, tuple):
            frozen = tuple(map(self._freeze, value))
            if not any(isinstance(part, np.ndarray) for part in value):
                return frozen  # made by the thread and soon gone
        elif isinstance(value, SharedArray):
            frozen = ("shared", value.number)
        elif isinstance(value, np.ndarray) and not value.flags.writeable:
            frozen = ("constant", id(value))
        elif isinstance(value, type | ModuleType) or inspect.isfunction(value):
            frozen = value.__qualname__ if not isinstance(value, ModuleType) else value.__name__
        else:
            self._unfit = TypeError(f"a {type(value)} in a thread is neither a number, shared, nor read-only")
            raise self._unfit
        self._frozen[id(value)] = (value, frozen)
        return frozen

    def _frames(self, frame: FrameType | None) -> Iterator[FrameType]:
        while frame is not None and frame.f_code is not _RUN:
            if frame.f_code.co_filename != __file__:
                yield frame
            frame = frame.f_back

    def _place_in(self, frame: FrameType) -> tuple[Hashable, ...]:
        """Return where a function stands, with the values of the local variables that matter."""
        code, offset = frame.f_code, frame.f_lasti
        where = id(code), offset
        known = self._used_names.get(where)
        if known is None:
            local = (*code.co_varnames, *code.co_cellvars, *code.co_freevars)
            unused = unused_variables(code).get(offset, ())
            known = self._used_names[where] = (code, [name for name in local if name not in unused])
        values = map(frame.f_locals.get, known[1], repeat(UNSET))
        freeze = self._freeze
        return (where, *[value if type(value) in NUMBERS else freeze(value) for value in values])

    def _position(self, frame: FrameType, label: str) -> int:
        frames = list(self._frames(frame))
        key = (self._thread, *map(self._place_in, frames))
        known = self.position_numbers.get(key)
        if known is not None:
            return known
        where = next((f for f in frames if f.f_code.co_filename != atomics.__file__), frame)
        return self._add_position(key, f"{where.f_code.co_name}:{where.f_lineno} {label}")

    def _add_position(self, key: Hashable, label: str, result: Any = None, is_end: bool = False) -> int:
        number = self.position_numbers.setdefault(key, len(self.positions))
        if number == len(self.positions):
            parent, before = self._from
            depth = self.positions[parent].depth + 1 if number > 0 else 0
            self.positions.append(_Position(label, parent, before, depth, result, is_end))
        return number

    # Called from within a running thread.

    def before_atomic(self, name: str) -> None:
        if name not in NO_ACCESS:
            self._in_plain_run = False
            self._begin_step(sys._getframe(1), name)

    def access(self, number: int, index: Any, frame: FrameType, writes: bool) -> None:
        is_plain = frame.f_code.co_filename != ATOMICS
        if is_plain and not self._in_plain_run:
            self._in_plain_run = True
            self._begin_step(frame, "plain")
        if self._done_steps < len(self._replay):  # a step whose footprint is known
            return
        entry = (number, tuple(map(int, index)) if isinstance(index, tuple) else int(index))
        footprint = self._footprint
        if is_plain:
            (footprint.plain_writes if writes else footprint.plain_reads).add(entry)
        else:
            (footprint.atomic_writes if writes else footprint.atomic_reads).add(entry)

    def _begin_step(self, frame: FrameType, label: str) -> None:
        done, replay = self._done_steps, self._replay
        self._done_steps = done + 1
        if done < len(replay):
            self._bytes[:] = self.contents[replay[done]]
            if done == len(replay) - 1:
                self._from = (self._target, replay[done])
                self._footprint = _Footprint()
            return
        self._footprint, footprint = _Footprint(), self._footprint
        here = (self._position(frame, label), self._snapshot())
        self.steps[self._thread, *self._from] = _Step(*here, footprint)
        if (self._thread, *here) in self.steps:
            raise _Unwind
        self._from = here

    def run(self, thread: int, position: int, memory: int) -> None:
        """Make the step of `thread` from `position` with `memory`, and the steps it makes then alone."""
        replay, ancestor = [memory], self.positions[position]
        while ancestor.depth > 1:
            replay.append(ancestor.before)
            ancestor = self.positions[ancestor.parent]
        self._thread = thread
        self._target = position
        self._replay = replay[::-1] if self.positions[position].depth > 0 else []
        self._done_steps = 0
        self._footprint = _Footprint()
        self._in_plain_run = False
        self._from = (position, memory)
        self._restore(self._replay[0] if self._replay else memory)
        failure = None
        try:
            result = self.threads[thread](self.shared)
            key: Hashable = ("end", thread, self._freeze(result))
        except _Unwind:
            return
        except Exception as error:
            if error is self._unfit:
                raise
            failure, result, key = error, None, ("failed", thread)
        end = self._add_position(key, "end", result, is_end=True)
        self.steps[thread, *self._from] = _Step(end, self._snapshot(), self._footprint, failure)

    def step(self, thread: int, position: int, memory: int) -> _Step:
        if (thread, position, memory) not in self.steps:
            self.run(thread, position, memory)
        return self.steps[thread, position, memory]


_RUN: CodeType = Explorer.run.__code__


def explore(
    make_case: Callable[[], tuple[Any, list[Thread]]],
    check_state: Callable[[Any], None] | None = None,
    check_end: Callable[[Any, list[Any]], None] | None = None,
    check_races: bool = True,
) -> Outcome:
    """Visit every distinct state of a case; raise :class:`Violation` at the first bad one.

    Parameters
    ----------
    make_case : function
        Returns what the threads share, a tuple of arrays (also nested, also named), and the threads:
        functions of that tuple, deterministic, whose local variables are numbers and arrays or tuples of
        these. What is never written is made read-only by the caller: it then costs nothing.
    check_state : function of what is shared
        Called for each state with plain arrays; raises AssertionError for a bad one.
    check_end : function of what is shared and of what the threads returned
        Called for each state in which all threads have ended.
    check_races : bool
    """
    # Time would tell same states apart, and nobody else runs while a thread sleeps.
    with replaced(now, lambda: np.uint64(0)), replaced(sleep, lambda: None):
        explorer = Explorer(*make_case(), check_races)
        previous, atomics.before_step = atomics.before_step, explorer.before_atomic
        try:
            return _visit_all(explorer, check_state, check_end)
        finally:
            atomics.before_step = previous


def _visit_all(
    explorer: Explorer,
    check_state: Callable[[Any], None] | None,
    check_end: Callable[[Any, list[Any]], None] | None,
) -> Outcome:
    first_memory = explorer._snapshot()
    outside = explorer._add_position("outside", "start")
    first_steps = [explorer.step(t, outside, first_memory) for t in range(len(explorer.threads))]
    for step in first_steps:
        if step.failure is not None:
            raise Violation(f"a thread raised before its first step: {step.failure}", []) from step.failure
    start: State = (first_memory, tuple(step.position for step in first_steps))
    came_from: dict[State, tuple[State, int] | None] = {start: None}
    reaches: dict[State, list[State]] = {start: []}
    waiting = deque([start])
    ends: list[State] = []

    def violation(message: str, state: State) -> Violation:
        schedule: list[str] = []
        link = came_from[state]
        while link is not None:
            before, thread = link
            schedule.append(f"thread {thread}: {explorer.positions[before[1][thread]].label}")
            link = came_from[before]
        return Violation(message, schedule[::-1])

    checked: set[int] = set()

    def check(state: State) -> None:
        memory, places = state
        is_end = all(explorer.positions[place].is_end for place in places)
        if is_end:
            ends.append(state)
        is_new = memory not in checked  # states in which only the threads' places differ look alike
        if not is_new and not is_end:
            return
        checked.add(memory)
        explorer._restore(memory)
        try:
            if is_new and check_state is not None:
                check_state(explorer.view)
            if is_end and check_end is not None:
                check_end(explorer.view, [explorer.positions[place].result for place in places])
        except AssertionError as error:
            raise violation(f"check failed: {error}", state) from error

    check(start)
    while waiting:
        state = waiting.pop()
        memory, positions = state
        footprints: list[tuple[int, _Footprint]] = []
        for thread, position in enumerate(positions):
            if explorer.positions[position].is_end:
                continue
            step = explorer.step(thread, position, memory)
            if step.failure is not None:
                message = f"thread {thread} raised {type(step.failure).__name__}: {step.failure}"
                raise violation(message, state) from step.failure
            if explorer.check_races:
                for other, footprint in footprints:
                    for number, index in step.footprint.races_with(footprint):
                        name = f"{explorer.names[number]}[{index}]"
                        raise violation(f"data race on {name} between threads {other} and {thread}", state)
                footprints.append((thread, step.footprint))
            after: State = (step.memory, (*positions[:thread], step.position, *positions[thread + 1 :]))
            if after not in came_from:
                came_from[after] = (state, thread)
                reaches[after] = []
                if len(came_from) > MAX_STATES:
                    raise RuntimeError(f"more than {MAX_STATES} states: not a tiny case")
                check(after)
                waiting.append(after)
            reaches[after].append(state)

    alive = set(ends)
    waiting = deque(ends)
    while waiting:
        for before in reaches[waiting.pop()]:
            if before not in alive:
                alive.add(before)
                waiting.append(before)
    for state in came_from:
        if state not in alive:
            raise violation("deadlock: no schedule leads to the end", state)
    return Outcome(len(came_from), len(ends))


#: The comment that names a statement for mutants, at the end of a line or on a line of its own.
MARK = re.compile(r"^ *# mutant: [^\n]*\n|  # mutant: [^\n]*", re.MULTILINE)


@contextmanager
def replaced(old: Callable[..., Any], new: Callable[..., Any]) -> Iterator[None]:
    """Put `new` in the place of the function `old` in preflow and in the program that explores."""
    places = [
        (module, name)
        for key, module in list(sys.modules.items())
        if key.partition(".")[0] in ("preflow", "__main__")
        for name, value in list(vars(module).items())
        if value is old
    ]
    assert places, f"{old} is used nowhere"
    for module, name in places:
        setattr(module, name, new)
    try:
        yield
    finally:
        for module, name in places:
            setattr(module, name, old)


def edited(function: Callable[..., Any], old: str, new: str) -> Callable[..., Any]:
    """Return `function` with the one place in its source that reads `old` changed to `new`."""
    source = MARK.sub("", textwrap.dedent(inspect.getsource(function)))
    assert source.count(old) == 1, f"{function.__name__} has {source.count(old)} places that read {old!r}"
    module = sys.modules[function.__module__]
    lines_above = "\n" * (function.__code__.co_firstlineno - 1)
    code = compile(lines_above + source.replace(old, new), str(module.__file__), "exec")
    names: dict[str, Any] = {}
    exec(code, vars(module), names)
    return names[function.__name__]  # type: ignore[no-any-return]


def mutated(function: Callable[..., Any], mark: str, new: str) -> Callable[..., Any]:
    """Return `function` with the statement `new` in the place of the one marked ``# mutant: mark``.

    The comment is at the end of the statement's first line, or on a line of its own above it. Of an ``if`` or
    a loop only the head is exchanged. An empty `new` leaves the whole statement out.
    """
    tree = ast.increment_lineno(mutated_tree(function, mark, new), function.__code__.co_firstlineno - 1)
    names: dict[str, Any] = {}
    module = sys.modules[function.__module__]
    exec(compile(tree, str(module.__file__), "exec"), vars(module), names)
    return names[function.__name__]  # type: ignore[no-any-return]


def mutated_tree(function: Callable[..., Any], mark: str, new: str) -> ast.Module:
    """Return the syntax tree of a mutant; see :func:`mutated`."""
    source = textwrap.dedent(inspect.getsource(function))
    pattern = re.compile(rf"# mutant: (?:[\w-]+, )*{re.escape(mark)}(?:,|$)")
    marked = [number for number, line in enumerate(source.splitlines(), 1) if pattern.search(line)]
    assert len(marked) == 1, f"{function.__name__} has {len(marked)} lines with the mark {mark!r}"
    tree = ast.parse(source)
    below = [node for node in ast.walk(tree) if isinstance(node, ast.stmt) and node.lineno >= marked[0]]
    statement: Any = min(below, key=lambda node: node.lineno)
    keeps_body = bool(new) and hasattr(statement, "body")
    made: Any = ast.parse(f"{new}\n    pass" if keeps_body else new or "pass").body[0]
    for node in ast.walk(made):
        if hasattr(node, "lineno"):
            ast.copy_location(node, statement)
    if keeps_body:
        made.body, made.orelse = statement.body, statement.orelse

    class Exchange(ast.NodeTransformer):
        def visit(self, node: ast.AST) -> Any:
            return made if node is statement else self.generic_visit(node)

    exchanged: ast.Module = ast.fix_missing_locations(Exchange().visit(tree))
    return exchanged


def hidden_values(
    modules: Sequence[ModuleType],
    others: Sequence[ModuleType] = (),
    *,
    alone: tuple[str, ...] = ("make",),
    steps: set[str] | None = None,
) -> list[str]:
    """Return the expressions in modules that hide a value from the explorer, whose states have locals only.

    They hold the value of one step during another one. Steps are atomic operations and calls of functions in
    `steps`, by default of those of all modules whose names do not begin with `alone`. A plain store into an
    array is one, too. Operands of ``and`` and ``or`` are fine: the first is settled before the second begins.
    So are the places of arcs, which no thread writes.
    """
    stepping = {
        name
        for module in (atomics, *(() if steps is not None else (*modules, *others)))
        for name, value in vars(module).items()
        if callable(value) and name[0].islower() and not name.startswith(alone)
    }
    stepping = (stepping | (steps or set())) - vars(arcs).keys()

    def steps(node: ast.AST) -> bool:
        return any(
            isinstance(call, ast.Call)
            and (call.func.id if isinstance(call.func, ast.Name) else getattr(call.func, "attr", ""))
            in stepping
            for call in ast.walk(node)
        )

    found = []
    nodes = ((module, node) for module in modules for node in ast.walk(ast.parse(inspect.getsource(module))))
    for module, node in nodes:
        if isinstance(node, ast.BinOp | ast.Compare | ast.Tuple | ast.Call | ast.Subscript):
            hides = sum(map(steps, ast.iter_child_nodes(node))) > 1
        elif isinstance(node, ast.Assign):
            hides = steps(node.value) and any(isinstance(target, ast.Subscript) for target in node.targets)
        else:
            continue
        if hides:
            found.append(f"{module.__name__}:{node.lineno}")
    return found
