"""An image, seeds that are painted on it one stroke after the other, and the cut of these seeds.

Two solves follow a stroke. :meth:`Painting.preview` keeps the models of colours as they were last learned.
Then the stroke changes the capacities of its own pixels only, and the cut is found from the flow and the
forests of the last one. :meth:`Painting.solve` learns the colours of all seeds, which changes the capacities
of all pixels. Its answer is that of :func:`preflow.vision.segment` for the same seeds. Both answers are least
energies, the first one for the colours as they were, and both can be proved.

Labels above 2 are further kinds of seeds. While there are some, the answer is that of
:func:`preflow.vision.segment_labels`, which no expansion of a label improves, and a preview is such a solve.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from copy import copy
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..arrays import Array, Connectivity, Spacing
from ..checks import check_integer, check_number
from ..errors import InvalidInputError
from ..graph.placement import host_array
from ..gridcut.api import grid_cut
from ..gridcut.warm import WarmGrid
from ..method_names import DeviceName
from ..progress import ProgressReport
from ..solving.read_only import read_only_view
from ..solving.run import Control
from ..stats import SolveStats
from .colour_models import Palette
from .label_segmentation import LabelSegmentation, segment_labels
from .planes import Volume
from .seeds import Point, bounding_box, box, stroke
from .segmentation import (
    CAPACITY_PER_NAT,
    Links,
    Model,
    Segmentation,
    check_channels,
    checked_seeds,
    grabcut,
    log_ratio,
    own,
)
from .volumes import spacing_from

#: Labels of painted pixels, as in :func:`preflow.vision.seeds_from_labels`.
UNKNOWN, OBJECT, BACKGROUND = 0, 1, 2
#: The largest label that can be painted.
MOST_PAINTED = 8
#: A draft with labels above 2 is the answer for at most about this many pixels of the picture.
DRAFT_PIXELS = 1 << 14
#: Most steps that can be undone, and most bytes that they take together.
MOST_STEPS, MOST_BYTES = 500, 1 << 28


class _Step(NamedTuple):
    """A change of the painting: the part of the labels before and after it, and the box before and after."""

    where: tuple[slice, ...]
    before: NDArray[np.uint8]
    after: NDArray[np.uint8]
    boxes: tuple[NDArray[np.bool_] | None, NDArray[np.bool_] | None]

    @property
    def bytes(self) -> int:
        old, new = self.boxes
        of_box = 0 if new is old or new is None else new.nbytes
        return 2 * self.before.nbytes + of_box


class _Steps(NamedTuple):
    """The steps that can be undone, the last one last, and those that can be made again, likewise."""

    done: tuple[_Step, ...] = ()
    undone: tuple[_Step, ...] = ()


@dataclass(frozen=True, eq=False)
class Preview:
    """The least energy for colours as they were last learned.

    Attributes
    ----------
    mask : ndarray of bool, shape (h, w) or (d, h, w)
        True on the object. With seeds of a label above 2, the labels of all pixels, of dtype uint8.
    energy : float
        In nats, as that of :class:`preflow.vision.Segmentation`.
    seconds : float
        Time of the solve.
    learned : bool
        Whether the colours are those of the seeds as of now. The mask then is that of :meth:`Painting.solve`.
    """

    mask: Array
    energy: float
    seconds: float
    learned: bool


class Painting:
    """An image, the seeds painted on it, and the cut of these seeds, which is found again after each stroke.

    Parameters
    ----------
    image : array_like, shape (h, w), (h, w, channels), (d, h, w) or (d, h, w, channels); or Volume
        As for :func:`preflow.vision.segment`. An array with three axes is an image with channels if the last
        axis has length 4 or less, unless `spacing` has three numbers; alpha, the fourth, is left out.
    smoothness, sigma, connectivity, spacing, model, components, prior
        As for :func:`preflow.vision.segment`.
    device, threads
        As for :func:`preflow.grid_cut`, for :meth:`solve`. Previews run on one thread.

    Attributes
    ----------
    segmentation : Segmentation, LabelSegmentation or None
        The last answer of :meth:`solve`.
    volume : Volume or None
        The volume that was given, whose affine says which way its slices are shown.

    Raises
    ------
    InvalidInputError
        As :func:`preflow.vision.segment`.

    Notes
    -----
    Memory: 90 to 150 bytes per pixel with 8 neighbours, and the seeds that can be undone.

    Examples
    --------
    >>> import numpy as np
    >>> image = np.zeros((20, 20))
    >>> image[5:15, 5:15] = 1
    >>> painting = Painting(image)
    >>> painting.stroke([(8, 8), (12, 12)], 1, brush=3)
    >>> painting.stroke([(1, 1), (18, 1)], 2, brush=3)
    >>> result = painting.solve()
    >>> bool((result.mask == (image == 1)).all())
    True

    One more stroke, and its preview:

    >>> painting.stroke([(14, 14)], 2, brush=1)
    >>> preview = painting.preview()
    >>> bool(preview.mask[14, 14]), preview.learned
    (False, False)
    >>> painting.undo()
    True
    >>> bool(painting.preview().mask[14, 14])
    True
    """

    def __init__(
        self,
        image: ArrayLike | Volume,
        *,
        smoothness: float | None = None,
        sigma: float | None = None,
        connectivity: Connectivity = None,
        spacing: Spacing = None,
        model: Model | None = None,
        components: int = 5,
        prior: float = 0.5,
        device: DeviceName = "auto",
        threads: int | None = None,
    ) -> None:
        #: the volume that is painted on, with its place in space, if one was given
        self.volume = image if isinstance(image, Volume) else None
        if self.volume is not None and spacing is not None:
            self.volume = self.volume.with_spacing(spacing)
        given, spacing = host_array(image, "image"), spacing_from(image, spacing)
        shape = _shape_of_pixels(given, spacing)
        has_alpha = given.shape == (*shape, 4)
        self.image: Array = np.array(given[..., :3] if has_alpha else given)
        channels = check_channels(self.image, shape)
        self._channels = channels
        #: what :func:`segment` takes besides the weight of the boundary: for links, colours and the solver
        self._shape: dict[str, Any] = {"sigma": sigma, "connectivity": connectivity, "spacing": spacing}
        self._model: dict[str, Any] = {"model": model, "components": components, "prior": prior}
        self._placement: dict[str, Any] = {"device": device, "threads": threads}
        self._palette = Palette.of(channels)
        self._links = self._links_for(smoothness)
        self._labels = np.zeros(shape, dtype=np.uint8)
        self._box: NDArray[np.bool_] | None = None
        self._steps = _Steps()
        self._forget()
        self._check_model()

    def __getstate__(self) -> dict[str, object]:
        """Return the state with copies of what strokes and previews change."""
        return self.__dict__ | {"_labels": self._labels.copy(), "_warm": copy(self._warm)}

    def _check_model(self) -> None:
        """Raise the errors of the model's parameters now, not at the first solve."""
        first = np.zeros(self.shape, dtype=np.bool_)
        first[(0,) * first.ndim] = True
        log_ratio(self._palette, first, first, **self._model)

    def _links_for(self, smoothness: float | None) -> Links:
        return Links(self._channels, smoothness, **self._shape)

    def _forget(self) -> None:
        """Forget all cuts."""
        self.segmentation: Segmentation | LabelSegmentation | None = None
        self._free: Array | None = None
        self._learned_from: tuple[NDArray[np.uint8], NDArray[np.bool_] | None] | None = None
        self._warm: WarmGrid | None = None
        self._warm_labels = self._labels
        self._stats: SolveStats | None = None

    # The seeds

    @property
    def _shown(self) -> Array | Volume:
        """The image or volume, for pictures."""
        return self.image if self.volume is None else self.volume

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of the image without channels."""
        return tuple(self._labels.shape)

    @property
    def spacing(self) -> tuple[float, ...]:
        """Length of a pixel along each axis; ones where none were given."""
        given = self._shape["spacing"]
        return (1.0,) * len(self.shape) if given is None else tuple(map(float, given))

    @property
    def labels(self) -> NDArray[np.uint8]:
        """The seeds: 1 object, 2 background, 3 to 8 other labels, 0 unknown; a read-only view."""
        return read_only_view(self._labels)

    @property
    def many(self) -> bool:
        """Whether there are seeds of a label above 2."""
        return _many(self._labels)

    @property
    def box_mask(self) -> NDArray[np.bool_] | None:
        """True in the box that the object lies in; None without a box. It cannot be written to."""
        if self._box is not None:
            self._box.flags.writeable = False  # here, so that this holds for copies, too
        return self._box

    @property
    def ready(self) -> bool:
        """Whether there are seeds of two labels, or a box: :meth:`solve` needs them."""
        if self._box is not None:
            return True
        counts = np.bincount(self._labels.reshape(-1), minlength=3)
        return bool(np.count_nonzero(counts[1:]) > 1)

    @property
    def can_undo(self) -> bool:
        """Whether there is a change to undo."""
        return bool(self._steps.done)

    @property
    def can_redo(self) -> bool:
        """Whether there is a change to make again."""
        return bool(self._steps.undone)

    def stroke(self, points: Sequence[Point], label: int, *, brush: float = 15.0) -> None:
        """Paint a line through points with a round brush.

        Parameters
        ----------
        points : sequence of (x, y), in a volume (x, y, z)
        label : int
            1 paints the object, 2 the background, 3 to 8 other labels, 0 erases.
        brush : float
            Diameter in pixels, at least 1.

        Raises
        ------
        InvalidInputError
            As :func:`preflow.vision.stroke`, or another label.
        """
        self._check_label(label)
        self.paint(stroke(self.shape, points, brush=brush), label)

    def stroke_on_slice(
        self, axis: int, index: int, points: Sequence[Point], label: int, *, brush: float = 15.0
    ) -> None:
        """Paint a line on one slice of a volume; points are (x, y) in the picture of the slice.

        Parameters
        ----------
        axis, index : int
            The slice ``volume.take(index, axis)``.
        points, label, brush
            As for :meth:`stroke`.
        """
        where = self.slice_index(axis, index)
        self._check_label(label)
        mask = np.zeros(self.shape, dtype=np.bool_)
        mask[where] = stroke(tuple(mask[where].shape), points, brush=brush)
        self.paint(mask, label)

    def slice_index(self, axis: int, index: int) -> tuple[slice | int, ...]:
        """Return the index of a slice of a volume, or of an image if `axis` and `index` are 0."""
        return slice_index(self.shape, axis, index)

    def paint(self, mask: ArrayLike, label: int) -> None:
        """Give all pixels of a mask a label: 1 object, 2 background, 3 to 8 others, 0 unknown.

        Raises
        ------
        InvalidInputError
            `mask` is not an array of bool of the image's shape, or another label.
        """
        given = host_array(mask, "mask")
        if given.dtype != np.bool_ or given.shape != self.shape:
            raise InvalidInputError(
                f"mask must be an array of bool of shape {self.shape}, got {given.dtype} of {given.shape}"
            )
        self._check_label(label)
        where = bounding_box(given)
        after = self._labels[where].copy()
        after[given[where]] = label
        self._change(where, after, self._box)

    def set_labels(self, labels: ArrayLike) -> None:
        """Replace all seeds, as one change that can be undone.

        Parameters
        ----------
        labels : array_like of int, shape of the image
            1 object, 2 background, 3 to 8 other labels, 0 unknown.
        """
        given = host_array(labels, "labels")
        if (
            given.dtype.kind not in "iu"
            or given.shape != self.shape
            or not ((given >= 0) & (given <= MOST_PAINTED)).all()
        ):
            raise InvalidInputError(
                f"labels must be 0 to {MOST_PAINTED}, of shape {self.shape}, got {given.dtype} of shape "
                f"{given.shape}"
            )
        where = bounding_box(given != self._labels)
        self._change(where, given[where].astype(np.uint8), self._box)

    def set_box(self, corner: Point | None, opposite: Point | None = None) -> None:
        """Say that the object lies in a box, corners included; None for no box.

        With a box the answer is that of :func:`preflow.vision.grabcut`, with the seeds as its corrections.

        Parameters
        ----------
        corner, opposite : (x, y), in a volume (x, y, z)

        Raises
        ------
        InvalidInputError
            A corner lies outside the image, or the box covers all of it.
        """
        inside = None
        if corner is not None:
            inside = box(self.shape, corner, corner if opposite is None else opposite)
            if inside.all():
                raise InvalidInputError("the box covers the whole image: leave some background outside")
        nowhere = (slice(0, 0),) * len(self.shape)
        self._change(nowhere, self._labels[nowhere].copy(), inside)

    def clear(self) -> None:
        """Remove all seeds and the box, as one change that can be undone."""
        where = (slice(None),) * len(self.shape)
        self._change(where, np.zeros_like(self._labels), None)

    def undo(self) -> bool:
        """Take the last change back; return whether there was one."""
        done, undone = self._steps
        if not done:
            return False
        # Until all is written the step stays to be undone: after Ctrl-C it can be taken back again.
        self._labels[done[-1].where] = done[-1].before
        self._box = done[-1].boxes[0]
        self._steps = _Steps(done[:-1], (*undone, done[-1]))
        return True

    def redo(self) -> bool:
        """Make the change again that was taken back last; return whether there was one."""
        done, undone = self._steps
        if not undone:
            return False
        # First, so that a change that is made in part can be undone.
        self._steps = _Steps((*done, undone[-1]), undone[:-1])
        self._labels[undone[-1].where] = undone[-1].after
        self._box = undone[-1].boxes[1]
        return True

    def _change(
        self, where: tuple[slice, ...], after: NDArray[np.uint8], inside: NDArray[np.bool_] | None
    ) -> None:
        before = self._labels[where].copy()
        if inside is self._box and (before == after).all():
            return
        done = [*self._steps.done, _Step(where, before, after, (self._box, inside))]
        while len(done) > MOST_STEPS or (len(done) > 1 and sum(step.bytes for step in done) > MOST_BYTES):
            del done[0]
        self._steps = _Steps(tuple(done))  # first, as in `redo`
        self._labels[where] = after
        self._box = inside

    @staticmethod
    def _check_label(label: int) -> None:
        label = check_integer("label", label, minimum=0)
        if label > MOST_PAINTED:
            raise InvalidInputError(
                f"label is 1 (object), 2 (background), 3 to {MOST_PAINTED} (others) or 0 (erase), got {label}"
            )

    # The cuts

    @property
    def smoothness(self) -> float:
        """Weight of the boundary, as for :func:`preflow.vision.segment`. A new one forgets the preview."""
        return float(self._links.smoothness)

    @smoothness.setter
    def smoothness(self, smoothness: float) -> None:
        smoothness = check_number("smoothness", smoothness)
        if smoothness != self.smoothness:
            links = self._links_for(smoothness)
            self._warm = self._free = self._learned_from = None
            self._links = links

    @property
    def learned(self) -> bool:
        """Whether the last :meth:`solve` was for the seeds, the box and the smoothness as of now."""
        if self._learned_from is None:
            return False
        labels, inside = self._learned_from
        return inside is self._box and bool((labels == self._labels).all())

    def solve(self, *, time_limit: float | None = None) -> Segmentation | LabelSegmentation:
        """Learn the colours of all seeds, and cut.

        Parameters
        ----------
        time_limit : float, optional
            As for :func:`preflow.vision.segment`.

        Returns
        -------
        Segmentation
            The same as :func:`preflow.vision.segment` returns for the seeds, from the flow of the last cut.
            With a box it is what :func:`preflow.vision.grabcut` returns, from the last answer for that box.
        LabelSegmentation
            While there are seeds of a label above 2: the same as :func:`preflow.vision.segment_labels`
            returns for the seeds and the smoothness. With a box, all pixels outside are of the background.

        Raises
        ------
        InvalidInputError
            There is no box, and seeds of a second label are missing.
        """
        self.adopt(self.snapshot().solve(time_limit=time_limit))
        assert self.segmentation is not None
        return self.segmentation

    def snapshot(self) -> Snapshot:
        """Return the input of a solve: another thread can solve it while this one goes on painting."""
        return Snapshot(
            self,
            self._labels.copy(),
            self._box,
            self._links,
            self.segmentation if isinstance(self.segmentation, Segmentation) else None,
            bool(self._learned_from and self._learned_from[1] is self._box),
        )

    def adopt(self, solved: Solved) -> bool:
        """Take the colours and the cut of a snapshot for the next previews.

        Returns
        -------
        bool
            Whether the snapshot is still what is painted. If the smoothness is another one, nothing is taken.
        """
        if solved.snapshot.links is not self._links:
            return False
        learned_from = solved.snapshot.labels, solved.snapshot.inside
        found, warm_labels = solved.segmentation, _seed_labels(*learned_from)
        stats = found.cut.stats if isinstance(found, Segmentation) else None
        # Nothing is learned while the parts of two answers mix, which Ctrl-C might leave.
        self._learned_from = self._warm = None
        self.segmentation, self._free = found, solved.free
        self._warm_labels, self._stats = warm_labels, stats
        self._warm = solved.warm
        self._learned_from = learned_from
        return self.learned

    @property
    def can_preview(self) -> bool:
        """Whether :meth:`preview` can use the learned colours, and does not call :meth:`solve`."""
        if self._learned_from is None or self._learned_from[1] is not self._box or not self.ready:
            return False
        if self.many or not isinstance(self.segmentation, Segmentation):
            return False
        if self._free is not None:
            return True
        before = _seed_labels(*self._learned_from) if self._warm is None else self._warm_labels
        now = _seed_labels(self._labels, self._box)
        return not ((now == UNKNOWN) & (before != UNKNOWN)).any()

    def preview(
        self,
        *,
        control: Control | None = None,
        draft: Callable[[NDArray[np.bool_]], None] | None = None,
    ) -> Preview | None:
        """Cut with the colours as they were last learned.

        It calls :meth:`solve` if nothing was learned yet for this box and this smoothness, or if there is a
        box and a seed in it was erased: the capacities without that seed are not kept. It also does while
        there are seeds of a label above 2. Such a solve is not stopped, and has no draft.

        Parameters
        ----------
        control : Control, optional
            Another thread may stop the solve by its stop flag.
        draft : function, optional
            Called once, by this thread, with the mask as it is when the solve has taken 25 ms, if it takes
            so long: the stroke counts, and its effect is incomplete.

        Returns
        -------
        Preview or None
            None if the solve was stopped.

        Raises
        ------
        InvalidInputError
            As :meth:`solve`.

        Notes
        -----
        The time depends on the number of pixels whose label changes, and hardly on the size of the image.
        """
        start = time.perf_counter()
        if not self.can_preview:
            return self._preview_of_solve(start)
        # After Ctrl-C the changes may have been made, or not.
        warm, self._warm = self._warm, None
        if warm is None:
            assert isinstance(self.segmentation, Segmentation)
            assert self._learned_from is not None
            self._warm_labels = _seed_labels(*self._learned_from)
            warm = WarmGrid(self.segmentation.cut, largest=_largest(self._free))
        now = _seed_labels(self._labels, self._box)
        changed = np.flatnonzero(now != self._warm_labels)
        labels = now.reshape(-1)[changed]
        hard = self._links.more_than_n_links
        net = np.where(labels == OBJECT, hard, -hard)
        unknown = labels == UNKNOWN
        if unknown.any():
            assert self._free is not None
            net[unknown] = self._free.reshape(-1)[changed[unknown]]
        drafts = iter(() if draft is None else (draft,))

        def show_draft(report: ProgressReport) -> None:
            for show in drafts:
                show(warm.draft())

        stats = warm.solve(changed, net, control=control, progress=show_draft)
        self._warm_labels, self._stats = now, stats
        self._warm = warm
        if stats is None:
            return None
        seconds = time.perf_counter() - start
        return Preview(own(warm.labels), warm.value / CAPACITY_PER_NAT, seconds, self.learned)

    def prove(self) -> Segmentation | LabelSegmentation:
        """Return the last preview with its proof, verified; one that was stopped is completed first."""
        result: Segmentation | LabelSegmentation
        if self._warm is not None and self._stats is None:
            self.preview()
        if self._warm is None or self._stats is None:
            result = self.segmentation if self.segmentation is not None else self.solve()
        else:
            cut = self._warm.result(self._stats)
            masks = (own(self._warm_labels == label) for label in (OBJECT, BACKGROUND))
            result = Segmentation(own(cut.labels), cut, *masks, _image=self._shown)
        result.verify() if isinstance(result, LabelSegmentation) else result.cut.verify()
        return result

    def _preview_of_solve(self, start: float) -> Preview:
        result = self.solve()
        return Preview(shown(result), result.energy, time.perf_counter() - start, True)

    def __repr__(self) -> str:
        shape = " x ".join(map(str, self.shape))
        counts = np.bincount(self._labels.reshape(-1), minlength=3)
        boxed = ", a box" if self._box is not None else ""
        kinds = f"{counts[OBJECT]:,} seeds of the object, {counts[BACKGROUND]:,} of the background"
        if self.many:
            kinds += f", {counts[BACKGROUND + 1 :].sum():,} of other labels"
        return f"<Painting: {shape} pixels, {kinds}{boxed}>"


class _UnwantedError(Exception):
    """Ends a solve whose answer nobody wants."""


#: Raises _UnwantedError to end a solve; called between its steps, and with the reports of a cut that runs.
_Check = Callable[[ProgressReport | None], None]


@dataclass(frozen=True, eq=False)
class Snapshot:
    """The input of :meth:`Painting.solve`, as of one moment."""

    painting: Painting  #: a solve uses only what never changes of it
    labels: NDArray[np.uint8]
    inside: NDArray[np.bool_] | None
    links: Links
    last: Segmentation | None  #: the answer to start from
    same_box: bool  #: whether `last` is for this box

    @property
    def fits(self) -> bool:
        """Whether the next preview can start from the answer: smoothness and box are still the same."""
        same = self.links is self.painting._links and self.inside is self.painting._box
        return same and not _many(self.labels) and not self.painting.many

    def solve(self, *, time_limit: float | None = None) -> Solved:
        """Learn the colours and cut."""
        return self._solve(time_limit, None)

    def solve_unless(
        self, unwanted: Callable[[], bool], draft: Callable[[Array], None] | None = None
    ) -> Solved | None:
        """Solve, and build what the next preview needs; return None once nobody wants the answer.

        `unwanted` is called before each step, and twenty times in a second while a cut runs; with a label
        above 2 after each expansion. With such a label, `draft` gets the labels of a smaller picture first,
        enlarged, if this one is large and no label has lost all its seeds.
        """

        def check(report: ProgressReport | None) -> None:
            if unwanted():
                raise _UnwantedError

        try:
            if draft is not None and _many(self.labels):
                self._draft(draft, check)
            solved = self._solve(None, check)
            if not isinstance(solved.segmentation, Segmentation):
                return solved
            warm = WarmGrid(solved.segmentation.cut, largest=_largest(solved.free))
            warm.prepare()
        except _UnwantedError:
            return None
        return replace(solved, warm=warm)

    def _solve(self, time_limit: float | None, check: _Check | None) -> Solved:
        def check_between() -> None:
            if check is not None:
                check(None)

        check_between()
        foreground, background = self.labels == OBJECT, self.labels == BACKGROUND
        painting = self.painting
        solving = {**painting._placement, "time_limit": time_limit, "progress": check or False}
        free: Array | None = None
        result: Segmentation | LabelSegmentation
        if _many(self.labels):
            markers = _seed_labels(self.labels, self.inside)
            if len(np.unique(markers[markers != UNKNOWN])) < 2:
                raise InvalidInputError("there are seeds of one label only: paint some of another one")
            result = self._divided(painting.image, markers, self.links.smoothness, **solving)
        elif self.inside is None:
            seeds = checked_seeds(foreground, background)
            ratio = log_ratio(painting._palette, *seeds, **painting._model)
            check_between()
            network = self.links.network(painting._palette, ratio, *seeds)
            free = self.links.gains(painting._palette, ratio)
            check_between()
            cut = grid_cut(network, warm_start=None if self.last is None else self.last.cut, **solving)
            result = Segmentation(own(cut.labels), cut, *map(own, seeds), _image=painting._shown)
        else:
            result = grabcut(
                painting.image,
                self.inside | foreground,
                foreground=foreground,
                background=background,
                components=painting._model["components"],
                smoothness=self.links.smoothness,
                warm_start=self.last if self.same_box else None,
                **painting._shape,
                **solving,
            )
        check_between()
        return Solved(self, result, free)

    def _divided(self, image: Array, markers: Array, smoothness: float, **solving: Any) -> LabelSegmentation:
        """Return the labels of the picture, or of a smaller one."""
        model = self.painting._model["model"]
        return segment_labels(
            image,
            markers,
            smoothness=smoothness,
            components=self.painting._model["components"],
            **({} if model is None else {"model": model}),
            **self.painting._shape,
            **solving,
        )

    def _draft(self, show: Callable[[Array], None], check: _Check) -> None:
        """Show the labels of a smaller picture, if this one is large; they keep all seeds."""
        markers = _seed_labels(self.labels, self.inside)
        step = math.ceil((markers.size / DRAFT_PIXELS) ** (1 / markers.ndim))
        corners = (slice(None, None, step),) * markers.ndim
        image, some = self.painting.image[corners].copy(), np.zeros_like(markers[corners])
        # Seeds are often on one slice only: each comes with its colour, wherever it is in its block.
        seeds = np.nonzero(markers)
        blocks = tuple(places // step for places in seeds)
        image[blocks], some[blocks] = self.painting.image[seeds], markers[seeds]
        if step == 1 or not np.array_equal(np.unique(some[some > 0]), np.unique(markers[seeds])):
            return
        # A boundary has fewer pairs of pixels by one power of the step less than the inside has pixels.
        smoothness = self.links.smoothness / step
        found = self._divided(image, some, smoothness, **self.painting._placement, progress=check)
        labels: Array = shown(found)
        for axis, length in enumerate(markers.shape):
            labels = labels.take(np.arange(length) // step, axis=axis)
        show(np.where(markers > 0, markers, labels))


@dataclass(frozen=True, eq=False)
class Solved:
    """The answer for a snapshot."""

    snapshot: Snapshot
    segmentation: Segmentation | LabelSegmentation
    #: integers: capacity from the source minus that to the sink of each pixel that is no seed; None where
    #: unknown
    free: Array | None
    warm: WarmGrid | None = None  #: the state of the next preview, where it was prepared


def _shape_of_pixels(image: Array, spacing: Spacing) -> tuple[int, ...]:
    """Return the shape of an image or a volume without its channels."""
    shape = tuple(image.shape)
    is_volume = spacing is not None and np.shape(spacing) == (3,)
    if image.ndim == 4 or (image.ndim == 3 and shape[-1] <= 4 and not is_volume):
        shape = shape[:-1]
    if len(shape) not in (2, 3) or 0 in shape:
        raise InvalidInputError(f"image has shape {image.shape}, which is no image and no volume")
    return shape


def slice_index(shape: tuple[int, ...], axis: int, index: int) -> tuple[slice | int, ...]:
    """Return the index of a slice of a volume, or of an image if `axis` and `index` are 0."""
    axis = check_integer("axis", axis, minimum=0)
    index = check_integer("index", index, minimum=0)
    if len(shape) == 2:
        if (axis, index) != (0, 0):
            raise InvalidInputError("an image has no slices: axis and index must be 0")
        return (slice(None), slice(None))
    if axis > 2 or index >= shape[axis]:
        raise InvalidInputError(f"there is no slice {index} along axis {axis} of shape {shape}")
    return tuple(index if number == axis else slice(None) for number in range(3))


def shown(result: Segmentation | LabelSegmentation) -> Array:
    """Return the mask of an answer, or its labels as bytes."""
    if isinstance(result, Segmentation):
        return result.mask
    labels = np.array(result.labels, dtype=np.uint8)
    labels.flags.writeable = False
    return labels


def _many(labels: NDArray[np.uint8]) -> bool:
    return bool((labels > BACKGROUND).any())


def _largest(free: Array | None) -> int:
    """Return the largest absolute capacity that a pixel may get when its seed is erased."""
    return 0 if free is None else int(np.abs(free).max())


def _seed_labels(labels: NDArray[np.uint8], inside: NDArray[np.bool_] | None) -> NDArray[np.uint8]:
    """Return a copy of the labels in which pixels outside of the box are background, but for the object's."""
    found = labels.copy()
    if inside is not None:
        found[~inside & (labels == UNKNOWN)] = BACKGROUND
    return found
