"""Regions on the actors of a Ray cluster.

Each actor owns some regions. A sweep is two calls of each actor: the first discharges its regions and returns
one object for each actor that owns a neighbour; the second takes these objects, which Ray moves from machine
to machine without the driver, and returns reports, a few numbers for each region.

What is lost
------------
After each sweep Ray's memory has the residual capacities of all border arcs, two bytes for most arcs. They
outlive the actors. If an actor dies, no sweep is lost but the one that it was in:

1. Another actor reads the regions of the lost one again. Each finds some flow inside that sends over its
   border what the lost region had sent up to the last sweep. There is one, since the lost region had it.
   Where more was sent than has come, border vertices have deficits; the source's capacities, and what has
   come, pay for them by a maximum flow inside (``Region.send_again``).
2. All other regions take back what they have sent since then, which is excess at their own ends now. What
   their discharges did inside stays.
3. The flow inside the new regions may be another one, so labels may be too large. All regions exchange
   labels. A search of the border from the sink finds distances, which replace all labels. It needs to know
   only that within a region labels rise along residual paths, which also holds for the new ones: they have
   augmented to their sinks, and their labels are 0 and 1.

So an actor that dies costs the time to read its regions and one discharge of these, beside the sweep. It does
not matter in which half of a sweep it dies, nor whether a discharge would give the same flow a second time.

The parts of a proof must belong to one flow. So whole states are stored before a proof is begun, and when the
solve is stopped; then all actors go back to these. The labels do not need that, because they are those of
every maximum flow.

With a folder for checkpoints, the driver also writes the states to files. A second driver continues from
there, after the first one was ended; and so does the same driver, if a whole machine is lost with all that
Ray stored on it.
"""

from __future__ import annotations

import gc
import os
import weakref
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeVar

from ..arrays import Array
from ..checks import check_integer, check_word
from ..errors import (
    InvalidInputError,
    MissingDependencyError,
    ParseError,
    VerificationError,
    WorkerDiedError,
)
from ..solving.dispatch import usable_cpus
from ..solving.run import POLL_INTERVAL, Control
from .cuda_region import CudaRegion
from .exchange import (
    CHANGING,
    REMADE,
    Message,
    Order,
    Outgoing,
    Raised,
    RegionTask,
    Report,
    Worker,
    check_arrays,
    check_flows,
    checksum,
    stored,
)
from .files import Manifest, Store, border_in, folder_of
from .grid_source import GridTask
from .sweeps import continue_sweeps, relabel

try:
    import ray
except ImportError:
    ray = None

if TYPE_CHECKING:
    from ray import ObjectRef
    from ray.actor import ActorHandle

Answer = TypeVar("Answer")
Outcome = TypeVar("Outcome")

#: How often a sweep starts over before the solve is given up.
ATTEMPTS = 20
#: Seconds in which an actor that lives answers, also in the middle of a discharge.
PATIENCE = 30.0
#: Messages of the regions of one actor to those of another: (from, to) -> message.
Messages = dict[tuple[int, int], Message]
States = dict[str, Array]
#: Of each region of an actor, at least the residual capacities of its border.
Borders = dict[int, States]


class LostError(Exception):
    """An actor died, or an object that it stored is gone."""


class Sweep(NamedTuple):
    """The answer of an actor to a sweep."""

    reports: list[Report]
    moved: list[int]  #: the regions that may have changed inside


