"""A session of pages: what pages see is the cut of the seeds, whatever they do in whatever order."""

from __future__ import annotations

import gzip
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from preflow.errors import InvalidInputError, VerificationError
from preflow.graph.grid import GridNetwork
from preflow.gridcut.result import GridCutResult
from preflow.progress import ProgressReport
from preflow.vision import (
    LabelSegmentation,
    Painting,
    Volume,
    grabcut,
    labels_picture,
    read_volume,
    segment,
    segment_labels,
)
from preflow.vision import painting as painting_module
from preflow.vision.painter import session as session_module
from preflow.vision.painter.session import Session, View
from preflow.vision.painting import Snapshot
from tests.vision.painter.pages import STROKES, H, W, painted, picture, settled, unpack, until


def test_the_mask_is_that_of_segment_and_proved() -> None:
    with painted(smoothness=5.0) as session:
        view = settled(session)
        seeds = view.labels == 1, view.labels == 2
        same = segment(picture(), *seeds, smoothness=5.0)
        reply, content = session.answer({})
        layers = unpack(reply, content)
        assert (layers["mask"].reshape(H, W) == same.mask).all()
        assert (layers["object"].reshape(H, W) == seeds[0]).all()
        assert (layers["background"].reshape(H, W) == seeds[1]).all()
        assert (layers["picture"].reshape(H, W) == picture()).all()
        assert reply["answer"]["energy"] == pytest.approx(same.energy)
        assert reply["answer"]["size"] == same.mask.sum()
        assert reply["answer"]["proved"]


def test_a_preview_comes_before_the_exact_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(session_module, "PAUSE", 3600.0)
    with painted(smoothness=5.0) as session:
        settled(session)
        last = session.view.numbers.mask
        session.answer({"do": "stroke", "points": [[45, 20]], "label": 1, "brush": 2})
        until(lambda: session.view.numbers.mask > last)
        view = session.view
        assert view.answer is not None
        assert not view.answer.exact
        assert not view.answer.proved
        assert view.busy == "solve"
        assert view.mask is not None
        assert view.mask[20, 45]
        session.painting.prove()


def test_a_long_preview_shows_a_draft_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(session_module, "PAUSE", 3600.0)
    shown: list[tuple[str, bool]] = []
    preview = Painting.preview

    def slowly(painting: Painting, *, control: Any, draft: Any) -> Any:
        draft(painting.labels == 1)
        return preview(painting, control=control)

    with painted(smoothness=5.0) as session:
        settled(session)
        monkeypatch.setattr(Painting, "preview", slowly)
        last = session.view.numbers.mask

        def listen() -> None:
            view = session.view
            if view.numbers.mask > last:
                assert view.mask is not None
                assert view.answer is not None
                assert view.answer.size == np.count_nonzero(view.mask)
                assert not view.answer.exact
                shown.append((view.busy, bool((view.mask == (view.labels == 1)).all())))

        session.subscribe(listen)
        session.answer({"do": "stroke", "points": [[45, 20]], "label": 1, "brush": 2})
        until(lambda: session.view.numbers.mask > last + 1)
        assert shown[0] == ("draft", True)
        assert shown[-1] == ("solve", False)


