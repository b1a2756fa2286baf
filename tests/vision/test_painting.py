"""Painted seeds: every answer is that of one call with the same seeds, whatever came before."""

from __future__ import annotations

import copy
import pickle
import time
from collections.abc import Callable
from typing import Any
from unittest.mock import Mock

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from preflow import grid_cut
from preflow.errors import InvalidInputError
from preflow.graph.integer_grid import integer_grid
from preflow.gridcut import warm as warm_module
from preflow.gridcut.problem import ORPHANS_PER_ARC
from preflow.gridcut.warm import WarmGrid
from preflow.solving.run import Control
from preflow.vision import (
    LabelSegmentation,
    Painting,
    Preview,
    Segmentation,
    grabcut,
    segment,
    segment_labels,
)
from preflow.vision.painting import Snapshot, Solved
from tests.invariants.incremental_search import check_invariants

H, W = 20, 24


def picture(seed: int, shape: tuple[int, ...] = (H, W), channels: int = 3) -> Any:
    """Return a noisy image with a bright square or cube."""
    random = np.random.default_rng(seed)
    image = random.integers(0, 120, (*shape, channels) if channels > 1 else shape)
    image[tuple(slice(length // 4, 3 * length // 4) for length in shape)] += 100
    return image


def started(image: Any, **options: Any) -> Painting:
    """Return a painting with a stroke of each kind."""
    painting = Painting(image, **options)
    last = tuple(length - 1 for length in painting.shape[::-1])
    middle = tuple(length // 2 for length in painting.shape[::-1])
    painting.stroke([middle], 1, brush=3)
    painting.stroke([(0,) * len(last), (last[0], *(0 for _ in last[1:]))], 2, brush=2)
    return painting


def check_preview(painting: Painting, preview: Preview | None) -> None:
    """Prove a preview, and compare it with a cold cut of the same network."""
    assert preview is not None
    proved = painting.prove()
    cold = grid_cut(proved.cut.network)
    assert (proved.mask == preview.mask).all()
    assert (cold.labels == preview.mask).all()
    assert preview.energy == pytest.approx(proved.energy)
    assert cold.value == proved.cut.value
    assert preview.mask[painting.labels == 1].all()
    assert not preview.mask[painting.labels == 2].any()
    warm = painting._warm
    if warm is not None and warm._forests is not None:
        check_invariants(warm._state, warm._forests, int(warm._first), int(warm._last))


actions = st.lists(
    st.tuples(
        st.sampled_from(["stroke", "stroke", "stroke", "undo", "redo", "solve", "clear"]),
        st.integers(0, 2),
        st.lists(st.tuples(st.integers(0, W - 1), st.integers(0, H - 1)), min_size=1, max_size=3),
        st.sampled_from([1.0, 3.0, 8.0]),
    ),
    min_size=3,
    max_size=12,
)


@settings(max_examples=25, deadline=None)
@given(actions=actions, smoothness=st.sampled_from([0.5, 5.0, 50.0, 1e6]), seed=st.integers(0, 5))
def test_previews_are_least_and_answers_are_those_of_segment(
    actions: list[tuple[str, int, Any, float]], smoothness: float, seed: int
) -> None:
    image = picture(seed)
    painting = started(image, smoothness=smoothness, threads=1)
    for name, label, points, brush in actions:
        if name == "stroke":
            painting.stroke(points, label, brush=brush)
        elif name in ("undo", "redo"):
            getattr(painting, name)()
        elif name == "clear":
            painting.clear()
        if not painting.ready:
            with pytest.raises(InvalidInputError):
                painting.preview()
            continue
        if name == "solve":
            found = painting.solve()
            same = segment(
                image, painting.labels == 1, painting.labels == 2, smoothness=smoothness, threads=1
            )
            assert (found.mask == same.mask).all()
            assert found.cut.value == same.cut.value
            found.cut.verify()
        preview = painting.preview()
        check_preview(painting, preview)
        assert preview is not None
        assert preview.learned or name != "solve"


@pytest.mark.parametrize("model", ["histogram", "mixture"])
@pytest.mark.parametrize(("shape", "channels"), [((5, 8, 9), 1), ((H, W), 1), ((4, 6, 7), 3)])
def test_volumes_grey_images_and_both_models(shape: tuple[int, ...], channels: int, model: Any) -> None:
    image = picture(1, shape, channels)
    painting = started(image, model=model, components=2, smoothness=5.0)
    painting.solve()
    painting.stroke([(3,) * len(shape)], 2, brush=2)
    check_preview(painting, painting.preview())
    found = painting.solve()
    same = segment(
        image, painting.labels == 1, painting.labels == 2, model=model, components=2, smoothness=5.0
    )
    assert (found.mask == same.mask).all()


def test_a_stroke_on_a_slice_changes_this_slice_only() -> None:
    painting = Painting(np.zeros((5, 6, 7)))
    painting.stroke_on_slice(1, 2, [(0, 0), (6, 4)], 1, brush=2)
    where = np.argwhere(painting.labels)
    assert set(where[:, 1]) == {2}
    assert painting.labels[4, 2, 6] == 1
    for axis, index in ((3, 0), (0, 5), (-1, 0)):
        with pytest.raises(InvalidInputError):
            painting.stroke_on_slice(axis, index, [(0, 0)], 1)


def test_can_preview_once_the_colours_are_learned() -> None:
    painting = started(picture(0))
    assert not painting.can_preview
    painting.solve()
    assert painting.can_preview
    painting.stroke([(12, 10)], 0, brush=9)
    assert not painting.can_preview  # no seed of the object is left
    painting.undo()
    painting.set_box((2, 2), (20, 15))
    assert not painting.can_preview
    painting.solve()
    painting.stroke([(5, 5)], 2, brush=2)
    assert painting.can_preview
    painting.preview()
    painting.undo()
    assert not painting.can_preview  # a box leaves no colours for the erased seed
    assert painting.preview() is not None


def test_undo_and_redo_restore_seeds_and_box() -> None:
    painting = started(picture(0))
    states = [(painting.labels.copy(), painting.box_mask)]
    for change in (
        lambda: painting.stroke([(5, 5), (9, 9)], 2),
        lambda: painting.set_box((2, 2), (15, 15)),
        lambda: painting.paint(np.eye(H, W, dtype=bool), 1),
        lambda: painting.set_labels(np.tri(H, W, dtype=int)),
        lambda: painting.set_box(None),
        painting.clear,
    ):
        change()
        states.append((painting.labels.copy(), painting.box_mask))
    for labels, inside in states[-2::-1]:
        assert painting.undo()
        assert (painting.labels == labels).all()
        assert painting.box_mask is inside
    for labels, inside in states[1:]:
        assert painting.redo()
        assert (painting.labels == labels).all()
        assert painting.box_mask is inside
    assert not painting.redo()
    assert painting.undo()
    painting.stroke([(1, 1)], 1)
    assert not painting.can_redo
    assert painting.can_undo


class Interrupting(np.ndarray):
    """Seeds whose next change is made, and then Ctrl-C comes; or it comes first."""

    first = False

    def __setitem__(self, where: Any, values: Any) -> None:
        if not self.first:
            super().__setitem__(where, values)
        raise KeyboardInterrupt


@pytest.mark.parametrize("first", [False, True])
@pytest.mark.parametrize("change", ["set_labels", "undo", "redo"])
def test_a_change_that_is_interrupted_can_be_taken_back(
    change: str, first: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Interrupting, "first", first)
    painting = started(picture(0))
    seeds = [painting.labels.copy()]
    for points in ([(5, 5)], [(5, 5), (9, 9)]):
        painting.stroke(points, 1 + len(points) % 2, brush=4)
        seeds.append(painting.labels.copy())
    if change != "undo":
        painting.undo()
    painting._labels = painting._labels.view(Interrupting)
    arguments = (seeds[2],) if change == "set_labels" else ()
    with pytest.raises(KeyboardInterrupt):
        getattr(painting, change)(*arguments)
    painting._labels = painting._labels.view(np.ndarray)
    assert painting.undo()
    assert (painting.labels == seeds[1]).all()
    assert painting.redo()
    assert (painting.labels == seeds[2]).all()
    assert not painting.redo()
    painting.undo()
    painting.undo()
    assert (painting.labels == seeds[0]).all()


def test_a_change_of_nothing_is_no_step() -> None:
    painting = Painting(np.zeros((H, W)))
    painting.paint(np.zeros((H, W), dtype=bool), 1)
    painting.stroke([(3, 3)], 0)
    painting.set_labels(np.zeros((H, W), dtype=int))
    assert not painting.can_undo


def test_old_steps_are_dropped_at_the_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("preflow.vision.painting.MOST_STEPS", 3)
    painting = Painting(np.zeros((H, W)))
    for x in range(6):
        painting.stroke([(x, 3)], 1, brush=1)
    assert [painting.undo() for _ in range(4)] == [True, True, True, False]
    assert painting.labels.sum() == 3


def test_boxes_count_as_memory_that_steps_take(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("preflow.vision.painting.MOST_BYTES", 3 * H * W)
    painting = Painting(np.zeros((H, W)))
    for x in range(6):
        painting.set_box((0, 0), (x, 3))
    assert [painting.undo() for _ in range(4)] == [True, True, True, False]


def test_with_a_box_the_answer_is_that_of_grabcut() -> None:
    image = picture(3)
    painting = Painting(image, smoothness=5.0)
    painting.set_box((3, 2), (20, 17))
    inside = np.zeros((H, W), dtype=bool)
    inside[2:18, 3:21] = True
    found, same = painting.solve(), grabcut(image, inside, smoothness=5.0)
    assert (found.mask == same.mask).all()
    preview = painting.preview()
    assert preview is not None
    assert (preview.mask == same.mask).all()
    painting.stroke([(6, 4)], 2, brush=2)
    painting.stroke([(22, 18)], 1, brush=2)  # outside of the box: the box grows
    check_preview(painting, painting.preview())
    found = painting.solve()
    same = grabcut(
        image,
        inside | (painting.labels == 1),
        foreground=painting.labels == 1,
        background=painting.labels == 2,
        smoothness=5.0,
        warm_start=same,
    )
    assert (found.mask == same.mask).all()
    painting.undo()  # nobody knows the colours of this pixel without the seed: colours are learned
    check_preview(painting, painting.preview())


@pytest.mark.parametrize("boxed", [False, True])
def test_the_image_may_change_afterwards(boxed: bool) -> None:
    image = picture(4).astype(float)
    painting, other = started(image), started(image.copy())
    image[...] = 7
    for each in (painting, other):
        each.smoothness = 5.0
        if boxed:
            each.set_box((2, 2), (20, 17))
            each.set_labels(np.zeros((H, W), dtype=int))
    assert (painting.solve().mask == other.solve().mask).all()


@pytest.mark.parametrize("trip", [copy.copy, copy.deepcopy, lambda thing: pickle.loads(pickle.dumps(thing))])
def test_copies_are_painted_apart(trip: Callable[[Painting], Painting]) -> None:
    painting = started(picture(4))
    painting.solve()
    before = painting.preview()
    assert before is not None
    other = trip(painting)
    other.stroke([(4, 4), (20, 4)], 1, brush=3)
    check_preview(other, other.preview())
    assert not (other.labels == painting.labels).all()
    again = painting.preview()
    check_preview(painting, again)
    assert again is not None
    assert (again.mask == before.mask).all()
    assert other.undo()
    assert painting.undo()
    assert painting.undo()
    assert not painting.labels.any()
    assert other.labels.any()


def test_another_smoothness_is_solved_anew() -> None:
    image = picture(4)
    painting = started(image, smoothness=50.0)
    painting.solve()
    snapshot = painting.snapshot()
    painting.smoothness = 2.0
    assert not painting.learned
    assert not painting.adopt(snapshot.solve())
    preview = painting.preview()
    assert preview is not None
    assert preview.learned
    same = segment(image, painting.labels == 1, painting.labels == 2, smoothness=2.0)
    assert (preview.mask == same.mask).all()


def prepared(snapshot: Snapshot) -> Solved:
    """Return the answer for a snapshot, ready for previews."""
    solved = snapshot.solve_unless(lambda: False)
    assert solved is not None
    return solved


def test_a_snapshot_is_solved_while_painting_goes_on() -> None:
    image = picture(5)
    painting = started(image)
    painting.solve()
    painting.stroke([(4, 10)], 2, brush=3)
    snapshot = painting.snapshot()
    painting.stroke([(18, 12)], 1, brush=3)
    check_preview(painting, painting.preview())
    assert not painting.adopt(prepared(snapshot))
    check_preview(painting, painting.preview())
    assert not painting.learned
    assert painting.adopt(prepared(painting.snapshot()))
    check_preview(painting, painting.preview())
    assert painting.snapshot().solve_unless(lambda: True) is None


@pytest.mark.parametrize("smoothness", [5.0, 1e6])
def test_push_relabel_continues_beyond_the_work_limit(
    smoothness: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    painting = started(picture(6), smoothness=smoothness)
    painting.solve()
    painting.preview()
    monkeypatch.setattr("preflow.gridcut.warm.ORPHANS_PER_ARC", 1e-9)
    painting.stroke([(2, 12), (20, 12)], 1)
    check_preview(painting, painting.preview())
    assert painting._stats is not None
    assert "push-relabel went on" in painting._stats.reason
    monkeypatch.undo()
    painting.stroke([(2, 4), (20, 4)], 2)
    check_preview(painting, painting.preview())
    assert ORPHANS_PER_ARC > 1


def test_a_stopped_preview_is_completed_by_the_next() -> None:
    painting = started(picture(7))
    painting.solve()
    painting.stroke([(4, 12), (20, 12)], 1)
    control = Control()
    control.stop[0] = 1
    assert painting.preview(control=control) is None
    proved = painting.prove()
    assert (proved.foreground == (painting.labels == 1)).all()
    assert (proved.mask == grid_cut(proved.cut.network).labels).all()
    painting.stroke([(4, 16), (20, 16)], 1)
    assert painting.preview(control=control) is None
    check_preview(painting, painting.preview())


def test_an_interrupted_preview_is_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    painting = started(picture(7))
    painting.solve()
    painting.preview()
    solve = WarmGrid.solve

    def interrupted(*arguments: Any, **named: Any) -> None:
        solve(*arguments, **named)
        raise KeyboardInterrupt

    painting.stroke([(12, 12), (13, 12)], 2, brush=2)
    with monkeypatch.context() as patch:
        patch.setattr(WarmGrid, "solve", interrupted)
        with pytest.raises(KeyboardInterrupt):
            painting.preview()
    painting.undo()
    preview = painting.preview()
    check_preview(painting, preview)
    assert preview is not None
    assert preview.learned
    assert (preview.mask == painting.solve().mask).all()


def interrupt_seeds(patch: pytest.MonkeyPatch) -> None:
    def interrupted(*arguments: Any) -> None:
        raise KeyboardInterrupt

    patch.setattr("preflow.vision.painting._seed_labels", interrupted)


def test_an_interrupted_solve_leaves_no_mixture_of_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    painting = started(picture(7))
    painting.solve()
    painting.preview()
    painting.stroke([(4, 4), (20, 4)], 1, brush=3)
    with monkeypatch.context() as patch:
        interrupt_seeds(patch)
        with pytest.raises(KeyboardInterrupt):
            painting.solve()
    preview = painting.preview()
    check_preview(painting, preview)
    assert preview is not None
    assert not preview.learned
    result = painting.solve()
    preview = painting.preview()
    assert preview is not None
    assert preview.learned
    assert preview.energy == pytest.approx(result.energy)


def test_a_preview_is_interrupted_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    """The second time before the seeds are known that its network has."""
    painting = started(picture(7))
    painting.solve()
    painting.stroke([(4, 4), (20, 4)], 1, brush=3)
    painting.preview()
    with monkeypatch.context() as patch:
        patch.setattr(WarmGrid, "solve", Mock(side_effect=KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            painting.preview()
    with monkeypatch.context() as patch:
        interrupt_seeds(patch)
        with pytest.raises(KeyboardInterrupt):
            painting.preview()
    check_preview(painting, painting.preview())


def test_a_draft_has_the_stroke_and_the_last_mask(monkeypatch: pytest.MonkeyPatch) -> None:
    painting = started(picture(7))
    before = painting.solve().mask
    drafts: list[np.ndarray] = []

    def slowly(work: Any, control: Control, *, progress: Any, interval: float) -> Any:
        """Report before the work, as a solver that takes long does, and twice after it."""
        progress(None)
        found = work()
        progress(None)
        return found

    monkeypatch.setattr(warm_module, "run_interruptibly", slowly)
    painting.stroke([(4, 12), (20, 12)], 1)
    preview = painting.preview(draft=drafts.append)
    check_preview(painting, preview)
    assert len(drafts) == 1
    assert (drafts[0] == before).all()
    assert preview is not None
    assert painting._warm is not None
    assert (painting._warm.draft() == preview.mask)[painting.labels > 0].all()


def test_from_a_cut_that_stopped_early() -> None:
    random = np.random.default_rng(0)
    shape = (150, 150)
    source, sink = random.integers(0, 1000, (2, *shape))
    stopped = grid_cut(source, sink, random.integers(0, 1000, (2, *shape)), time_limit=1e-9, threads=1)
    warm = WarmGrid(stopped)
    warm.prepare()
    cold = grid_cut(stopped.network)
    assert (warm.labels == cold.labels).all()
    with pytest.raises(InvalidInputError, match="above"):
        warm.solve(np.array([3]), np.array([warm.largest + 1]))
    assert integer_grid(stopped.network).size == warm.labels.size


def test_an_erased_seed_may_have_the_likeliest_colour() -> None:
    """The capacity of a pixel without its seed is then larger than that of any seed."""
    image = picture(2)
    image[2, 2] = 255
    painting = started(image, smoothness=0.0)
    painting.stroke([(2, 2)], 1, brush=1)
    painting.solve()
    painting.stroke([(2, 2)], 0, brush=1)
    check_preview(painting, painting.preview())


def test_floats_cannot_be_solved_again() -> None:
    with pytest.raises(InvalidInputError, match="integer"):
        WarmGrid(grid_cut(np.array([[0.5, 0.0]]), np.array([[0.0, 0.3]]), 0.1))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda p: p.stroke([(1, 1)], 9), "label is 1"),
        (lambda p: p.stroke([(1, 1)], True), "label"),
        (lambda p: p.stroke([(W, 1)], 1), "outside"),
        (lambda p: p.stroke([(1, 1)], 1, brush=0.5), "brush"),
        (lambda p: p.paint(np.zeros((3, 3), dtype=bool), 1), "mask"),
        (lambda p: p.set_labels(np.full((H, W), 9)), "labels"),
        (lambda p: p.set_labels(np.zeros((H, W))), "labels"),
        (lambda p: p.set_box((0, 0), (W - 1, H - 1)), "whole"),
        (lambda p: p.set_box((0, 0), (W, 1)), "outside"),
        (lambda p: p.solve(), "seeds"),
        (lambda p: p.preview(), "seeds"),
        (lambda p: setattr(p, "smoothness", -1), "smoothness"),
        (lambda p: p.slice_index(0, 1), "no slices"),
    ],
)
def test_bad_input_is_refused_and_changes_nothing(call: Any, message: str) -> None:
    painting = Painting(picture(0))
    with pytest.raises(InvalidInputError, match=message):
        call(painting)
    assert not painting.can_undo
    assert painting.smoothness == 50.0


@pytest.mark.parametrize(
    ("image", "options"),
    [
        (np.zeros(5), {}),
        (np.zeros((0, 5)), {}),
        (np.zeros((5, 5, 5, 5)), {}),
        (np.full((5, 5), np.nan), {}),
        (np.zeros((5, 5)), {"model": "guess"}),
        (np.zeros((5, 5)), {"prior": 1.0}),
        (np.zeros((5, 5)), {"model": "mixture", "components": 0}),
        (np.zeros((5, 5)), {"smoothness": np.inf}),
    ],
)
def test_bad_images_and_options_are_refused_at_once(image: Any, options: Any) -> None:
    with pytest.raises(InvalidInputError):
        Painting(image, **options)


def test_a_stroke_on_a_megapixel_is_solved_faster_than_anew() -> None:
    """A stroke that changes little: the preview must not depend on the size of the image."""
    image = picture(0, (700, 700))
    painting = started(image)
    painting.adopt(prepared(painting.snapshot()))
    painting.stroke([(340, 340), (360, 360)], 1, brush=5)
    preview = painting.preview()
    assert preview is not None
    seconds = preview.seconds
    start = time.perf_counter()
    segment(image, painting.labels == 1, painting.labels == 2, threads=1)
    assert seconds < (time.perf_counter() - start) / 3


def test_the_box_cannot_be_written_to() -> None:
    painting = Painting(np.eye(8))
    assert painting.box_mask is None
    painting.set_box((1, 1), (5, 5))
    for each in (painting, copy.deepcopy(painting)):
        with pytest.raises(ValueError, match="read-only"):
            each.box_mask[0, 0] = True
        assert each.box_mask.sum() == 25


@pytest.mark.parametrize("boxed", [False, True])
def test_seeds_of_more_labels_are_answered_as_by_segment_labels(boxed: bool) -> None:
    image = picture(1)
    painting = Painting(image, smoothness=5.0)
    painting.stroke([(12, 10)], 1, brush=4)
    painting.stroke([(1, 1)], 2, brush=2)
    before = painting.solve()
    painting.stroke([(W - 3, H - 3)], 3, brush=3)
    if boxed:
        painting.set_box((2, 2), (W - 1, H - 1))
    markers = painting.labels.astype(int)
    if painting.box_mask is not None:
        markers[~painting.box_mask & (markers == 0)] = 2
    same = segment_labels(image, markers, smoothness=5.0)
    assert painting.many
    assert not painting.can_preview
    found = painting.solve()
    assert isinstance(found, LabelSegmentation)
    assert (found.labels == same.labels).all()
    assert painting.learned
    preview = painting.preview()
    assert preview is not None
    assert preview.learned
    assert (preview.mask == same.labels).all()
    found.verify()
    assert "of other labels" in repr(painting)
    while painting.many:
        painting.undo()
    again = painting.solve()
    assert isinstance(again, Segmentation)
    assert isinstance(before, Segmentation)
    assert (again.mask == before.mask).all()


def test_one_label_above_two_is_refused() -> None:
    painting = Painting(picture(0))
    painting.stroke([(3, 3)], 4)
    assert not painting.ready
    with pytest.raises(InvalidInputError, match="one label only"):
        painting.solve()
