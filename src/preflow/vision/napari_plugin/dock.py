"""The plugin of napari: its dock widget, and a session that cuts an image layer by seeds after each stroke.

napari makes a dock when its user opens it in the menu, and hands its viewer and its layers over; it is not
imported before.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...arrays import Array
from ...errors import InvalidInputError, PreflowError
from ..painter.session import Session, View
from ..painting import BACKGROUND, OBJECT, Painting
from ..segmentation import SMOOTHNESS

if TYPE_CHECKING:
    from napari.layers import Image, Labels
    from napari.viewer import Viewer


class PaintDock:
    """Chooses an image and seeds, and shows what was found; napari shows ``native``.

    napari passes its viewer to a parameter with the name `napari_viewer`.
    """

    def __init__(self, napari_viewer: Viewer) -> None:
        from magicgui import widgets
        from qtpy.QtCore import QObject, Qt, Signal

        class Calls(QObject):  # type: ignore[misc]
            """Runs functions in the thread of the user interface."""

            call = Signal(object)

        self._viewer = napari_viewer
        self._calls = Calls()
        self._calls.call.connect(lambda function: function(), Qt.QueuedConnection)
        self.image = widgets.ComboBox(label="Image", choices=self._images)
        self.seeds = widgets.ComboBox(label="Seeds", choices=self._labels, nullable=True)
        self.smoothness = widgets.FloatSpinBox(label="Smoothness", value=SMOOTHNESS, min=0.0, max=1e4)
        self._chosen = False  #: whether the user chose the smoothness
        self.start = widgets.PushButton(text="Start")
        self.status = widgets.Label(value="Choose an image. Without seeds, a new layer is added.")
        self.container = widgets.Container(
            widgets=[self.image, self.seeds, self.smoothness, self.start, self.status]
        )
        self.native = self.container.native
        self.native.preflow_dock = self  # napari keeps only this widget, and events keep methods weakly
        self.session: LayerSession | None = None
        self.start.changed.connect(self._start)
        self.smoothness.changed.connect(self._set_smoothness)
        for name in ("inserted", "removed"):
            getattr(napari_viewer.layers.events, name).connect(self._layers_changed)
        self.native.destroyed.connect(self._end)

    def _images(self, widget: object) -> list[tuple[str, Image]]:
        from napari.layers import Image

        return [(layer.name, layer) for layer in self._viewer.layers if isinstance(layer, Image)]

    def _labels(self, widget: object) -> list[tuple[str, Labels]]:
        from napari.layers import Labels

        return [(layer.name, layer) for layer in self._viewer.layers if isinstance(layer, Labels)]

    def _layers_changed(self, event: object = None) -> None:
        self.image.reset_choices()
        self.seeds.reset_choices()
        if self.session is not None and self.session.seeds not in self._viewer.layers:
            self._end()
            self.status.value = "The seeds were removed. Start again."

    def _in_gui(self, function: Callable[[], None]) -> None:
        self._calls.call.emit(function)

    def _report(self, text: str) -> None:
        self.status.value = text

    def _start(self) -> None:
        self._end()
        if self.image.value is None:
            self._report("Open an image first.")
            return
        try:
            self.session = LayerSession(
                self._viewer,
                self.image.value,
                self.seeds.value,
                smoothness=self.smoothness.value if self._chosen else None,
                in_gui=self._in_gui,
                report=self._report,
            )
        except PreflowError as error:
            self._report(str(error))
        else:
            with self.smoothness.changed.blocked():
                self.smoothness.value = self.session.session.painting.smoothness

    def _set_smoothness(self, value: float) -> None:
        self._chosen = True
        if self.session is not None:
            self.session.set_smoothness(value)

    def _end(self) -> None:
        if self.session is not None:
            self.session.close()
            self.session = None


class LayerSession:
    """Follows the seeds of a Labels layer, and shows their cut in another one.

    The image has two dimensions or three, grey or colour. In `seeds` 1 marks the object, 2 the background;
    other labels are ignored; without it a layer is added. `smoothness` is as for
    :func:`preflow.vision.segment`. `in_gui` runs a function in the thread of the user interface, soon; it is
    called in any thread. `report` shows a line of text. InvalidInputError if the image has other dimensions,
    or the seeds another shape.
    """

    def __init__(
        self,
        viewer: Viewer,
        image: Image,
        seeds: Labels | None = None,
        *,
        smoothness: float | None = None,
        in_gui: Callable[[Callable[[], None]], None],
        report: Callable[[str], None],
    ) -> None:
        pixels, spacing = pixels_of(image)
        painting = Painting(pixels, smoothness=smoothness, spacing=spacing)
        if seeds is not None and tuple(seeds.data.shape) != painting.shape:
            raise InvalidInputError(
                f"the seeds have shape {tuple(seeds.data.shape)}, the image has {painting.shape}"
            )
        self._viewer, self._image = viewer, image
        self._in_gui, self._report = in_gui, report
        self.session = Session(painting, name=image.name)
        self.seeds = seeds or self._add_labels(np.zeros(painting.shape, np.uint8), f"seeds of {image.name}")
        if seeds is None:
            self.seeds.selected_label = OBJECT
            self.seeds.brush_size = 10
            self.seeds.mode = "paint"
        self.result: Labels | None = None
        self._shown = 0
        self._due = self._read_due = False
        self._leave = self.session.subscribe(self._changed)
        for emitter in (self.seeds.events.paint, self.seeds.events.set_data):
            emitter.connect(self._seeds_changed)
        self._read_seeds()
        self._changed()

    def _add_labels(self, data: Array, name: str) -> Labels:
        ndim = data.ndim
        return self._viewer.add_labels(
            data,
            name=name,
            scale=list(self._image.scale)[-ndim:],
            translate=list(self._image.translate)[-ndim:],
        )

    def _seeds_changed(self, event: object) -> None:
        """Read the seeds soon: the event ``paint`` may come before the array has changed."""
        if not self._read_due:
            self._read_due = True
            self._in_gui(self._read_seeds)

    def _read_seeds(self) -> None:
        """Pass the seeds on, if they are new; ``set_data`` also comes when another slice is shown."""
        self._read_due = False
        if self.session.view.closed:
            return
        labels = seed_labels(self.seeds.data)
        if not np.array_equal(labels, self.session.view.labels):
            self.session.set_labels(labels)

    def set_smoothness(self, smoothness: float) -> None:
        """Use another weight of the outline."""
        self.session.act({"do": "smoothness", "value": smoothness})

    def _changed(self) -> None:
        """Let the user interface show the view; called in any thread."""
        if not self._due:
            self._due = True
            self._in_gui(self._show)

    def _show(self) -> None:
        self._due = False
        view = self.session.view
        if view.closed:
            return
        self._report(status_of(view))
        if view.numbers.mask == self._shown:
            return
        self._shown = view.numbers.mask
        mask = np.zeros(view.labels.shape, np.uint8) if view.mask is None else view.mask.astype(np.uint8)
        if self.result is not None and self.result in self._viewer.layers:
            self.result.data = mask
        elif view.mask is not None:
            self.result = self._add_labels(mask, f"cut of {self._image.name}")
            self.result.opacity = 0.4
            self._viewer.layers.selection.active = self.seeds  # the user goes on painting there

    def close(self) -> None:
        """Follow the seeds no longer; the layers stay."""
        for emitter in (self.seeds.events.paint, self.seeds.events.set_data):
            emitter.disconnect(self._seeds_changed)
        self._leave()
        self.session.close()


def pixels_of(image: Image) -> tuple[Array, tuple[float, ...]]:
    """Return the pixels of an image layer, of the finest level and without alpha, and their sides."""
    level = image.data[0] if image.multiscale else image.data
    pixels = np.asarray(level)
    if image.rgb:
        pixels = pixels[..., :3]
    ndim = pixels.ndim - image.rgb
    if ndim not in (2, 3):
        raise InvalidInputError(f"the image has {ndim} dimensions: seeds are painted on two or three")
    return pixels, tuple(abs(float(side)) for side in image.scale)[-ndim:]


def seed_labels(data: ArrayLike) -> NDArray[np.uint8]:
    """Return labels with 1 and 2 as they are, and 0 elsewhere."""
    labels = np.asarray(data)
    return np.where((labels == OBJECT) | (labels == BACKGROUND), labels, 0).astype(np.uint8)


def status_of(view: View) -> str:
    """Return the state of a session as a line of text."""
    if view.problem:
        return view.problem
    if not view.ready:
        return "Paint the object with label 1 and the background with label 2."
    found = view.answer
    if found is None:
        return "Finding the first cut ..."
    if not view.current:
        return f"{found.size:,} pixels before the last change ..."
    kind = "proved" if found.proved else "exact" if found.exact else "preview"
    return f"{found.size:,} pixels, energy {found.energy:,.1f} nats, {found.seconds:.2f} s, {kind}"