class LongCut:
    """Minimum cuts that end only when they are stopped, from `start` on."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.running, self.stopped, self.slow = 0, 0, False
        self._cut = painting_module.grid_cut
        monkeypatch.setattr(painting_module, "grid_cut", self)

    def __call__(self, network: GridNetwork, *, progress: Any, **options: Any) -> GridCutResult:
        if not self.slow:
            return self._cut(network, progress=progress, **options)
        self.running += 1
        try:
            while True:
                progress(ProgressReport(0.0, 0.0, 0, 0))
                time.sleep(0.001)
        except Exception:
            self.stopped += 1
            raise
        finally:
            self.running -= 1


def test_a_stroke_stops_the_exact_solve(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(session_module, "PAUSE", 0.0)
    cut = LongCut(monkeypatch)
    with painted(smoothness=5.0) as session:
        settled(session)
        cut.slow = True
        session.answer({"do": "stroke", "points": [[45, 20]], "label": 1, "brush": 2})
        until(lambda: cut.running)
        session.answer({"do": "stroke", "points": [[45, 25]], "label": 1, "brush": 2})
        until(lambda: cut.stopped == 1 and cut.running)
        cut.slow = False
        session.answer({"do": "undo"})
        view = settled(session)
        assert cut.stopped == 2
        same = segment(picture(), view.labels == 1, view.labels == 2, smoothness=5.0)
        assert view.mask is not None
        assert (view.mask == same.mask).all()


def test_the_first_solve_ends_only_if_its_answer_is_of_no_use(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(session_module, "PAUSE", 0.0)
    cut = LongCut(monkeypatch)
    cut.slow = True
    with painted(smoothness=5.0) as session:
        until(lambda: cut.running)
        session.answer({"do": "stroke", "points": [[45, 20]], "label": 1, "brush": 2})
        time.sleep(0.05)
        assert (cut.running, cut.stopped) == (1, 0)
        session.answer({"do": "smoothness", "value": 4})
        until(lambda: cut.stopped == 1 and cut.running)
        session.answer({"do": "clear"})
        until(lambda: cut.stopped == 2)
        session.answer({"do": "undo"})
        until(lambda: cut.running)
        session.replace(Painting(picture()), name="other")
        until(lambda: cut.stopped == 3)
        for stroke in STROKES:
            session.answer(stroke)
        until(lambda: cut.running)
    until(lambda: cut.stopped == 4)


def test_a_page_gets_what_it_lacks_only() -> None:
    with painted() as session:
        settled(session)
        reply, _ = session.answer({})
        seen: dict[str, Any] = {name: reply[name] for name in ("picture", "seeds", "mask")}
        reply, content = session.answer({"seen": seen})
        assert (reply["layers"], content) == ([], b"")
        seen["mask"] = 0
        reply, content = session.answer({"seen": seen})
        assert reply["layers"] == [["mask", H * W // 8]]


def test_undo_redo_and_clear() -> None:
    with painted() as session:
        settled(session)
        both = session.view.labels
        session.answer({"do": "undo"})
        view = settled(session)
        assert not view.ready
        assert view.painted == (True, False)
        assert view.mask is None
        assert view.answer is None
        session.answer({"do": "redo"})
        assert (settled(session).labels == both).all()
        session.answer({"do": "clear"})
        view = settled(session)
        assert not view.labels.any()
        assert view.undo


def test_a_box_is_grabcut() -> None:
    with Session(Painting(picture())) as session:
        session.answer({"do": "box", "points": [[50, 35], [8, 5]]})
        view = settled(session)
        assert view.box == ([8, 5], [50, 35])
        same = grabcut(picture(), (5, 8, 36, 51))
        assert view.mask is not None
        assert (view.mask == same.mask).all()
        session.answer({"do": "box", "points": None})
        assert settled(session).box is None


def test_slices_of_a_volume() -> None:
    shape = (6, 20, 24)
    with Session(Painting(picture(shape), smoothness=5.0), name="scan.nii.gz") as session:
        session.answer({"do": "stroke", "axis": 1, "index": 10, "points": [[12, 3]], "label": 1, "brush": 3})
        session.answer({"do": "stroke", "axis": 2, "index": 0, "points": [[1, 1]], "label": 2, "brush": 2})
        view = settled(session)
        assert set(np.argwhere(view.labels == 1)[:, 1]) == {10}
        assert set(np.argwhere(view.labels == 2)[:, 2]) == {0}
        assert view.mask is not None
        for axis in range(3):
            reply, content = session.answer({"axis": axis, "index": 3})
            expected = view.mask.take(3, axis)
            assert (unpack(reply, content)["mask"][: expected.size] == expected.reshape(-1)).all()
        head, content = session.answer({"do": "download", "what": "mask"})
        assert head["name"] == "scan-mask.nii.gz"
        assert content[:2] == b"\x1f\x8b"
        with pytest.raises(InvalidInputError, match="no download"):
            session.answer({"do": "download", "what": "cutout"})


def test_a_mask_of_a_stack_is_a_stack(tmp_path: Path) -> None:
    pytest.importorskip("tifffile")
    volume = Volume(picture((6, 20, 24)), np.diag([1.0, 1.0, 3.0, 1.0]))
    with Session(Painting(volume), name="stack.tif") as session:
        session.set_labels((volume.values > volume.values.mean()).astype(int) + 1)
        assert settled(session).spacing == (3, 1, 1)
        head, content = session.answer({"do": "download", "what": "mask"})
    (tmp_path / "mask.tif").write_bytes(content)
    assert head["name"] == "stack-mask.tif"
    assert read_volume(tmp_path / "mask.tif").spacing == pytest.approx((3, 1, 1))


def test_slices_of_a_scan_are_upright_and_seeds_stay_where_they_are_painted() -> None:
    """The axes of the array go to the left, to the feet and to the back: rows and columns change places."""
    affine = np.array([[0, 0, -1, 0], [-1, 0, 0, 0], [0, -1, 0, 0], [0, 0, 0, 1.0]])
    values = picture((6, 20, 24))
    with Session(Painting(Volume(values, affine), smoothness=5.0)) as session:
        reply, content = session.answer({"axis": 0, "index": 2})
        assert [plane["letters"] for plane in reply["planes"]] == ["SAIP", "ARPL", "SRIL"]
        assert [plane["size"] for plane in reply["planes"]] == [(24, 20), (6, 24), (6, 20)]
        assert (unpack(reply, content)["picture"].reshape(20, 24) == values[2, :, ::-1]).all()
        stroke = {"do": "stroke", "axis": 1, "index": 10, "points": [[1, 3]], "label": 1, "brush": 1}
        reply, content = session.answer(stroke)
        assert np.argwhere(session.view.labels == 1).tolist() == [[4, 10, 3]]
        shown = unpack(reply, content)
        assert np.argwhere(shown["object"][: 24 * 6].reshape(24, 6)).tolist() == [[3, 1]]
        session.answer({"do": "box", "axis": 1, "index": 10, "points": [[1, 2], [4, 20]]})
        assert session.view.box == ([2, 0, 1], [20, 19, 4])
        reply, _ = session.answer({})
        assert np.sort(reply["planes"][1]["box"], axis=0).tolist() == [[1, 2], [4, 20]]
        assert reply["planes"][1]["within"] == [0, 19]
        assert reply["planes"][0]["within"] == [1, 4]
        mask = settled(session).mask
        head, packed = session.answer({"do": "download", "what": "mask"})
        assert head["name"] == "picture-mask.nii.gz"
        nibabel = pytest.importorskip("nibabel")
        image = nibabel.Nifti1Image.from_bytes(gzip.decompress(packed))
        assert np.array_equal(np.asarray(image.dataobj).T, mask)
        assert (image.affine == affine).all()


def test_an_answer_says_which_change_it_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(session_module, "PAUSE", 3600.0)
    with painted(smoothness=5.0) as session:
        first = settled(session)
        assert first.current
        monkeypatch.setattr(Painting, "preview", lambda *_, **__: time.sleep(0.05))
        reply, _ = session.answer({"do": "stroke", "points": [[45, 20]], "label": 1, "brush": 2})
        assert reply["answer"]["change"] == first.change < reply["change"]
        assert not reply["current"]
        monkeypatch.undo()
        assert settled(session).current


def test_an_exact_answer_counts_after_a_change_that_was_taken_back(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(session_module, "PAUSE", 0.0)
    solve, going, go = Snapshot.solve_unless, threading.Event(), threading.Event()
    solves = []

    def slowly(snapshot: Snapshot, unwanted: Any, draft: Any) -> Any:
        solves.append(snapshot)
        going.set()
        go.wait(30)
        return solve(snapshot, lambda: False)

    with painted(smoothness=5.0) as session:
        settled(session)
        monkeypatch.setattr(Snapshot, "solve_unless", slowly)
        session.answer({"do": "stroke", "points": [[45, 20]], "label": 1, "brush": 2})
        assert going.wait(30)
        session.answer({"do": "stroke", "points": [[45, 30]], "label": 1, "brush": 2})
        session.answer({"do": "undo"})
        go.set()
        view = settled(session)
        assert view.current
        assert len(solves) == 1
        same = segment(picture(), view.labels == 1, view.labels == 2, smoothness=5.0)
        assert view.mask is not None
        assert (view.mask == same.mask).all()


def test_boxes_on_two_slices_make_a_cuboid() -> None:
    with Session(Painting(picture((8, 20, 24)))) as session:
        session.answer({"do": "box", "axis": 0, "index": 4, "points": [[4, 3], [20, 16]]})
        assert session.view.box == ([4, 3, 0], [20, 16, 7])
        session.answer({"do": "box", "axis": 1, "index": 4, "points": [[5, 1], [19, 6]]})
        assert session.view.box == ([5, 3, 1], [19, 16, 6])
        assert settled(session).mask is not None


@pytest.mark.parametrize(
    ("request_", "message"),
    [
        ({"do": "fly"}, "no action"),
        ({"do": 3}, "do must be text"),
        ({"do": "stroke", "points": [], "label": 1, "brush": 3}, "points"),
        ({"do": "stroke", "points": "x", "label": 1, "brush": 3}, "points"),
        ({"do": "stroke", "points": [[1]], "label": 1, "brush": 3}, "2 numbers"),
        ({"do": "stroke", "points": [[1, "2"]], "label": 1, "brush": 3}, "must be a number"),
        ({"do": "stroke", "points": [[1, float("nan")]], "label": 1, "brush": 3}, "outside"),
        ({"do": "stroke", "points": [[1, 1e300]], "label": 1, "brush": 3}, "outside"),
        ({"do": "stroke", "points": [[1, 2]], "label": 9, "brush": 3}, "label"),
        ({"do": "stroke", "points": [[1, 2]], "label": True, "brush": 3}, "label"),
        ({"do": "stroke", "points": [[1, 2]], "label": 1, "brush": 0}, "brush"),
        ({"do": "stroke", "points": [[1, 2]], "label": 1, "brush": float("inf")}, "brush"),
        ({"do": "stroke", "points": [[1, 2]], "label": 1}, "brush must be a number"),
        ({"do": "stroke", "points": [[1, 2]], "label": 1, "brush": 1, "picture": 9}, "another picture"),
        ({"do": "box", "points": [[0, 0]]}, "2 to"),
        ({"do": "box", "points": [[0, 0], [W - 1, H - 1]]}, "whole image"),
        ({"do": "smoothness", "value": -1}, "smoothness"),
        ({"do": "smoothness", "value": 1e9}, "at most"),
        ({"do": "download", "what": "mask"}, "no mask yet"),
    ],
)
def test_bad_requests_change_nothing(request_: Any, message: str) -> None:
    with Session(Painting(picture())) as session:
        settled(session)
        before = session.view
        with pytest.raises(InvalidInputError, match=message):
            session.answer(request_)
        assert session.view is before


def test_bad_slices() -> None:
    with Session(Painting(picture((4, 5, 6)))) as session:
        for where in ({"axis": 3}, {"index": 4}, {"index": -1}, {"axis": 1, "index": "x"}, {"axis": [0]}):
            with pytest.raises(InvalidInputError, match=r"no slice|must be"):
                session.answer(where)
        with pytest.raises(InvalidInputError):
            session.answer({"do": "box", "axis": 5, "points": [[0, 0], [3, 3]]})


def test_smoothness() -> None:
    with painted(smoothness=5.0) as session:
        first = settled(session)
        session.answer({"do": "smoothness", "value": 0.5})
        view = settled(session)
        same = segment(picture(), view.labels == 1, view.labels == 2, smoothness=0.5)
        assert view.mask is not None
        assert (view.mask == same.mask).all()
        assert view.smoothness == 0.5
        assert view.numbers.seeds > first.numbers.seeds


def test_previews_go_on_after_an_interrupted_change(monkeypatch: pytest.MonkeyPatch) -> None:
    """A notebook's kernel makes changes in its main thread, where Ctrl-C ends the wait for a preview."""

    def interrupted() -> bool:
        raise KeyboardInterrupt

    change = {"do": "stroke", "points": [[45, 20]], "label": 1, "brush": 2}
    with painted(smoothness=5.0) as session:
        settled(session)
        with monkeypatch.context() as patch:
            patch.setattr(session._lock, "acquire", interrupted)
            with pytest.raises(KeyboardInterrupt):
                session.answer(change)
        session.answer(change)
        view = settled(session)
        assert view.mask is not None
        assert view.mask[20, 45]


