"""The plugin of napari: with layers of our own everywhere, and in napari itself where it is installed."""

from __future__ import annotations

import gc
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from preflow.errors import InvalidInputError
from preflow.vision import napari_plugin, segment
from preflow.vision.napari_plugin.dock import LayerSession, PaintDock, pixels_of, seed_labels
from tests.vision.painter.pages import H, W, picture, settled, until

MANIFEST = Path(napari_plugin.__file__).with_name("napari.yaml")


class Emitter:
    """An event of napari, as the plugin uses it."""

    def __init__(self) -> None:
        self.callbacks: list[Callable[[object], None]] = []
        self.connect, self.disconnect = self.callbacks.append, self.callbacks.remove

    def __call__(self) -> None:
        for callback in list(self.callbacks):
            callback(None)


class Layer:
    """An Image or a Labels layer."""

    def __init__(self, data: Any, name: str = "block", **options: Any) -> None:
        self.data, self.name = data, name
        self.rgb = self.multiscale = False
        self.scale, self.translate = [1.0] * np.ndim(data[0]) + [1.0], [0.0] * (np.ndim(data[0]) + 1)
        self.events = SimpleNamespace(paint=Emitter(), set_data=Emitter())
        self.selected_label, self.brush_size, self.mode, self.opacity = 1, 5.0, "pan_zoom", 0.7
        vars(self).update(options)


class Layers(list[Any]):
    """A list of layers."""

    def __init__(self) -> None:
        self.selection = SimpleNamespace(active=None)


class Viewer:
    """A viewer with a list of layers."""

    def __init__(self) -> None:
        self.layers = Layers()

    def add_labels(self, data: Any, **options: Any) -> Layer:
        layer = Layer(data, **options)
        self.layers.append(layer)
        return layer


class Desk:
    """A session on layers, whose calls into the user interface wait in a list."""

    def __init__(self, image: Layer, seeds: Layer | None = None) -> None:
        self.viewer, self.calls, self.texts = Viewer(), [], []  # type: ignore[var-annotated]
        self.work = LayerSession(
            self.viewer, image, seeds, smoothness=5.0, in_gui=self.calls.append, report=self.texts.append
        )

    def settle(self) -> None:
        self.run_calls()
        settled(self.work.session)
        self.run_calls()

    def run_calls(self) -> None:
        while self.calls:
            self.calls.pop(0)()


def paint(layer: Any) -> None:
    layer.data[18:22, 25:35] = 1
    layer.data[2:4, 2:55] = 2


def expected(layer: Any, image: Any, **options: Any) -> Any:
    return segment(image, layer.data == 1, layer.data == 2, smoothness=5.0, **options).mask


def test_strokes_on_a_layer_give_the_mask_of_segment() -> None:
    desk = Desk(Layer(picture(), scale=[2.0, 2.0], translate=[5.0, 0.0]))
    desk.settle()
    seeds = desk.work.seeds
    assert (seeds.selected_label, seeds.mode, seeds.name) == (1, "paint", "seeds of block")
    assert "label 1" in desk.texts[-1]
    assert desk.work.result is None
    paint(seeds)
    seeds.events.paint()
    desk.settle()
    result: Any = desk.work.result
    assert (result.data == expected(seeds, picture())).all()
    assert (result.name, result.scale, result.translate) == ("cut of block", [2.0, 2.0], [5.0, 0.0])
    assert "proved" in desk.texts[-1]
    assert desk.viewer.layers.selection.active is seeds

    seeds.data[30:32, 20:40] = 2
    seeds.data[0, 0] = 7  # another label is no seed
    seeds.events.paint()
    desk.settle()
    assert desk.work.result is result
    assert (result.data == expected(seeds, picture())).all()

    seeds.data[:] = 0
    seeds.events.set_data()
    desk.settle()
    assert not result.data.any()
    desk.work.close()
    seeds.data[5, 5] = 1
    seeds.events.paint()


def test_given_seeds_and_a_new_result_after_its_removal() -> None:
    seeds = Layer(np.zeros((H, W), np.int64), "mine")
    paint(seeds)
    desk = Desk(Layer(picture()), seeds)
    desk.settle()
    first = desk.work.result
    assert first is not None
    desk.viewer.layers.clear()
    desk.work.set_smoothness(0.5)
    desk.settle()
    assert desk.work.result is not first
    assert desk.work.result is desk.viewer.layers[0]
    desk.work.close()


