"""The page on which a user paints seeds, as a widget for notebooks.

anywidget is loaded with the first one.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from numpy.typing import ArrayLike

from ...arrays import Array
from ...checks import needed_for
from ...errors import PreflowError
from ..painting import Painting
from ..planes import Volume
from .session import Message, Session

if TYPE_CHECKING:
    from anywidget import AnyWidget


class Paint:
    """A widget for notebooks on which a user paints seeds and sees their minimum cut after each stroke.

    The last line of a cell shows it. It is the page of ``preflow paint``, see :func:`paint`.

    Parameters
    ----------
    image : array_like, Volume or Painting
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

    def __init__(self, image: ArrayLike | Volume | Painting, *, name: str = "picture") -> None:
        self.widget = _make_widget(self._receive)
        painting = image if isinstance(image, Painting) else Painting(image)
        self._session = Session(painting, name=name)
        self._replies: list[threading.Thread] = []

    @property
    def painting(self) -> Painting:
        """The image and the seeds as of now."""
        return self._session.painting

    @property
    def mask(self) -> Array | None:
        """The mask that is shown, or None if there is none yet; with seeds of a label above 2 the labels."""
        return self._session.view.mask

    def close(self) -> None:
        """Remove the widget and end its threads."""
        self._session.close()
        for thread in self._replies:
            thread.join(5.0)  # the last replies say that it is closed
        self.widget.close()

    def _repr_mimebundle_(self, **options: object) -> tuple[dict[str, object], dict[str, object]] | None:
        bundle: tuple[dict[str, object], dict[str, object]] | None = self.widget._repr_mimebundle_(**options)
        return bundle

    def __repr__(self) -> str:
        return f"<Paint: {self.painting!r}>"

    def _receive(self, widget: object, content: Mapping[str, object], buffers: object) -> None:
        """Take a request of the page; it has a number, which the reply repeats."""
        number, message = content.get("number"), content.get("request")
        if not isinstance(message, dict):
            return
        try:
            self._session.act(message)
        except PreflowError as error:
            self._refuse(number, error)
            return
        thread = threading.Thread(
            target=self._reply, args=(number, message), name="preflow-widget", daemon=True
        )
        self._replies = [*(each for each in self._replies if each.is_alive()), thread]
        thread.start()

    def _reply(self, number: object, message: Message) -> None:
        try:
            reply, content = self._session.reply(message)
        except PreflowError as error:  # of a slice of the last picture, say
            self._refuse(number, error)
        else:
            self.widget.send({"number": number, "reply": reply}, [content])

    def _refuse(self, number: object, error: PreflowError) -> None:
        self.widget.send({"number": number, "error": str(error)})


def _make_widget(receive: object) -> AnyWidget:
    with needed_for("painting in notebooks", "anywidget", "notebook"):
        import anywidget
    folder = Path(__file__).parent
    texts = {"_esm": folder / "paint.js", "_css": folder / "paint.css"}
    kind = type(
        "PaintWidget", (anywidget.AnyWidget,), {name: path.read_text("utf-8") for name, path in texts.items()}
    )
    widget = kind()
    widget.on_msg(receive)
    return widget
