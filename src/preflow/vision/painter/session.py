"""One painting that several pages show and change.

A page sends requests, dictionaries that JSON can hold, and gets a reply and bytes. How both travel does not
matter here: a server or a notebook carries them. Two threads find the cuts: one previews each change at once,
the other solves exactly when the user pauses. A new change stops a preview that runs, and an exact solve as
well, unless the next preview has to start from its answer.

Every change of what a page shows gets a revision number. A page that knows the last number it saw asks for
what changed since, so that all pages agree.

Lock order: the painting is used under ``_lock`` only. ``_view``, which requests read, is immutable and is
replaced as a whole, so that no request waits for a preview.
"""

from __future__ import annotations

import gzip
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, fields, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...arrays import Array
from ...checks import as_float, check_integer, check_number
from ...drawing.axes import label_colours
from ...errors import InvalidInputError, MissingDependencyError, PreflowError
from ...graph.contrast import finite_array
from ...io.files import GZIP_LEVEL
from ...solving.run import Control
from ..painting import BACKGROUND, MOST_PAINTED, OBJECT, Painting, Snapshot, Solved, shown, slice_index
from ..pictures import cutout, labels_picture, png, stretched
from ..planes import Plane, Volume, planes
from ..seeds import Point, bounding_box
from ..segmentation import Segmentation
from ..volumes import STACKS, labels_as_bytes

#: Seconds without a change before the exact solve starts: a user who paints stroke after stroke gets
#: previews, which then have a core of their own.
PAUSE = 0.4
#: Seconds that a request waits for a change before it gets the same view again.
LONGEST_WAIT = 20.0
#: Seconds that a reply waits for a preview, so that seeds and mask come and are drawn together.
PATIENCE = 0.25
#: Most points of a stroke. The page sends fewer.
MOST_POINTS = 20_000
#: Fields of a view that pages get in another form.
ARRAYS = ("image", "labels", "mask", "numbers", "answer", "planes")
#: Largest smoothness: beyond it, capacities of common images exceed the exact integers of float64.
MOST_SMOOTHNESS = 1e6

#: Red, green and blue of labels 1, 2 and so on, while there are seeds of a label above 2.
COLOURS = label_colours(np.arange(1, MOST_PAINTED + 1)).tolist()

#: What JSON holds.
Json = None | bool | int | float | str | Sequence["Json"] | Mapping[str, "Json"]
Message = Mapping[str, Json]


@dataclass(frozen=True)
class Answer:
    """The cut that is shown, in numbers."""

    energy: float
    seconds: float  #: time of the solve
    size: int  #: pixels of the object
    exact: bool  #: whether the colours are those of all seeds: the answer of :meth:`Painting.solve`
    proved: bool  #: whether the proof was checked
    change: int  #: the number of the change that it answers; -1 for a draft with labels above 2
    #: pixels of labels 1, 2 and so on in an answer with labels above 2, which is never called proved
    sizes: list[int] | None = None
    #: whether no expansion of a label lowers the energy of such an answer
    converged: bool = True


class Numbers(NamedTuple):
    """Revisions: of everything, and of the parts that are large."""

    revision: int = 1
    picture: int = 1
    seeds: int = 1
    mask: int = 0