def test_another_slice_is_no_change() -> None:
    desk = Desk(Layer(picture()))
    desk.settle()
    revision = desk.work.session.view.numbers.revision
    desk.work.seeds.events.set_data()  # type: ignore[operator]
    desk.run_calls()
    assert desk.work.session.view.numbers.revision == revision
    desk.work.close()


def test_volumes_with_long_voxels() -> None:
    shape = (6, 20, 24)
    desk = Desk(Layer(picture(shape), scale=[3.0, 1.0, 1.0]))
    desk.work.seeds.data[3, 9:12, 10:14] = 1
    desk.work.seeds.data[0, 0] = 2
    desk.work.seeds.events.paint()  # type: ignore[operator]
    desk.settle()
    result: Any = desk.work.result
    assert (result.data == expected(desk.work.seeds, picture(shape), spacing=(3.0, 1.0, 1.0))).all()
    desk.work.close()


def test_pixels_of_layers() -> None:
    colour = np.zeros((5, 6, 4), np.uint8)
    pixels, sides = pixels_of(Layer(colour, rgb=True, scale=[2.0, 3.0]))
    assert (pixels.shape, sides) == ((5, 6, 3), (2.0, 3.0))
    levels = [np.zeros((8, 8)), np.zeros((4, 4))]
    assert pixels_of(Layer(levels, multiscale=True, scale=[1.0, 1.0]))[0].shape == (8, 8)
    with pytest.raises(InvalidInputError, match="4 dimensions"):
        pixels_of(Layer(np.zeros((2, 2, 2, 2))))
    with pytest.raises(InvalidInputError, match="shape"):
        Desk(Layer(picture()), Layer(np.zeros((3, 3), int)))
    assert seed_labels([[0, 1, 2, 3]]).tolist() == [[0, 1, 2, 0]]


@pytest.fixture
def viewer(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """The model of a viewer, with the layers of napari; its window would need OpenGL."""
    components = pytest.importorskip("napari.components")
    monkeypatch.setenv("QT_QPA_PLATFORM", os.environ.get("QT_QPA_PLATFORM", "offscreen"))
    widgets = pytest.importorskip("qtpy.QtWidgets", reason="needs a binding of Qt")
    application = widgets.QApplication.instance() or widgets.QApplication([])
    yield components.ViewerModel()
    application.processEvents()


def test_the_manifest() -> None:
    npe2 = pytest.importorskip("npe2")
    manifest = npe2.PluginManifest.from_file(MANIFEST)
    manifest.validate_imports()
    assert [widget.display_name for widget in manifest.contributions.widgets] == [
        "Segment from painted seeds"
    ]


def test_in_napari(viewer: Any) -> None:
    from qtpy.QtWidgets import QApplication

    native = PaintDock(viewer).native
    gc.collect()
    dock = native.preflow_dock
    dock.start.changed.emit(True)
    assert dock.status.value == "Open an image first."
    image = viewer.add_image(picture(), name="block", scale=(2, 2))
    assert dock.image.value is image
    dock.smoothness.value = 5.0
    dock.start.changed.emit(True)
    assert dock.session is not None, dock.status.value
    seeds = viewer.layers["seeds of block"]

    def shown() -> Any:
        QApplication.processEvents()
        return "cut of block" in viewer.layers and "proved" in dock.status.value

    seeds.brush_size = 6
    seeds.paint((20, 30), 1)
    seeds.paint((3, 3), 2)
    until(shown)
    mask = viewer.layers["cut of block"]
    assert viewer.layers.selection.active is seeds
    assert (mask.data == expected(seeds, picture())).all()
    seeds.paint((27, 30), 2)
    until(lambda: shown() and not mask.data[27, 30])
    assert (mask.data == expected(seeds, picture())).all()
    seeds.undo()
    until(lambda: shown() and mask.data[27, 30])
    assert (mask.data == expected(seeds, picture())).all()
    viewer.layers.remove(seeds)
    assert dock.session is None