class Actor:
    """The regions of one actor, which share its threads; if there are fewer, each has several.

    `threads` regions are built or discharged at the same time.
    """

    def __init__(self, threads: int) -> None:
        self._threads, self._control = threads, Control(threads)
        self._pool = ThreadPoolExecutor(threads, thread_name_prefix="preflow-region")
        self._homes: Mapping[int, int] = {}
        self._workers: dict[int, Worker] = {}
        self._moved: list[int] = []
        self._local: Messages = {}
        self._is_new = True
        # The sweep that began last, and how to take back what it has sent, once messages have come.
        self._sweep = -1
        self._before: dict[int, Outgoing] | None = None

    def forget(self) -> None:
        """Let go of all regions, and of the arrays that they were read from."""
        self._workers, self._local = {}, {}

    def build(self, tasks: Sequence[RegionTask], homes: Mapping[int, int], home: int) -> list[int]:
        """Read the regions of this actor; return the other actors that own neighbours, in order.

        This actor has the number `home`. `tasks` are those of all actors, since they may share arrays;
        `homes` has the actor of each region.
        """
        self.forget()
        own = [task for task in tasks if homes[task.number] == home]
        self._control = Control(max(1, self._threads // max(1, len(own))))
        self._homes, self._is_new, self._before = homes, True, None
        built = self._pool.map(lambda task: Worker(task.number, task.build()), own)
        self._workers = {worker.number: worker for worker in built}
        near = {homes[other] for worker in self._workers.values() for other in worker.border.neighbours}
        return sorted(near - {home})

    def ping(self) -> None:
        """Say nothing; an actor that has died cannot."""

    def fingerprint(self) -> list[int]:
        """Return a checksum of each region's part of the problem."""
        regions = [worker.region for worker in self._workers.values()]
        return [checksum(each.on_host() if isinstance(each, CudaRegion) else each) for each in regions]

    def discharge(self, order: Order, sweep: int, others: Sequence[int]) -> list[Messages | None]:
        """Carry out an order; return None, when it is done, and the messages to each other actor."""
        workers = list(self._workers.values())
        for worker in workers:
            worker.raise_labels(order.raised)
        self._sweep, self._before, self._is_new = sweep, {}, False
        self._moved = [each.number for each in workers if each.is_ready(order.limit)]
        sent = self._pool.map(lambda worker: worker.augment(order.limit, self._control), workers)
        return self._sorted(sent, others)

    def go_back(self, sweeps: int, borders: Borders | None, others: Sequence[int]) -> list[Messages | None]:
        """Go back to the end of the last sweep, without its labels; return messages with those of now.

        `sweeps` are complete; `borders` is what was stored after the last of them, None if there was none.
        """
        self._control.stop[0] = 0
        workers = list(self._workers.values())
        if self._is_new:

            def send_again(worker: Worker) -> None:
                residual = worker.residual if borders is None else borders[worker.number]["residual"]
                worker.send_again(residual, self._control)

            list(self._pool.map(send_again, workers))
        elif self._before is not None and self._sweep == sweeps:
            for worker in workers:
                worker.take_back(self._before.get(worker.number))
        self._moved, self._before, self._is_new = [], None, False
        sent = [{other: each.idle_message(other) for other in each.border.neighbours} for each in workers]
        return self._sorted(sent, others)

    def _sorted(self, sent: Iterable[Mapping[int, Message]], others: Sequence[int]) -> list[Messages | None]:
        """Return None and the messages to each other actor; keep those to regions of this one."""
        by_actor: dict[int, Messages] = {other: {} for other in others}
        self._local = {}
        for number, messages in zip(list(self._workers), sent, strict=True):
            for to, message in messages.items():
                by_actor.get(self._homes[to], self._local)[number, to] = message
        return [None, *by_actor.values()]

    def receive(self, _: None, *messages: Messages) -> tuple[Sweep, Borders]:
        """Give each region its messages; return the reports, and the residual capacities of the borders."""
        came: dict[int, dict[int, Message]] = {number: {} for number in self._workers}
        for part in (self._local, *messages):
            for (begin, to), message in part.items():
                if to in came:
                    came[to][begin] = message
        if self._before is not None:
            self._before = {number: worker.outgoing() for number, worker in self._workers.items()}
        reports = [worker.receive(came[number]) for number, worker in self._workers.items()]
        borders: Borders = {number: {"residual": each.residual} for number, each in self._workers.items()}
        return Sweep(reports, self._moved), borders

    def raise_labels(self, raised: Mapping[int, Raised]) -> list[Report]:
        """Take over labels that a search of the border has found; return the reports."""
        for worker in self._workers.values():
            worker.raise_labels(raised)
        return self.reports()

    def reports(self) -> list[Report]:
        """Return the report of each region as of now."""
        return [worker.report() for worker in self._workers.values()]

    def borders(self) -> tuple[Borders, None]:
        """Return the states of the borders of all regions."""
        return {number: worker.state() for number, worker in self._workers.items()}, None

    def inside(self, number: int) -> tuple[States, None]:
        """Return the state of the inside of a region, and None, which says that it is stored."""
        return stored(self._workers[number].region.state()), None

    def check(self, borders: Borders, *insides: States) -> None:
        """Check that the arrays of a checkpoint, which may come from anybody, have the forms of the regions'.

        VerificationError: they have not.
        """
        for worker, inside in zip(self._workers.values(), insides, strict=True):
            check_arrays(borders[worker.number], worker.state(), None)
            check_arrays(inside, worker.region.state(), CHANGING)

    def restore(self, borders: Borders, *insides: States) -> None:
        """Continue from copies of states: arrays in Ray's memory cannot be written to."""
        self._control.stop[0] = 0
        self._is_new, self._before = False, None
        for worker, inside in zip(self._workers.values(), insides, strict=True):
            worker.restore(borders[worker.number])
            worker.region.restore({name: array.copy() for name, array in inside.items()})

    def ask(self, number: int, question: Callable[[Worker], Answer]) -> Answer:
        """Return what a function returns for the worker of a region."""
        return question(self._workers[number])

    def stop(self) -> None:
        """Raise the stop flag of a discharge that is running."""
        self._control.stop[0] = 1


class Stored(NamedTuple):
    """References to the states after a complete sweep: of the borders by actor, of the insides by region."""

    sweeps: int
    borders: list[ObjectRef[Borders]]
    insides: list[ObjectRef[States]]


#: Exchanges that have actors; each ends its own when it is deleted.
_WITH_ACTORS: weakref.WeakSet[RayExchange] = weakref.WeakSet()


class RayExchange:
    """Regions on the actors of a Ray cluster: an exchange for :func:`preflow.distributed.grid_cut`.

    Parameters
    ----------
    address : str, optional
        Of a cluster. Default: the one that this process is connected to; if there is none, a local one is
        started, which ends with this object.
    workers : int, optional
        Number of actors. Default: as many as the CPUs, and the GPUs, of the cluster allow, and at most the
        number of regions.
    threads : int
        CPUs of each actor, which discharges as many regions at the same time. Where an actor has fewer
        regions, several threads search each of them in its first discharge.
    device : {"cpu", "cuda"}
        Where actors solve their regions: on their CPUs; or on a GPU for each actor, which Ray reserves. The
        regions of an actor must fit its GPU.
    checkpoint : path, optional
        Folder of files from which another driver can continue. If it has a checkpoint of the same problem,
        the solve continues from there.
    every : int
        A checkpoint is written after every `every`-th sweep.

    Attributes
    ----------
    device : str
    sweeps : int
        Complete sweeps, those before a checkpoint included.
    replaced : int
        Actors that have died and were replaced.
    attempt : int
        The number of the solve that comes next among those of one call, from 0: each has checkpoints of its
        own.
    resumed_from : Path or None
        The checkpoint from which the solve has gone on.

    Raises
    ------
    MissingDependencyError
        Ray is not installed, or CuPy on a machine of the cluster that has a GPU.
    InvalidInputError
        An argument is malformed. While solving: the cluster has too few CPUs or GPUs.
    DeviceMemoryError
        While solving: the regions of an actor do not fit its GPU.
    UnsuitableMethodError
        While solving: methods on a GPU have no room for the grid's axes or neighbours.
    WorkerDiedError
        While sweeping: an actor died again and again.
    ParseError
        A checkpoint is damaged, or of another version.
    StorageError
        A checkpoint cannot be written: the disk is full, or the folder is read-only. The last one is whole.

    Notes
    -----
    An actor that dies is replaced, and only the sweep that it was in begins again. The new actor reads its
    regions, and finds a flow inside that goes with what they have sent to others until then. Ray's memory has
    that: 2, 4 or 8 bytes for each border arc.

    The cut is the same for any number of workers, whoever dies.

    Actors stay after a solve, since its proof asks them, and end with the object and its results. A new actor
    takes about a second to start, so a second solve with the same object begins earlier.
    """

    def __init__(
        self,
        *,
        address: str | None = None,
        workers: int | None = None,
        threads: int = 1,
        device: Literal["cpu", "cuda"] = "cpu",
        checkpoint: str | os.PathLike[str] | None = None,
        every: int = 1,
    ) -> None:
        if ray is None:
            raise MissingDependencyError("exchange='ray'", "Ray", "ray")
        for name, count in (("workers", workers), ("threads", threads), ("every", every)):
            if count is not None:
                check_integer(name, count)
        check_word("device", device, ("cpu", "cuda"))
        self.sweeps = 0
        self.replaced = 0
        self.attempt = 0
        self.resumed_from: Path | None = None
        self._node: str | None = None
        self.device = device
        self._address, self._count, self._threads = address, workers, threads
        self._each = {"CPU": threads} if device == "cpu" else {"CPU": threads, "GPU": 1}
        self._folder = checkpoint
        self._open_folder()
        self._every = every
        self._busy = self._told = False
        self._control = Control()
        self._tasks: ObjectRef[list[RegionTask]]
        self._of_actor: list[list[int]] = []
        self.actors: list[ActorHandle[Actor]] = []
        self._near: list[list[int]] = []
        # After the last sweep: what each actor has stored of its borders.
        self._borders: list[ObjectRef[Borders]] | None = None
        self._stored: Stored | None = None
        self._losses = 0
        self._moved: set[int] = set()
        # What the manifest of checkpoints says of the problem: a checksum of each region's part of it.
        self._sums: list[int] = []

    def _open_folder(self) -> None:
        folder = folder_of(self._folder, self.attempt)
        self._files = None if folder is None else Store(folder)

    def scatter(self, tasks: Sequence[RegionTask], control: Control) -> list[Report]:
        """Start the actors and build the regions; continue from the checkpoint if there is one."""
        self._control = control

        if self.device == "cuda":
            tasks = [_on_gpu(task) for task in tasks]
        self._open_folder()
        self.sweeps, self._busy, self._losses = 0, True, 0
        self.resumed_from = None
        self._stored = self._borders = None
        self._moved.clear()
        self._connect()
        cluster = self._node
        count = self._fitting(len(tasks))
        if self._node != cluster:
            self.actors.clear()
        cuts = [i * len(tasks) // max(1, count) for i in range(count + 1)]
        self._of_actor = [list(range(begin, end)) for begin, end in pairwise(cuts)]
        self._keep_actors(count)
        self._tasks = ray.put(list(tasks))
        for attempt in range(ATTEMPTS):
            try:
                self._near = self._build(range(count))
                if self._files is not None:
                    sums: list[list[int]] = self._get([actor.fingerprint.remote() for actor in self.actors])
                    self._sums = [each for row in sums for each in row]
                self._from_checkpoint()
                reports = self._reports()
                self._busy = False
                return reports
            except LostError as error:
                if attempt == ATTEMPTS - 1:
                    raise WorkerDiedError(f"actors end before they are ready: {error}") from error
                self._replace(build=False)
        raise AssertionError

    @property
    def num_devices(self) -> int:
        """Number of GPUs that the actors have.

        Raises
        ------
        InvalidInputError
            There is none.
        """
        self._connect()
        return self._count or int(_gpus(ray.cluster_resources()))

    def _connect(self) -> None:
        """Connect to a cluster, or start one on this machine, unless this process is connected to one."""
        from .batches.ray_tasks import start_ray

        if not ray.is_initialized():
            cpus = self._threads * self._count if self._count else max(self._threads, usable_cpus())
            start_ray(self._address, cpus)
            weakref.finalize(self, ray.shutdown)

    def sweep(self, order: Order) -> list[Report]:
        """Run one sweep; after a loss, return reports as of the last one."""
        self._busy = True
        try:
            reports = self._sweep(order)
            self._control.check_wanted()
            if self._control.stopped:
                self._store()
            elif self._files is not None and self.sweeps % self._every == 0:
                self._store()
                self._write(self._files)
        except LostError as error:
            reports = self._recover(error)
        self._busy = False
        return reports

    def collect(self, ask: Callable[[Worker], Answer]) -> Iterator[Answer]:
        """Yield what a function returns for the worker of each region, in order."""
        if ask is not Worker.sink_side or self._control.stopped:
            self._store_in_the_end()
        question = ray.put(ask)
        left = [(home, number) for home, numbers in enumerate(self._of_actor) for number in numbers]
        while left:
            answers = [self.actors[home].ask.remote(number, question) for home, number in left]
            try:
                for answer in answers:
                    found: Answer = self._get([answer])[0]
                    yield found
                    left.pop(0)
            except LostError as error:
                self._finish(error)

    def _store_in_the_end(self) -> None:
        """Store the states of a solve that has ended, unless they are stored."""
        while self._stored is None or self._stored.sweeps < self.sweeps:
            try:
                self._store()
            except LostError as error:
                self._finish(error)

    def _finish(self, error: LostError) -> None:
        """After a loss, come again to the end of the solve.

        Raises
        ------
        WorkerDiedError
            The solve was stopped, and an actor died before its states were stored.
        """
        if self._stored is not None and self._stored.sweeps == self.sweeps:
            self._recover(error, to_stored=True)
            return
        if self._control.stopped:
            raise WorkerDiedError(f"the solve was stopped, and its last states are lost: {error}") from error
        continue_sweeps(self, self._recover(error), Control())

    def close(self) -> None:
        """End the actors if they are in the middle of a sweep; others end with this object.

        Actors that are idle stay, since the proof of the result asks them.
        """
        if self._busy:
            self._end()
        if self._files is not None:
            self._files.release()

    def _end(self) -> None:
        """End all actors."""
        for actor in self.actors:
            with suppress(Exception):
                ray.kill(actor)
        self.actors.clear()

    def _fitting(self, most: int) -> int:
        """Return how many actors to start: what was asked for, or what fits the cluster; at most `most`.

        Raises
        ------
        InvalidInputError
            Results of earlier solves hold what these actors need, or there are too few GPUs: Ray would wait
            without end.
        """
        self._node = ray.get_runtime_context().get_node_id()
        cluster = ray.cluster_resources()
        total = {"CPU": float(cluster.get("CPU", 1))}
        if self.device == "cuda":
            total["GPU"] = _gpus(cluster)
        for attempt in range(2):
            held = self._held_by_others()
            fitting = min(int((total[name] - held[name]) / each) for name, each in self._each.items())
            count = min(most, self._count or max(1, fitting))
            needed = {name: count * each for name, each in self._each.items()}
            lacking = [name for name in needed if held[name] and held[name] + needed[name] > total[name]]
            if not lacking:
                break
            if attempt == 0:
                gc.collect()
        else:
            name = lacking[0]
            raise InvalidInputError(
                f"{count} actors need {needed[name]:g} {name}s, but results of earlier solves hold "
                f"{held[name]:g} of {total[name]:g} until they are deleted: their proofs ask their actors"
            )
        if needed.get("GPU", 0) > total.get("GPU", 0):
            raise InvalidInputError(
                f"{count} actors need {needed['GPU']} GPUs, but the cluster has {total['GPU']:g}"
            )
        _WITH_ACTORS.add(self)
        return count

    def _held_by_others(self) -> Counter[str]:
        """Return how many CPUs and GPUs the actors of other exchanges hold."""
        held: Counter[str] = Counter()
        for other in _WITH_ACTORS:
            if other is not self and other._node == self._node:
                held.update({name: len(other.actors) * each for name, each in other._each.items()})
        return held

    def _keep_actors(self, count: int) -> None:
        """Keep those of the last solve, which need not start, and begin to start others."""
        for actor in self.actors[count:]:
            ray.kill(actor)
        del self.actors[count:]
        for actor in self.actors:
            actor.forget.remote()
        self.actors += [self._new_actor() for _ in range(count - len(self.actors))]

    def _new_actor(self) -> ActorHandle[Actor]:
        reserved = {f"num_{name.lower()}s": each for name, each in self._each.items()}
        remote = ray.remote(concurrency_groups={"control": 1}, **reserved)
        actor: ActorHandle[Actor] = remote(Actor).remote(self._threads)
        return actor

    def _build(self, homes: Iterable[int]) -> list[list[int]]:
        """Let some actors read their regions; return for each which others own neighbours."""
        owner = {number: home for home, numbers in enumerate(self._of_actor) for number in numbers}
        return self._get([self.actors[home].build.remote(self._tasks, owner, home) for home in homes])

    def _sweep(self, order: Order) -> list[Report]:
        """Run both halves of a sweep."""
        found, borders = self._exchange(
            [
                actor.discharge.options(num_returns=1 + len(near)).remote(order, self.sweeps, near)
                for actor, near in zip(self.actors, self._near, strict=True)
            ]
        )
        self.sweeps, self._borders, self._losses = self.sweeps + 1, borders, 0
        self._moved.update(number for each in found for number in each.moved)
        return [report for each in found for report in each.reports]

    def _exchange(
        self, sent: Sequence[ObjectRef[Messages] | list[ObjectRef[Messages]]]
    ) -> tuple[list[Sweep], list[ObjectRef[Borders]]]:
        """Bring messages to the actors; `sent` has what each returns, and then the messages to others."""
        self._told = False
        messages: dict[tuple[int, int], ObjectRef[Messages]] = {}
        done = []
        for home, (found, near) in enumerate(zip(sent, self._near, strict=True)):
            first, *rest = found if isinstance(found, list) else [found]
            done.append(first)
            messages.update({(home, other): part for other, part in zip(near, rest, strict=True)})
        ended = []
        for home, (actor, near) in enumerate(zip(self.actors, self._near, strict=True)):
            came = (messages[other, home] for other in near)
            ended.append(actor.receive.options(num_returns=2).remote(done[home], *came))
        sweeps: list[Sweep] = self._get([report for report, _ in ended])
        return sweeps, [border for _, border in ended]

    def _store(self) -> None:
        """Store the states of the borders, and those of the insides of all regions that have changed."""
        before = self._stored
        borders = [actor.borders.options(num_returns=2).remote() for actor in self.actors]
        insides: list[ObjectRef[States]] = []
        stored = [said for _, said in borders]
        for actor, numbers in zip(self.actors, self._of_actor, strict=True):
            for number in numbers:
                if before is not None and number not in self._moved:
                    insides.append(before.insides[number])
                    continue
                inside, said = actor.inside.options(num_returns=2).remote(number)
                insides.append(inside)
                stored.append(said)
        self._get(stored)
        self._stored = Stored(self.sweeps, [state for state, _ in borders], insides)
        self._moved.clear()

    def _reports(self) -> list[Report]:
        rows: list[list[Report]] = self._get([actor.reports.remote() for actor in self.actors])
        return [report for row in rows for report in row]

    def _replace(self, build: bool) -> None:
        """Put new actors in the places of those that do not answer; let these read their regions."""
        fresh: list[int] = []
        answers = [actor.ping.options(concurrency_group="control").remote() for actor in self.actors]
        for home, answer in enumerate(answers):
            try:
                ray.get(answer, timeout=PATIENCE)
            except ray.exceptions.RayError:
                with suppress(Exception):
                    ray.kill(self.actors[home])
                self.actors[home] = self._new_actor()
                self.replaced += 1
                fresh.append(home)
        if build:
            self._build(fresh)

    def _recover(self, error: LostError, *, to_stored: bool = False) -> list[Report]:
        """Go back to the end of the last sweep, or exactly `to_stored` states; return reports.

        If what Ray has stored is lost, go back to the checkpoint, or start over where there is none.

        Raises
        ------
        WorkerDiedError
            Actors or states are lost again and again.
        """
        is_whole = True
        for _ in range(ATTEMPTS):
            self._losses += 1
            if self._losses > ATTEMPTS:
                break
            try:
                self._replace(build=True)
                if is_whole and not to_stored:
                    return self._go_back()
                if is_whole:
                    self._restore()
                elif not self._from_checkpoint():
                    self._start_over()
                return self._reports()
            except LostError as again:
                error = again
                is_whole &= not isinstance(again.__cause__, ray.exceptions.ObjectLostError)
        raise WorkerDiedError(f"{ATTEMPTS} times in a row an actor or a state was lost: {error}") from error

    def _go_back(self) -> list[Report]:
        """Go back to the end of the last sweep: see the top of this module; return reports."""
        borders = self._borders or [None] * len(self.actors)
        found, self._borders = self._exchange(
            [
                actor.go_back.options(num_returns=1 + len(near)).remote(self.sweeps, border, near)
                for actor, border, near in zip(self.actors, borders, self._near, strict=True)
            ]
        )
        self._stored = None
        raised = ray.put(relabel([report for each in found for report in each.reports], may_fall=True))
        rows: list[list[Report]] = self._get([actor.raise_labels.remote(raised) for actor in self.actors])
        return [report for row in rows for report in row]

    def _start_over(self) -> None:
        """Let all actors read their regions again."""
        self._build(range(len(self.actors)))
        self.sweeps, self._stored, self._borders, self._told = 0, None, None, False
        self._moved.clear()

    def _restore(self) -> None:
        """Let all actors continue from the stored states."""
        stored = self._stored
        assert stored is not None
        self._get(
            [
                actor.restore.remote(stored.borders[home], *(stored.insides[n] for n in numbers))
                for home, (actor, numbers) in enumerate(zip(self.actors, self._of_actor, strict=True))
            ]
        )
        self.sweeps, self._borders, self._told = stored.sweeps, stored.borders, False
        self._moved.clear()

    def _from_checkpoint(self) -> bool:
        """Continue from the checkpoint; return False where there is none."""
        found = None if self._files is None else self._files.read_manifest(self._sums)
        if self._files is None or found is None:
            return False
        self.resumed_from = self._files.folder
        if len(found.regions) != len(self._sums):
            raise ParseError(self.resumed_from, None, "damaged checkpoint: it has other regions")
        self._files.clear([*found.regions, found.borders])
        states, borders, insides = self._files.read(found.borders), [], []
        for numbers in self._of_actor:
            of_actor = {}
            for number in numbers:  # one is in memory at a time
                of_actor[number] = border_in(states, number)
                insides.append(ray.put(dict(self._files.read(found.regions[number].without(REMADE)))))
            borders.append(ray.put(of_actor))
        self._stored = Stored(found.sweeps, borders, insides)
        places = iter(insides)
        try:
            self._get(
                [
                    actor.check.remote(border, *(next(places) for _ in numbers))
                    for actor, border, numbers in zip(self.actors, borders, self._of_actor, strict=True)
                ]
            )
            self._restore()
            check_flows(self, self._control)
        except VerificationError as error:
            raise ParseError(self.resumed_from, None, f"damaged checkpoint: {error}") from error
        return True

    def _write(self, files: Store) -> None:
        """Write the stored states, a region at a time.

        Raises
        ------
        LostError
            A state is lost; the last checkpoint stays.
        """
        stored = self._stored
        assert stored is not None
        regions = [
            files.write(f"region-{number}", self._get([inside])[0].items())
            for number, inside in enumerate(stored.insides)
        ]
        of_actors: Iterator[Borders] = (self._get([borders])[0] for borders in stored.borders)
        borders = files.write_borders(each for of_actor in of_actors for each in of_actor.items())
        files.commit(self._sums, Manifest(stored.sweeps, regions, borders, []))

    def _get(self, references: Sequence[ObjectRef[Outcome]]) -> list[Outcome]:
        """Return objects; pass on the stop flag while they are computed.

        Raises
        ------
        LostError
            An actor or an object is lost.
        """
        left, told = list(references), []
        while left:
            if self._control.stopped and not self._told:
                self._told = True
                told = [actor.stop.options(concurrency_group="control").remote() for actor in self.actors]
            _, left = ray.wait(left, num_returns=len(left), timeout=POLL_INTERVAL, fetch_local=False)
        if told:  # none may come late, in the middle of the next solve
            ray.wait(told, num_returns=len(told), timeout=PATIENCE)
        try:
            found: list[Outcome] = ray.get(list(references))
        except ray.exceptions.RayTaskError as error:
            if isinstance(error.cause, ray.exceptions.RayError):
                raise LostError(str(error.cause)) from error.cause
            raise error.cause from error
        except ray.exceptions.RayError as error:
            raise LostError(str(error)) from error
        return found


def _gpus(cluster: Mapping[str, float]) -> float:
    """Return how many GPUs a cluster has."""
    found = float(cluster.get("GPU", 0))
    if not found:
        raise InvalidInputError("device='cuda' needs GPUs: Ray knows of none in this cluster")
    return found


def _on_gpu(task: RegionTask) -> GridTask:
    """Return the task of the same region on a GPU."""
    if not isinstance(task, GridTask):
        raise InvalidInputError("regions on GPUs are parts of a grid, not of a network")
    return replace(task, on_gpu=True)