@dataclass(frozen=True, eq=False)
class View:
    """All that a page shows, as of one revision."""

    name: str
    image: Array
    spacing: tuple[float, ...]
    numbers: Numbers
    labels: NDArray[np.uint8]
    mask: Array | None  #: True on the object; or labels as bytes, of an answer with labels above 2
    answer: Answer | None
    box: tuple[list[int], list[int]] | None
    smoothness: float
    undo: bool
    redo: bool
    painted: tuple[bool, ...]
    ready: bool
    planes: tuple[Plane, ...]
    change: int = 0  #: the number of the last change: an answer with a smaller one is of other seeds
    busy: str = ""
    problem: str = ""
    closed: bool = False

    @property
    def current(self) -> bool:
        """Whether the answer is for the seeds as they are now, not for those before the last change."""
        return self.answer is not None and self.answer.change == self.change

    def as_json(self) -> Message:
        """Return the view without its arrays."""
        plain = {each.name: getattr(self, each.name) for each in fields(self) if each.name not in ARRAYS}
        answer = None if self.answer is None else asdict(self.answer)
        shape = list(self.labels.shape)
        more = {"answer": answer, "current": self.current, "shape": shape, "planes": self._planes()}
        more["colours"] = COLOURS
        return {**plain, **self.numbers._asdict(), **more}

    def _planes(self) -> list[Json]:
        """Return the size, the sides of a pixel, the directions and the box of the slices along each axis."""
        found: list[Json] = []
        shape = self.labels.shape
        for number, plane in enumerate(self.planes):
            facts: dict[str, Json] = {
                "size": plane.of(shape)[::-1],
                "sides": plane.of(self.spacing)[::-1],
                "letters": plane.letters,
                "box": None,
            }
            if self.box is not None:
                corners = [plane.of_slice(tuple(corner)) for corner in self.box]
                ends = [corner[::-1][number] for corner in self.box] if len(shape) == 3 else [0, 0]
                facts |= {"box": plane.shown_at(corners, shape), "within": ends}
            found.append(facts)
        return found