def test_many_pages_at_once_end_with_the_cut_of_the_seeds() -> None:
    with painted(smoothness=5.0) as session:

        def paint(number: int) -> None:
            random = np.random.default_rng(number)
            for _ in range(12):
                x, y = random.integers(0, (W, H)).tolist()
                inside = W // 4 <= x < 3 * W // 4 and H // 4 <= y < 3 * H // 4
                label = 1 if inside else 2
                session.answer({"do": "stroke", "points": [[x, y]], "label": label, "brush": 2})
                session.answer({"do": str(random.choice(["undo", "redo"]))})

        pages = [threading.Thread(target=paint, args=(number,)) for number in range(4)]
        for page in pages:
            page.start()
        for page in pages:
            page.join()
        view = settled(session)
        same = segment(picture(), view.labels == 1, view.labels == 2, smoothness=5.0)
        assert view.mask is not None
        assert (view.mask == same.mask).all()
        assert (view.labels == session.painting.labels).all()


def test_another_picture_replaces_the_first() -> None:
    with painted() as session:
        settled(session)
        old = session.view.numbers
        session.replace(Painting(picture()[:20, :30]), name="small.png")
        view = settled(session)
        assert view.labels.shape == (20, 30)
        assert not view.labels.any()
        assert view.mask is None
        assert view.numbers.picture == old.picture + 1
        assert view.numbers.revision > old.revision


