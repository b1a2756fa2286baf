"""Pages of a session, as tests play them, and pictures to paint on."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from preflow.vision import Painting
from preflow.vision.painter.session import Session, View

H, W = 40, 60


def picture(shape: tuple[int, ...] = (H, W)) -> NDArray[np.uint8]:
    """Return a noisy grey picture, or a volume, with a bright block."""
    image = np.random.default_rng(3).integers(0, 90, shape).astype(np.uint8)
    image[tuple(slice(length // 4, 3 * length // 4) for length in shape)] += 120
    return image


def until(holds: Callable[[], Any], seconds: float = 30.0) -> None:
    """Wait until something holds."""
    end = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < end, "waited too long"
        time.sleep(0.01)


def drag(page: Any, tool: str, *points: tuple[float, float]) -> None:
    """Take a tool of a page of Playwright, and drag it over parts of the stage."""
    page.click(f".tool-{tool}")
    frame = page.locator(".stage").bounding_box()
    places = [(frame["x"] + x * frame["width"], frame["y"] + y * frame["height"]) for x, y in points]
    page.mouse.move(*places[0])
    page.mouse.down()
    for place in places[1:]:
        page.mouse.move(*place, steps=4)
    page.mouse.up()


def settled(session: Session) -> View:
    """Wait until the session has nothing left to do, and return the view."""
    until(lambda: not session.view.busy and (not session.view.ready or is_proved(session.view)))
    return session.view


def is_proved(view: View) -> bool:
    """Return whether the view has an answer with a proof, or a problem."""
    return bool(view.problem) or (view.answer is not None and view.answer.exact and view.answer.proved)


def unpack(reply: Any, content: bytes) -> dict[str, NDArray[Any]]:
    """Return the layers of a reply by their names, flat."""
    layers, start = {}, 0
    for name, length in reply["layers"]:
        part = np.frombuffer(content[start : start + length], np.uint8)
        layers[name] = part if name in ("picture", "seeds", "regions") else np.unpackbits(part).astype(bool)
        start += length
    assert start == len(content)
    return layers


STROKES: list[dict[str, Any]] = [
    {"do": "stroke", "points": [[25, 20], [35, 22]], "label": 1, "brush": 5},
    {"do": "stroke", "points": [[2, 2], [55, 3], [56, 37]], "label": 2, "brush": 3},
]


def painted(**options: Any) -> Session:
    """Return a session of the picture, with a stroke of each kind."""
    session = Session(Painting(picture(), **options), name="folder/block.png")
    for stroke in STROKES:
        session.answer(stroke)
    return session
