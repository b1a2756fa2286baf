"""The widget for notebooks: its messages are those of the page, and replies come in any order."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from preflow.errors import InvalidInputError, MissingDependencyError
from preflow.vision import Paint, Painting, segment
from preflow.vision.painter import session as session_module
from tests.vision.painter.pages import STROKES, H, W, picture, settled, unpack, until

pytest.importorskip("anywidget")


class Cell:
    """A widget whose messages go to a list."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, **options: Any) -> None:
        self.paint = Paint(Painting(picture(), **options), name="block")
        self.sent: dict[object, tuple[Any, Any]] = {}
        self.count = 0
        monkeypatch.setattr(self.paint.widget, "send", self._keep)

    def _keep(self, content: Any, buffers: Any = None) -> None:
        self.sent[content["number"]] = content, buffers

    def send(self, request: Any) -> int:
        """Send a request and return its number."""
        self.count += 1
        message = {"method": "custom", "content": {"number": self.count, "request": request}}
        self.paint.widget._handle_msg({"content": {"data": message}, "buffers": []})
        return self.count

    def ask(self, request: Any) -> tuple[Any, bytes]:
        """Send a request and wait for the reply."""
        number = self.send(request)
        until(lambda: number in self.sent)
        content, buffers = self.sent.pop(number)
        if "error" in content:
            raise InvalidInputError(content["error"])
        return content["reply"], buffers[0]


@pytest.fixture
def cell(monkeypatch: pytest.MonkeyPatch) -> Iterator[Cell]:
    cell = Cell(monkeypatch, smoothness=5.0)
    yield cell
    cell.paint.close()


def test_paint_in_a_cell(cell: Cell) -> None:
    assert cell.paint.mask is None
    for stroke in STROKES:
        cell.ask(stroke)
    view = settled(cell.paint._session)
    reply, content = cell.ask({})
    same = segment(picture(), view.labels == 1, view.labels == 2, smoothness=5.0)
    assert (unpack(reply, content)["mask"].reshape(H, W) == same.mask).all()
    assert cell.paint.mask is not None
    assert (cell.paint.mask == same.mask).all()
    assert (cell.paint.painting.labels == view.labels).all()
    head, content = cell.ask({"do": "download", "what": "mask"})
    assert head["name"] == "block-mask.png"
    assert content.startswith(b"\x89PNG")


def test_a_request_waits_for_a_change(cell: Cell, monkeypatch: pytest.MonkeyPatch) -> None:
    last = settled(cell.paint._session).numbers.revision
    number = cell.send({"do": "wait", "revision": last})
    reply, _ = cell.ask({})
    assert reply["revision"] == last
    assert number not in cell.sent
    cell.ask(STROKES[0])
    until(lambda: number in cell.sent)
    assert cell.sent[number][0]["reply"]["revision"] > last
    last = settled(cell.paint._session).numbers.revision
    monkeypatch.setattr(session_module, "LONGEST_WAIT", 0.05)
    reply, _ = cell.ask({"do": "wait", "revision": last})
    assert reply["revision"] == last


def test_bad_messages_are_refused(cell: Cell) -> None:
    for request in ({"do": "fly"}, {"do": "stroke"}, {"do": 7}, {"do": "download", "what": "mask"}):
        with pytest.raises(InvalidInputError):
            cell.ask(request)
    cell.send("no object")
    assert cell.ask({})[0]["shape"] == [H, W]


def test_close_answers_those_who_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    cell = Cell(monkeypatch)
    last = settled(cell.paint._session).numbers.revision
    number = cell.send({"do": "wait", "revision": last})
    cell.paint.close()
    assert cell.sent[number][0]["reply"]["closed"]
    assert not any(thread.is_alive() for thread in cell.paint._replies)


def test_the_widget_has_the_page_of_the_server(cell: Cell) -> None:
    widget: Any = cell.paint.widget
    assert "export default { render }" in widget._esm
    assert ".preflow-paint" in widget._css
    bundle: Any = cell.paint._repr_mimebundle_()
    assert "application/vnd.jupyter.widget-view+json" in bundle[0]
    assert repr(cell.paint).startswith("<Paint: <Painting")


def test_without_anywidget(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "anywidget", None)
    with pytest.raises(MissingDependencyError, match=r"preflow\[notebook\]"):
        Paint(np.zeros((4, 5)))