def test_listeners_hear_of_changes_and_of_the_end() -> None:
    session = Session(Painting(picture()))
    settled(session)
    heard = threading.Event()
    leave = session.subscribe(heard.set)
    session.answer(STROKES[0])
    assert heard.is_set()
    settled(session)
    heard.clear()
    session.close()
    assert heard.is_set()
    assert session.view.closed
    leave()
    session.close()
    with pytest.raises(InvalidInputError, match="closed"):
        session.answer(STROKES[1])
    for thread in session._threads:
        thread.join(10)
        assert not thread.is_alive()


def test_a_failure_of_a_thread_is_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(cut: GridCutResult) -> None:
        raise VerificationError("the proof is wrong")

    monkeypatch.setattr(GridCutResult, "verify", refuse)
    with painted() as session:
        until(lambda: session.view.problem)
        assert session.view.problem == "the proof is wrong"
        assert session.view.answer is not None
        assert not session.view.answer.proved
        monkeypatch.undo()
        session.answer({"do": "stroke", "points": [[45, 20]], "label": 2, "brush": 2})
        view = settled(session)
        assert view.problem == ""
        assert view.answer is not None
        assert view.answer.proved


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
@pytest.mark.parametrize("name", ["snapshot", "preview"])
def test_a_bug_in_a_thread_closes_the_session(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with painted() as session:
        settled(session)

        def fail(*arguments: Any, **options: Any) -> None:
            raise RuntimeError("a bug")

        monkeypatch.setattr(Painting, name, fail)
        session.answer({"do": "stroke", "points": [[45, 20]], "label": 2, "brush": 2})
        until(lambda: session.view.closed)
        assert session.view.problem.startswith("RuntimeError: a bug. Please report")


@pytest.mark.parametrize("channels", [1, 2, 3])
def test_colours(channels: int) -> None:
    image = np.repeat(picture()[..., np.newaxis], channels, axis=-1) / 7.0
    with Session(Painting(image)) as session:
        reply, content = session.answer({})
        shown = 1 if channels == 1 else 3
        assert reply["channels"] == shown
        assert len(unpack(reply, content)["picture"]) == shown * H * W


THIRD = {"do": "stroke", "points": [[57, 8], [57, 30]], "label": 3, "brush": 3}


def solved(session: Session) -> View:
    """Wait until the answer is that of the seeds as of now, and nothing is left to do."""
    until(lambda: not session.view.busy and session.view.current)
    return session.view


def test_seeds_of_a_third_label_give_the_answer_of_segment_labels() -> None:
    with painted(smoothness=5.0) as session:
        cut = settled(session).mask
        assert cut is not None
        session.answer(THIRD)
        view = solved(session)
        same = segment_labels(picture(), view.labels, smoothness=5.0)
        reply, content = session.answer({})
        layers = unpack(reply, content)
        assert (layers["regions"].reshape(H, W) == same.labels).all()
        assert (layers["seeds"].reshape(H, W) == view.labels).all()
        assert not {"mask", "object", "background"} & set(layers)
        assert reply["answer"]["energy"] == pytest.approx(same.energy)
        assert reply["answer"]["sizes"] == np.bincount(same.labels.ravel())[1:].tolist()
        assert reply["answer"]["converged"]
        assert not reply["answer"]["proved"]
        assert reply["painted"] == (True, True, True)
        assert isinstance(session.painting.prove(), LabelSegmentation)
        session.answer({"do": "undo"})
        again = settled(session).mask
        assert again is not None
        assert again.dtype == np.bool_
        assert (again == cut).all()
        session.answer({"do": "redo"})
        redone = solved(session).mask
        assert redone is not None
        assert (redone == same.labels).all()


def test_a_stroke_stops_the_solve_of_many_labels(monkeypatch: pytest.MonkeyPatch) -> None:
    begun, stopped = threading.Event(), threading.Event()
    search = painting_module.segment_labels

    def slowly(*args: Any, progress: Any, **options: Any) -> Any:
        if begun.is_set():
            return search(*args, progress=progress, **options)
        begun.set()
        try:
            while True:
                progress(ProgressReport(0.0, 0.0, 0, 0))
                time.sleep(0.01)
        finally:
            stopped.set()

    with painted(smoothness=5.0) as session:
        settled(session)
        monkeypatch.setattr(painting_module, "segment_labels", slowly)
        session.answer(THIRD)
        assert begun.wait(30)
        last = session.view
        assert not last.current
        session.answer({**THIRD, "points": [[5, 35]], "label": 4})
        assert stopped.wait(30)
        view = solved(session)
        assert view.answer is not None
        assert view.answer.sizes is not None
        assert len(view.answer.sizes) == 4
        assert view.answer.change == last.change + 1


def test_one_label_above_two_waits_for_another() -> None:
    with Session(Painting(picture())) as session:
        session.answer(THIRD)
        assert not session.view.ready
        session.answer({**THIRD, "points": [[25, 20]], "label": 5})
        view = solved(session)
        assert view.mask is not None
        assert set(np.unique(view.mask)) == {3, 5}


def test_labels_are_downloaded_as_numbers_and_in_colours(tmp_path: Path) -> None:
    imageio = pytest.importorskip("imageio.v3")
    with painted(smoothness=5.0) as session:
        session.answer(THIRD)
        view = solved(session)
        assert view.mask is not None
        head, content = session.answer({"do": "download", "what": "mask"})
        assert head["name"] == "block-labels.png"
        assert (imageio.imread(content) == view.mask).all()
        head, content = session.answer({"do": "download", "what": "cutout"})
        assert head["name"] == "block-regions.png"
        assert (imageio.imread(content) == labels_picture(view.mask, picture())).all()
    pytest.importorskip("nibabel")
    with Session(Painting(picture((8, 10, 12)), spacing=(2.0, 1.0, 1.0)), name="scan.nii.gz") as session:
        for label, point in enumerate(([6, 5], [0, 0], [11, 9]), 1):
            session.answer({"do": "stroke", "points": [point], "label": label, "brush": 2, "index": 4})
        view = solved(session)
        same = segment_labels(
            picture((8, 10, 12)),
            view.labels,
            smoothness=session.painting.smoothness,
            spacing=(2.0, 1.0, 1.0),
        )
        head, content = session.answer({"do": "download", "what": "mask"})
        assert head["name"] == "scan-labels.nii.gz"
        path = tmp_path / "labels.nii.gz"
        path.write_bytes(content)
        assert np.array_equal(np.asarray(read_volume(path)), same.labels)


def test_many_labels_of_a_large_picture_have_a_draft_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(painting_module, "DRAFT_PIXELS", H * W // 5)
    drafts: list[View] = []
    with painted(smoothness=5.0) as session:
        settled(session)
        session.subscribe(lambda: drafts.append(session.view) if session.view.busy == "draft" else None)
        session.answer(THIRD)
        view = solved(session)
        same = segment_labels(picture(), view.labels, smoothness=5.0)
        assert np.array_equal(view.mask, same.labels)  # type: ignore[arg-type]
        (draft,) = drafts
        assert draft.mask is not None
        assert draft.answer is not None
        assert not draft.current
        assert not draft.answer.exact
        assert draft.mask.shape == (H, W)
        assert (draft.mask == view.labels)[view.labels > 0].all()
        assert (draft.mask == same.labels).mean() > 0.8
