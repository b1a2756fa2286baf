"""The dock widget of the plugin. napari makes one when its user opens it in the menu."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from ...errors import PreflowError
from .layers import LayerSession

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
        self.smoothness = widgets.FloatSpinBox(label="Smoothness", value=50.0, min=0.0, max=1e4, step=5.0)
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
                smoothness=self.smoothness.value,
                in_gui=self._in_gui,
                report=self._report,
            )
        except PreflowError as error:
            self._report(str(error))

    def _set_smoothness(self, value: float) -> None:
        if self.session is not None:
            self.session.set_smoothness(value)

    def _end(self) -> None:
        if self.session is not None:
            self.session.close()
            self.session = None