class Session:
    """A painting, the threads that cut it, and what pages see of it.

    `name` is that of the image, for the title of the page and the names of downloads.
    """

    def __init__(self, painting: Painting, *, name: str = "picture") -> None:
        self._lock = threading.Condition()
        self._news = threading.Condition()
        self._listeners: list[Callable[[], None]] = []
        self._waiting, self._counter_lock = 0, threading.Lock()
        self._control = Control()
        self._closed = False
        self._solving: _Solve | None = None
        self._open(painting, name, Numbers())
        self._threads = [
            threading.Thread(target=self._run, args=(work,), name=f"preflow-{name}", daemon=True)
            for name, work in (("preview", self._preview), ("solve", self._solve))
        ]
        for thread in self._threads:
            thread.start()

    def _open(self, painting: Painting, name: str, numbers: Numbers) -> None:
        self.painting, volume = painting, painting.volume
        self._preview_due = self._solve_due = True
        self._changed_at = -PAUSE
        self._edits = 0
        self._view = View(
            name,
            _as_bytes(painting.image, len(painting.shape)),
            painting.spacing,
            numbers,
            painting.labels.copy(),
            None,
            None,
            _corners(painting.box_mask),
            painting.smoothness,
            painting.can_undo,
            painting.can_redo,
            _kinds(painting),
            painting.ready,
            (Plane(),) if len(painting.shape) == 2 else planes(None if volume is None else volume.directions),
            busy="preview",
        )

    def replace(self, painting: Painting, *, name: str) -> None:
        """Show another painting from now on."""
        with self._urgent():
            self._stop_solve()
            self._open(painting, name, Numbers(*(number + 1 for number in self._view.numbers)))
            self._tell()

    # What pages see

    @property
    def view(self) -> View:
        """The view that pages show now."""
        return self._view

    def subscribe(self, listener: Callable[[], None]) -> Callable[[], None]:
        """Call `listener` in some thread after each change; return a function that ends this."""
        self._listeners.append(listener)  # without the lock: a preview may hold it for long
        return lambda: self._listeners.remove(listener)

    def _publish(self, **changes: object) -> None:
        """Replace the view; the lock is held."""
        old = self._view.numbers
        numbers = Numbers(
            old.revision + 1, old.picture, old.seeds + ("labels" in changes), old.mask + ("mask" in changes)
        )
        self._view = replace(self._view, numbers=numbers, **changes)  # type: ignore[arg-type]
        self._tell()

    def _tell(self) -> None:
        self._lock.notify_all()
        with self._news:
            self._news.notify_all()
        for listener in list(self._listeners):
            listener()

    def close(self) -> None:
        """Stop the threads; pages get a last view, which says that the session is closed."""
        with self._urgent():
            if not self._closed:
                self._closed = True
                self._stop_solve()
                self._publish(closed=True, busy="")

    def __enter__(self) -> Session:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    # Requests

    def answer(self, request: Message) -> tuple[Message, bytes]:
        """Do what a page asks for, and return the view with the layers that the page lacks.

        In the request ``do`` names an action, and other entries are its arguments; without it nothing
        changes. ``wait`` waits until the view has another ``revision``, for at most `LONGEST_WAIT` seconds.
        ``axis`` and ``index`` name a slice, and points are places (x, y) in its picture, which
        :mod:`preflow.vision.planes` turns. ``seen`` has the revisions of the picture, the seeds and the mask
        that the page has of this slice. In the reply ``layers`` lists the name and the length of each part of
         the bytes. These are ``picture``: grey or RGB bytes of each pixel; ``object``, ``background`` and
        ``mask``: packed bits, the first pixel in the highest bit. With labels above 2 ``seeds`` and
        ``regions`` take their place: a byte for each pixel, its label. InvalidInputError if the request
        cannot be understood, or its arguments are wrong.
        """
        self.act(request)
        return self.reply(request)

    def reply(self, request: Message) -> tuple[Message, bytes]:
        """Return the reply to a request whose action is done, once a preview had time to follow it."""
        action = request.get("do")
        if action == "download":
            return self._download(_text(request, "what"))
        if action == "wait":
            known = request.get("revision")
            self._wait(lambda view: view.numbers.revision != known, LONGEST_WAIT)
        self._wait(lambda view: view.busy != "preview", PATIENCE)
        view = self._view
        seen = request.get("seen")
        known = seen if isinstance(seen, Mapping) else {}
        plane, where = self._slice(view, request)
        names: list[Json] = []
        parts: list[bytes] = []

        def add(name: str, content: bytes) -> None:
            names.append([name, len(content)])
            parts.append(content)

        if known.get("picture") != view.numbers.picture:
            add("picture", plane.show(view.image[where]).tobytes())
        if known.get("seeds") != view.numbers.seeds:
            labels = plane.show(view.labels[where])
            if len(view.painted) > BACKGROUND:
                add("seeds", labels.tobytes())
            else:
                add("object", _packed(labels == OBJECT))
                add("background", _packed(labels == BACKGROUND))
        if known.get("mask") != view.numbers.mask and view.mask is not None:
            mask = plane.show(view.mask[where])
            add(*(("mask", _packed(mask)) if mask.dtype == np.bool_ else ("regions", mask.tobytes())))
        channels = 1 if view.image.ndim == view.labels.ndim else 3
        return {**view.as_json(), "channels": channels, "layers": names}, b"".join(parts)

    def _wait(self, holds: Callable[[View], bool], most: float) -> None:
        """Wait until something holds for the view, or the session is closed, or for `most` seconds."""
        with self._news:
            self._news.wait_for(lambda: self._view.closed or holds(self._view), most)

    @staticmethod
    def _slice(view: View, request: Message) -> tuple[Plane, tuple[slice | int, ...]]:
        """Return how the slice that a request names is shown, and its index; an image has one slice."""
        if view.labels.ndim == 2:
            return view.planes[0], (slice(None), slice(None))
        axis = _integer(request, "axis", 0)
        where = slice_index(view.labels.shape, axis, _integer(request, "index", 0))
        return view.planes[axis], where

    def act(self, request: Message) -> None:
        """Do what a page asks for, if that changes something."""
        if request.get("do") in (None, "wait", "download"):
            return
        action = _text(request, "do")
        if action not in ("stroke", "box", "undo", "redo", "clear", "smoothness"):
            raise InvalidInputError(f"there is no action {action!r}")
        with self._urgent():
            if self._closed:
                raise InvalidInputError("the session is closed")
            painting = self.painting
            if request.get("picture", self._view.numbers.picture) != self._view.numbers.picture:
                raise InvalidInputError("another picture was opened meanwhile")
            if action == "stroke":
                points = self._stored(_points(request), request)
                axis, index = _integer(request, "axis", 0), _integer(request, "index", 0)
                label, brush = _integer(request, "label"), as_float("brush", request.get("brush"))
                if len(painting.shape) == 2:
                    painting.stroke(points, label, brush=brush)
                else:
                    painting.stroke_on_slice(axis, index, points, label, brush=brush)
            elif action == "box":
                self._set_box(request)
            elif action == "smoothness":
                smoothness = check_number("smoothness", as_float("value", request.get("value")))
                if smoothness > MOST_SMOOTHNESS:
                    raise InvalidInputError(f"smoothness must be at most {MOST_SMOOTHNESS:g}")
                painting.smoothness = smoothness
            else:
                getattr(painting, action)()
            self._changed()

    def set_labels(self, labels: ArrayLike) -> None:
        """Replace all seeds, as :meth:`Painting.set_labels`."""
        with self._urgent():
            if self._closed:
                raise InvalidInputError("the session is closed")
            self.painting.set_labels(labels)
            self._changed()

    def _set_box(self, request: Message) -> None:
        """Set the box; in a volume, a page gives two of its three sides, and the third one stays."""
        if request.get("points") is None:
            self.painting.set_box(None)
            return
        first, second = self._stored(_points(request, least=2)[:2], request)
        if len(self.painting.shape) == 3:
            axis = _integer(request, "axis", 0)
            last = self.painting.shape[axis] - 1
            low, high = self._view.box or ([0] * 3, [last] * 3)
            place = 2 - axis  # points are (x, y, z)
            first = (*first[:place], low[place], *first[place:])
            second = (*second[:place], high[place], *second[place:])
        self.painting.set_box(first, second)

    def _stored(self, points: list[Point], request: Message) -> list[Point]:
        """Return the points of the slice for those of its picture."""
        plane, _ = self._slice(self._view, request)
        return plane.stored_at(points, self.painting.shape)

    def _changed(self) -> None:
        """Publish the seeds and let the threads work; the lock is held."""
        painting = self.painting
        self._edits += 1
        self._changed_at = time.monotonic()
        self._preview_due = self._solve_due = True
        solving = self._solving
        # The first answer of all is not stopped: previews start from it, although it is of fewer seeds.
        if solving and (painting.can_preview or not painting.ready or not solving.snapshot.fits):
            self._stop_solve()
        self._publish(
            labels=painting.labels.copy(),
            box=_corners(painting.box_mask),
            smoothness=painting.smoothness,
            undo=painting.can_undo,
            redo=painting.can_redo,
            painted=_kinds(painting),
            ready=painting.ready,
            change=self._edits,
            busy="preview",
            problem="",
        )

    def _stop_solve(self) -> None:
        """End the exact solve that runs, if any; the lock is held."""
        if self._solving is not None:
            self._solving.unwanted.set()

    @contextmanager
    def _urgent(self) -> Iterator[None]:
        """Hold the lock, soon: a preview that runs is stopped."""
        with self._counter_lock:
            self._waiting += 1
        try:
            self._control.stop[0] = 1
            self._lock.acquire()
        finally:  # also after Ctrl-C in a notebook: previews wait until nobody waits
            with self._counter_lock:
                self._waiting -= 1
        try:
            yield
        finally:
            self._lock.notify_all()
            self._lock.release()

    def _download(self, what: str) -> tuple[Message, bytes]:
        view = self._view
        stem = view.name.split("/")[-1].removesuffix(".gz").rsplit(".", 1)[0] or "picture"
        if view.mask is None:
            raise InvalidInputError("there is no mask yet: paint the object and the background")
        many = view.mask.dtype != np.bool_
        title = {"mask": "labels", "cutout": "regions"}.get(what, what) if many else what
        if what == "mask" and view.mask.ndim == 3:
            like = self.painting.volume
            if like is None:
                like = Volume(view.labels, np.diag([*view.spacing[::-1], 1.0]))
            if view.name.lower().endswith(STACKS):
                stack = labels_as_bytes(view.mask, like, ".tif")
                return {"name": f"{stem}-{title}.tif", "type": "image/tiff"}, stack
            packed = gzip.compress(labels_as_bytes(view.mask, like), GZIP_LEVEL)
            return {"name": f"{stem}-{title}.nii.gz", "type": "application/gzip"}, packed
        if what == "mask":
            picture = view.mask if many else np.where(view.mask, 255, 0).astype(np.uint8)
        elif what == "cutout" and view.mask.ndim == 2:
            picture = labels_picture(view.mask, view.image) if many else cutout(view.image, view.mask)
        else:
            raise InvalidInputError(f"there is no download {what!r} of this picture")
        content = png(picture)
        if content is None:
            raise MissingDependencyError("writing PNG", "imageio", "vision")
        return {"name": f"{stem}-{title}.png", "type": "image/png"}, content

    # The threads

    def _run(self, work: Callable[[], None]) -> None:
        """Run a thread; a bug in it closes the session, and the interpreter prints its traceback."""
        try:
            work()
        except Exception as error:
            with self._urgent():
                self._closed = True
                problem = (
                    f"{type(error).__name__}: {error}. Please report this bug; the traceback is printed."
                )
                self._publish(closed=True, busy="", problem=problem)
            raise

    def _preview(self) -> None:
        """Preview each change."""
        while True:
            with self._lock:
                self._lock.wait_for(lambda: self._closed or (self._preview_due and not self._waiting))
                if self._closed:
                    return
                self._preview_due = False
                try:
                    self._preview_once()
                except (PreflowError, MemoryError) as error:
                    self._publish(busy="", problem=str(error) or "not enough memory")

    def _preview_once(self) -> None:
        painting = self.painting
        if not painting.ready:
            self._solve_due = False
            self._publish(mask=None, answer=None, busy="")
        elif painting.can_preview:
            self._control = Control()
            # A change that came before this line has not seen the new flag.
            found = None if self._waiting else painting.preview(control=self._control, draft=self._show_draft)
            if found is None:  # stopped by a change
                self._preview_due = True
                return
            size = int(np.count_nonzero(found.mask))
            answer = Answer(found.energy, found.seconds, size, found.learned, False, self._edits)
            self._publish(mask=found.mask, answer=answer, busy="solve" if self._solve_due else "")
        else:
            self._changed_at = -PAUSE  # no preview: solve at once
            self._publish(busy="solve")

    def _show_draft(self, mask: NDArray[np.bool_]) -> None:
        """Show the mask of a preview that takes long; the lock is held."""
        answer = self._view.answer
        if answer is not None and not self._waiting:
            answer = replace(answer, size=int(np.count_nonzero(mask)), exact=False, proved=False)
            self._publish(mask=mask, answer=answer, busy="draft")

    def _solve(self) -> None:
        """Solve when the user pauses."""
        while True:
            with self._lock:
                self._lock.wait_for(lambda: self._closed or (self._solve_due and not self._preview_due))
                if self._closed:
                    return
                left = self._changed_at + PAUSE - time.monotonic()
                if left > 0:
                    self._lock.wait(left)
                    continue
                self._solve_due = False
                painting, edits = self.painting, self._edits
                self._solving = solving = _Solve(painting.snapshot(), threading.Event())
            try:
                start = time.perf_counter()
                solved = solving.snapshot.solve_unless(
                    solving.unwanted.is_set, self._draft_of(painting, edits)
                )
                seconds = time.perf_counter() - start
                if solved is not None:
                    change = self._adopt(painting, solved, seconds)
                    if change is not None:
                        self._prove(painting, change, solved)
            except (PreflowError, MemoryError) as error:
                with self._lock:
                    if self.painting is painting and self._edits == edits:
                        self._publish(busy="", problem=str(error) or "not enough memory")
            finally:
                with self._lock:
                    self._solving = None

    def _draft_of(self, painting: Painting, edits: int) -> Callable[[Array], None]:
        """Return a function that shows the labels of a smaller picture, unless something changed."""

        def show(labels: Array) -> None:
            with self._urgent():
                if self.painting is painting and self._edits == edits and not self._closed:
                    answer = Answer(
                        0.0, 0.0, int(np.count_nonzero(labels == 1)), False, False, -1, _sizes(labels)
                    )
                    self._publish(mask=labels, answer=answer, busy="draft")

        return show

    def _adopt(self, painting: Painting, solved: Solved, seconds: float) -> int | None:
        """Take an exact answer; if it is for what is painted now, return the number of the last change."""
        with self._urgent():
            if self.painting is not painting or self._closed:
                return None
            if not painting.adopt(solved):
                self._preview_due = True
                self._lock.notify_all()
                return None
            # Also where changes were made and taken back meanwhile.
            self._preview_due = self._solve_due = False
            found = solved.segmentation
            mask = shown(found)
            answer = Answer(found.energy, seconds, int(np.count_nonzero(mask == 1)), True, False, self._edits)
            if isinstance(found, Segmentation):
                self._publish(mask=mask, answer=answer, busy="verify")
                return self._edits
            answer = replace(answer, sizes=_sizes(mask), converged=found.labelling.converged)
            self._publish(mask=mask, answer=answer, busy="")
            return None

    def _prove(self, painting: Painting, change: int, solved: Solved) -> None:
        assert isinstance(solved.segmentation, Segmentation)
        solved.segmentation.cut.verify()
        with self._urgent():
            answer = self._view.answer
            if self.painting is painting and self._edits == change and answer is not None:
                self._publish(answer=replace(answer, proved=True), busy="")


