"""The page on which a user paints seeds, as a widget for notebooks.

anywidget is loaded with the first one.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...errors import MissingDependencyError, PreflowError
from ..painting import Painting
from .session import LONGEST_WAIT, PATIENCE, Message, Session, View


class _Widget(Protocol):
    """The methods of anywidget.AnyWidget that are used."""

    def send(self, content: object, buffers: list[bytes] | None = None) -> None: ...

    def close(self) -> None: ...

    def _repr_mimebundle_(self, **options: object) -> tuple[dict[str, object], dict[str, object]] | None: ...


@dataclass(frozen=True)
class _Request:
    """A request whose reply waits for a change of the view."""

    number: object
    message: Message
    #: Revision that the page has seen, or None if its action was done and only the preview is missing.
    known: object
    until: float

    def is_due(self, view: View) -> bool:
        """Return whether the reply may be sent."""
        new = self.known is None or view.numbers.revision != self.known
        return view.closed or (new and view.busy != "preview") or time.monotonic() >= self.until


class Paint:
    """A widget for notebooks on which a user paints seeds and sees their minimum cut after each stroke.

    The last line of a cell shows it. It is the page of ``preflow paint``, see :func:`paint`.

    Parameters
    ----------
    image : array_like or Painting
        As for :class:`Painting`. A painting keeps its seeds, and its smoothness and model are used.
    name : str
        Name of the image, for downloads.

    Attributes
    ----------
    painting : Painting
        With the seeds as of now.
    widget : anywidget.AnyWidget
        For layouts of ipywidgets.

    Raises
    ------
    InvalidInputError
        As :class:`Painting`.
    MissingDependencyError
        anywidget is not installed; it is in the extra ``notebook``.

    Notes
    -----
    The widget and its painting, 90 to 150 bytes for each pixel, stay in memory until :meth:`close`.

    Examples
    --------
    >>> page = Paint(photo)  # doctest: +SKIP
    >>> page  # doctest: +SKIP
    >>> page.mask.sum()  # after painting  # doctest: +SKIP
    """

    def __init__(self, image: ArrayLike | Painting, *, name: str = "picture") -> None:
        self.widget = _make_widget(self._receive)
        painting = image if isinstance(image, Painting) else Painting(image)
        self._session = Session(painting, name=name)
        self._pending: list[_Request] = []
        self._changed = threading.Condition()
        self._session.subscribe(self._wake)
        self._thread = threading.Thread(target=self._reply, name="preflow-widget", daemon=True)
        self._thread.start()

    @property
    def painting(self) -> Painting:
        """The image and the seeds as of now."""
        return self._session.painting

    @property
    def mask(self) -> NDArray[np.bool_] | None:
        """The mask that is shown, or None if there is none yet."""
        return self._session.view.mask

    def close(self) -> None:
        """Remove the widget and end its threads."""
        self._session.close()
        self._thread.join(5.0)  # the last replies say that it is closed
        self.widget.close()

    def _repr_mimebundle_(self, **options: object) -> tuple[dict[str, object], dict[str, object]] | None:
        return self.widget._repr_mimebundle_(**options)

    def __repr__(self) -> str:
        return f"<Paint: {self.painting!r}>"

    def _receive(self, widget: object, content: Mapping[str, object], buffers: object) -> None:
        """Take a request of the page; it has a number, which the reply repeats."""
        number, message = content.get("number"), content.get("request")
        if not isinstance(message, dict):
            return
        try:
            action = message.get("do")
            if action == "wait":
                self._wait(
                    _Request(number, message, message.get("revision"), time.monotonic() + LONGEST_WAIT)
                )
            elif action is None or action == "download":
                self._send(number, *self._session.answer(message))
            else:
                self._session.act(message)
                self._wait(_Request(number, message, None, time.monotonic() + PATIENCE))
        except PreflowError as error:
            self.widget.send({"number": number, "error": str(error)})

    def _send(self, number: object, reply: Message, content: bytes) -> None:
        self.widget.send({"number": number, "reply": reply}, [content])

    def _wait(self, request: _Request) -> None:
        with self._changed:
            self._pending.append(request)
            self._changed.notify()

    def _wake(self) -> None:
        with self._changed:
            self._changed.notify()

    def _reply(self) -> None:
        """Reply to the requests that wait, until the session is closed."""
        while True:
            with self._changed:
                view = self._session.view
                due = [request for request in self._pending if request.is_due(view)]
                if not due and view.closed:
                    return
                if not due:
                    ends = [request.until for request in self._pending]
                    self._changed.wait(max(0.0, min(ends) - time.monotonic()) if ends else None)
                    continue
                self._pending = [request for request in self._pending if request not in due]
            for request in due:
                try:
                    self._send(request.number, *self._session.layers(request.message))
                except PreflowError as error:  # a slice of the last picture
                    self.widget.send({"number": request.number, "error": str(error)})


def _make_widget(receive: object) -> _Widget:
    try:
        import anywidget
    except ImportError:
        raise MissingDependencyError("painting in notebooks", "anywidget", "notebook") from None
    folder = Path(__file__).parent
    texts = {"_esm": folder / "paint.js", "_css": folder / "paint.css"}
    kind = type(
        "PaintWidget", (anywidget.AnyWidget,), {name: path.read_text("utf-8") for name, path in texts.items()}
    )
    widget: _Widget = kind()
    widget.on_msg(receive)  # type: ignore[attr-defined]
    return widget