class _Solve(NamedTuple):
    """An exact solve that runs."""

    snapshot: Snapshot
    #: Set once nobody wants the answer.
    unwanted: threading.Event


def _as_bytes(image: Array, ndim: int) -> NDArray[np.uint8]:
    """Return an image of `ndim` dimensions as grey or RGB bytes; two channels become red and green."""
    pixels = image if image.dtype == np.uint8 else stretched(finite_array("image", image))
    if image.ndim > ndim and image.shape[-1] == 1:
        pixels = pixels[..., 0]
    elif image.ndim > ndim and image.shape[-1] == 2:
        pixels = np.concatenate((pixels, np.zeros_like(pixels[..., :1])), axis=-1)
    return np.ascontiguousarray(pixels)


def _kinds(painting: Painting) -> tuple[bool, ...]:
    """Return whether there are seeds of the object, the background, and each label up to the highest."""
    counts = np.bincount(painting.labels.reshape(-1), minlength=BACKGROUND + 1)
    return tuple((counts[1:] > 0).tolist())


def _sizes(labels: Array) -> list[int]:
    """Return the number of pixels of labels 1, 2 and so on."""
    sizes: list[int] = np.bincount(labels.reshape(-1), minlength=2)[1:].tolist()
    return sizes


def _packed(mask: NDArray[np.bool_]) -> bytes:
    return np.packbits(mask.reshape(-1)).tobytes()


def _corners(inside: NDArray[np.bool_] | None) -> tuple[list[int], list[int]] | None:
    """Return two corners (x, y) or (x, y, z) of a box, both inside it."""
    if inside is None:
        return None
    sides = bounding_box(inside)[::-1]
    return [side.start for side in sides], [side.stop - 1 for side in sides]


def _text(request: Message, name: str) -> str:
    value = request.get(name)
    if not isinstance(value, str):
        raise InvalidInputError(f"{name} must be text, got {value!r}")
    return value


def _integer(request: Message, name: str, default: int | None = None) -> int:
    given: Any = request.get(name, default)
    return check_integer(name, given, minimum=0)


def _points(request: Message, least: int = 1) -> list[Point]:
    """Return the points of a request: lists of two numbers."""
    value = request.get("points")
    if not isinstance(value, list) or not least <= len(value) <= MOST_POINTS:
        raise InvalidInputError(f"points must be a list of {least} to {MOST_POINTS:,} points")
    points: list[Point] = []
    for point in value:
        if not isinstance(point, list) or len(point) != 2:
            raise InvalidInputError(f"a point must be 2 numbers, got {point!r}")
        points.append(tuple(as_float("a coordinate", part) for part in point))
    return points
