"""The page in a browser: paint, see the mask, reload, two tabs, a server that stops.

Skipped where Playwright or a browser is missing. The browser is Debian's: ``apt-get install chromium``.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from preflow.vision import Paint, Painting, Volume, grabcut, segment, segment_labels
from preflow.vision.painter import widget as widget_module
from preflow.vision.painter.server import Server
from preflow.vision.painter.session import Session
from tests.vision.painter.pages import drag, picture, settled, until

playwright = pytest.importorskip("playwright.sync_api", reason="needs Playwright")
pytest.importorskip("uvicorn")
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(CHROMIUM is None, reason="needs the browser chromium"),
]

H, W = 120, 160
LABEL_3 = [0, 158, 115]


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with playwright.sync_playwright() as started:
        browser = started.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture
def session() -> Iterator[Session]:
    with Session(Painting(picture((H, W)), smoothness=5.0), name="block.png") as session:
        yield session


@pytest.fixture
def server(session: Session) -> Iterator[Server]:
    with Server(session) as server:
        yield server


@pytest.fixture
def tab(browser: Any, server: Server) -> Iterator[Tab]:
    with browser.new_context(viewport={"width": 1000, "height": 700}) as context:
        tab = Tab(context.new_page(), server.url)
        yield tab
        assert tab.errors == []


class Tab:
    """A tab with the page."""

    def __init__(self, page: Any, url: str) -> None:
        self.page = page
        self.errors: list[str] = []
        page.on("pageerror", lambda error: self.errors.append(str(error)))
        page.goto(url)
        self.wait_for_picture()

    def wait_for_picture(self) -> None:
        until(lambda: self.page.evaluate("() => !!window.preflowPaint?.layers().picture"))

    def view(self) -> Any:
        return self.page.evaluate("() => preflowPaint.view()")

    def mask(self, name: str = "mask") -> Any:
        """Return a layer as the page has it."""
        packed = self.page.evaluate(f"() => Array.from(preflowPaint.layers().{name} ?? [])")
        view = self.view()
        shape = view["shape"]
        return np.unpackbits(np.array(packed, np.uint8))[: shape[0] * shape[1]].reshape(shape).astype(bool)

    def place(self, x: float, y: float) -> tuple[float, float]:
        """Return the place of a pixel in the window."""
        frame = self.page.locator(".stage").bounding_box()
        height, width = self.view()["shape"][-2:]
        return (
            frame["x"] + (x + 0.5) * frame["width"] / width,
            frame["y"] + (y + 0.5) * frame["height"] / height,
        )

    def drag(self, tool: str, *points: tuple[float, float]) -> None:
        self.page.click(f".tool-{tool}")
        self.page.mouse.move(*self.place(*points[0]))
        self.page.mouse.down()
        for point in points[1:]:
            self.page.mouse.move(*self.place(*point), steps=5)
        self.page.mouse.up()

    def proved(self) -> None:
        self.page.wait_for_selector(".preflow-paint[data-proved=true]", timeout=30_000)

    def alert(self) -> str:
        alert = self.page.locator(".alert")
        return str(alert.inner_text()) if alert.is_visible() else ""

    def pixel(self, x: int, y: int) -> list[int]:
        """Return red, green, blue and alpha of a pixel of the overlay."""
        found: list[int] = self.page.evaluate(
            "([x, y]) => Array.from(document.querySelector('canvas.overlay').getContext('2d')"
            ".getImageData(x, y, 1, 1).data)",
            [x, y],
        )
        return found


def paint_both(tab: Tab) -> None:
    tab.drag("object", (70, 50), (95, 60))
    tab.drag("background", (5, 5), (150, 8))
    tab.proved()


def same(session: Session) -> Any:
    labels = session.view.labels
    return segment(picture((H, W)), labels == 1, labels == 2, smoothness=5.0)


def test_paint_and_see_the_mask_of_segment(tab: Tab, session: Session) -> None:
    assert "Paint a stroke" in tab.page.locator(".status").inner_text()
    paint_both(tab)
    assert (tab.mask() == same(session).mask).all()
    assert (tab.mask("object") == (session.view.labels == 1)).all()
    assert session.view.labels[55, 82] == 1
    assert tab.pixel(20, 60) == [0, 0, 0, 160], "the background is dim"
    assert tab.pixel(60, 80) == [0, 0, 0, 0], "the object is not"
    status = tab.page.locator(".status").inner_text()
    assert re.search(r"Energy: [\d,.-]+ nats", status)
    assert "Proved" in status

    before = tab.mask()
    tab.drag("background", (75, 80), (100, 80))
    until(lambda: session.view.labels[80, 80] == 2 and not np.array_equal(tab.mask(), before))
    tab.proved()
    assert (tab.mask() == same(session).mask).all()
    assert not tab.mask()[80, 80]
    assert float(tab.page.get_attribute(".preflow-paint", "data-latency")) > 0

    tab.page.keyboard.press("Control+z")
    until(lambda: session.view.labels[80, 80] == 0)
    tab.proved()
    until(lambda: np.array_equal(tab.mask(), before))
    tab.page.keyboard.press("Control+Shift+Z")
    until(lambda: session.view.labels[80, 80] == 2)


def test_more_labels_are_coloured_and_never_called_proved(tab: Tab, session: Session) -> None:
    paint_both(tab)
    assert not tab.page.locator(".tool-label-3").is_visible()
    tab.page.get_by_text("+ Label").click()
    tab.drag("label-3", (130, 70), (130, 100))
    solved = "() => preflowPaint.layers().regions && !preflowPaint.view().busy && preflowPaint.view().current"
    tab.page.wait_for_function(solved)
    found = segment_labels(picture((H, W)), session.view.labels, smoothness=5.0)
    regions = tab.page.evaluate("() => Array.from(preflowPaint.layers().regions)")
    assert (np.reshape(regions, (H, W)) == found.labels).all()
    status = tab.page.locator(".status").inner_text()
    assert "at most twice" in status
    assert "Proved" not in status
    assert tab.page.get_attribute(".preflow-paint", "data-proved") == "false"
    assert np.abs(np.subtract(tab.pixel(130, 85)[:3], LABEL_3)).max() <= 1, "alpha rounds"
    assert tab.page.evaluate("() => preflowPaint.layers().object") is None

    tab.page.reload()
    tab.wait_for_picture()
    tab.page.wait_for_function(solved)
    assert tab.page.locator(".tool-label-3").is_visible()
    assert not tab.page.locator(".tool-label-4").is_visible()
    tab.page.keyboard.press("Control+z")
    tab.proved()
    assert (tab.mask() == same(session).mask).all()
    assert tab.page.evaluate("() => preflowPaint.layers().regions") is None
    assert tab.pixel(20, 60) == [0, 0, 0, 160], "as before"


def test_a_reload_keeps_the_seeds_and_two_tabs_agree(tab: Tab, server: Server, session: Session) -> None:
    paint_both(tab)
    tab.page.reload()
    tab.wait_for_picture()
    tab.proved()
    assert (tab.mask("object") == (session.view.labels == 1)).all()
    other = Tab(tab.page.context.new_page(), server.url)
    other.proved()
    other.drag("background", (75, 80), (100, 80))
    until(lambda: tab.mask("background")[80, 80])
    until(lambda: session.view.labels[80, 80] == 2)
    settled(session)
    until(lambda: tab.view()["revision"] == other.view()["revision"] == session.view.numbers.revision)
    assert (tab.mask() == other.mask()).all()
    assert (tab.mask() == same(session).mask).all()
    assert other.errors == []


def test_a_box_and_its_removal(tab: Tab, session: Session) -> None:
    tab.drag("box", (20, 20), (140, 105))
    tab.proved()
    assert session.view.box == ([20, 20], [140, 105])
    assert (tab.mask() == grabcut(picture((H, W)), (20, 20, 106, 141), smoothness=5.0).mask).all()
    tab.drag("box", (50, 50))
    until(lambda: session.view.box is None)


def test_keys_paint_without_a_pointer(tab: Tab, session: Session) -> None:
    tab.page.focus(".stage")
    tab.page.keyboard.press("o")
    tab.page.keyboard.press(" ")
    until(lambda: session.view.labels[H // 2, W // 2] == 1)
    tab.page.keyboard.press("b")
    assert tab.page.get_attribute(".tool-background", "aria-pressed") == "true"
    for _ in range(8):
        tab.page.keyboard.press("Shift+ArrowLeft")
    tab.page.keyboard.press(" ")
    until(lambda: session.view.labels[H // 2, 0] == 2)
    tab.proved()
    tab.page.keyboard.press("e")
    tab.page.keyboard.press(" ")
    until(lambda: session.view.labels[H // 2, 0] == 0)
    tab.page.keyboard.press("]")
    assert tab.page.locator("output").first.inner_text() != "15"


def test_touch(browser: Any, server: Server, session: Session) -> None:
    with browser.new_context(viewport={"width": 500, "height": 800}, has_touch=True) as context:
        tab = Tab(context.new_page(), server.url)
        tab.page.touchscreen.tap(*tab.place(80, 60))
        until(lambda: session.view.labels[60, 80] == 1)
        assert tab.page.evaluate("() => document.documentElement.scrollWidth <= window.innerWidth")
        assert tab.errors == []


def test_downloads(tab: Tab, session: Session, tmp_path: Path) -> None:
    imageio = pytest.importorskip("imageio.v3")
    paint_both(tab)
    for title, name in (("Mask", "block-mask.png"), ("Cut-out", "block-cutout.png")):
        with tab.page.expect_download() as waiting:
            tab.page.get_by_role(
                "button", name=f"Download the {'mask' if title == 'Mask' else 'object'}"
            ).click()
        assert waiting.value.suggested_filename == name
        waiting.value.save_as(tmp_path / name)
    mask = imageio.imread(tmp_path / "block-mask.png") == 255
    assert (mask == same(session).mask).all()
    assert (imageio.imread(tmp_path / "block-cutout.png")[..., 3] == np.where(mask, 255, 0)).all()


def test_uploads(tab: Tab, session: Session, tmp_path: Path) -> None:
    imageio = pytest.importorskip("imageio.v3")
    (tmp_path / "bad.png").write_bytes(b"no picture")
    imageio.imwrite(tmp_path / "good.png", picture((50, 40)))
    tab.page.set_input_files("input[type=file]", tmp_path / "bad.png")
    until(lambda: "bad.png: is not a picture" in tab.alert())
    assert session.view.name == "block.png"
    tab.page.set_input_files("input[type=file]", tmp_path / "good.png")
    until(lambda: tab.view()["shape"] == [50, 40])
    until(lambda: not tab.alert())
    assert tab.page.title() == "good.png - preflow paint"


def test_smoothness(tab: Tab, session: Session) -> None:
    paint_both(tab)
    tab.page.get_by_label("Smoothness", exact=True).last.fill("2")
    until(lambda: session.view.smoothness == 100)
    tab.proved()


def test_the_page_says_that_the_server_stopped(browser: Any, session: Session) -> None:
    with Server(session) as server, browser.new_context() as context:
        tab = Tab(context.new_page(), server.url)
        server.__exit__()
        until(lambda: "The server has stopped" in tab.alert())
        assert tab.page.locator(".tool-object").is_disabled()


def test_the_page_says_that_nobody_answers(tab: Tab, session: Session) -> None:
    tab.page.route("**/ask", lambda route: route.abort())
    tab.drag("object", (70, 50))
    until(lambda: "does not answer" in tab.alert())
    tab.page.unroute("**/ask")
    until(lambda: not tab.alert())
    tab.drag("object", (70, 50))
    until(lambda: session.view.labels[50, 70] == 1)


def test_slices_of_a_volume(browser: Any) -> None:
    shape = (12, 40, 60)
    volume = Painting(picture(shape), smoothness=5.0)
    with (
        Session(volume, name="scan.nii.gz") as session,
        Server(session) as server,
        browser.new_context() as context,
    ):
        tab = Tab(context.new_page(), server.url)
        tab.drag("object", (30, 20))
        until(lambda: session.view.labels[6, 20, 30] == 1)
        tab.page.get_by_label("Slice", exact=True).fill("0")
        tab.drag("background", (3, 3), (55, 3))
        until(lambda: session.view.labels[0, 3, 30] == 2)
        tab.proved()
        view = settled(session)
        assert view.mask is not None

        def shown(expected: Any) -> bool:
            packed = tab.page.evaluate("() => Array.from(preflowPaint.layers().mask ?? [])")
            bits = np.unpackbits(np.array(packed, np.uint8))[: expected.size]
            return bits.size == expected.size and bool((bits == expected.reshape(-1)).all())

        until(lambda: shown(view.mask[0]))
        tab.page.keyboard.press("PageUp")
        for _ in range(4):
            tab.page.focus(".stage")
            tab.page.keyboard.press("PageUp")
        until(lambda: shown(view.mask[4]) or shown(view.mask[5]))
        tab.page.get_by_label("Axis of the slices").select_option("x")
        until(lambda: shown(view.mask[:, :, 30]))
        assert tab.errors == []


def test_the_wheel_goes_through_slices_and_letters_say_where_the_head_is(browser: Any) -> None:
    volume = Volume(picture((12, 40, 60)), np.diag([-1.0, 1, 1, 1]))
    with (
        Session(Painting(volume, smoothness=5.0), name="scan.nii.gz") as session,
        Server(session) as server,
        browser.new_context() as context,
    ):
        tab = Tab(context.new_page(), server.url)

        def letters() -> str:
            return "".join(tab.page.locator(".letter").all_inner_texts())

        def shown() -> str:
            return str(tab.page.locator("output").last.inner_text())

        assert letters() == "ARPL"
        tab.page.locator(".stage").hover()
        assert shown() == "7 of 12"
        tab.page.mouse.wheel(0, -100)
        until(lambda: shown() == "8 of 12")
        for _ in range(3):
            tab.page.mouse.wheel(0, 100)
        until(lambda: shown() == "5 of 12")
        # A stroke that is drawn while the wheel turns stays on its slice; pixels are (x, y) of the picture.
        tab.page.click(".tool-object")
        frame = tab.page.locator(".stage").bounding_box()
        at = frame["x"] + 10.5 / 60 * frame["width"], frame["y"] + 5.5 / 40 * frame["height"]
        tab.page.mouse.move(*at)
        tab.page.mouse.down()
        tab.page.mouse.wheel(0, -100)
        tab.page.mouse.up()
        until(lambda: session.view.labels[4, 34, 49] == 1)
        assert set(np.argwhere(session.view.labels)[:, 0]) == {4}
        tab.page.get_by_label("Axis of the slices").select_option("x")
        until(lambda: letters() == "SAIP")
        assert shown() == "31 of 60"
        tab.page.get_by_label("Axis of the slices").select_option("z")
        until(lambda: shown() == "6 of 12")  # the slice that was shown last
        assert tab.errors == []


def test_a_stroke_goes_to_the_slice_it_was_painted_on(browser: Any) -> None:
    """Also where the page has gone on before the server answers."""
    with (
        Session(Painting(picture((12, 40, 60)), smoothness=5.0)) as session,
        Server(session) as server,
        browser.new_context() as context,
    ):
        tab = Tab(context.new_page(), server.url)
        held: list[Any] = []

        def hold(route: Any) -> None:
            if '"stroke"' in route.request.post_data and not held:
                held.append(route)
            else:
                route.continue_()

        tab.page.route("**/ask", hold)
        tab.drag("object", (30, 20))
        until(lambda: tab.view() and held)
        tab.drag("object", (40, 20))
        tab.page.keyboard.press("PageUp")
        held[0].continue_()
        until(
            lambda: tab.view() and session.view.labels[6, 20, 30] == 1 and session.view.labels[6, 20, 40] == 1
        )
        assert set(np.argwhere(session.view.labels)[:, 0]) == {6}
        assert tab.errors == []


def test_voxels_are_shown_with_their_sides(browser: Any) -> None:
    volume = Painting(picture((10, 40, 40)), spacing=(4.0, 1.0, 1.0))
    with Session(volume) as session, Server(session) as server, browser.new_context() as context:
        tab = Tab(context.new_page(), server.url)

        def ratio() -> float:
            frame = tab.page.locator(".stage").bounding_box()
            return float(frame["width"] / frame["height"])

        assert ratio() == pytest.approx(1, abs=0.01)
        tab.page.get_by_label("Axis of the slices").select_option("y")
        until(lambda: ratio() == pytest.approx(1, abs=0.01))
        tab.page.click(".tool-object")
        frame = tab.page.locator(".stage").bounding_box()
        tab.page.mouse.click(frame["x"] + frame["width"] / 2, frame["y"] + 0.35 * frame["height"])
        until(lambda: session.view.labels[3, 20, 20] == 1)


#: A page that shows a widget: its model passes messages to Python and asks Python for the replies.
NOTEBOOK = """<!doctype html><link rel="stylesheet" href="paint.css"><div id="cell"></div>
<script type="module">
import widget from "./paint.js";
const listeners = [];
const model = {
  on: (name, listener) => listeners.push(listener),
  off: () => {},
  send: (message) => window.toPython(message),
};
widget.render({ model, el: document.getElementById("cell") });
setInterval(async () => {
  for (const [message, bytes] of await window.fromPython()) {
    const buffers = bytes === null ? [] : [new DataView(Uint8Array.from(bytes).buffer)];
    listeners.forEach((listener) => listener(message, buffers));
  }
}, 20);
</script>"""


def test_the_widget_in_a_page(browser: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("anywidget")
    cell = Paint(Painting(picture((H, W)), smoothness=5.0))
    sent: list[tuple[Any, Any]] = []
    monkeypatch.setattr(
        cell.widget,
        "send",
        lambda content, buffers=None: sent.append((content, list(buffers[0]) if buffers else None)),
    )

    def receive() -> list[tuple[Any, Any]]:
        return [sent.pop(0) for _ in range(len(sent))]

    folder = Path(widget_module.__file__).parent
    with browser.new_context(viewport={"width": 900, "height": 700}) as context:
        page = context.new_page()
        errors: list[str] = []
        page.on("pageerror", lambda error: errors.append(str(error)))
        page.expose_function("toPython", lambda message: cell._receive(None, message, []))
        page.expose_function("fromPython", receive)
        page.route("http://notebook/", lambda route: route.fulfill(body=NOTEBOOK, content_type="text/html"))
        page.route(
            "http://notebook/paint.*",
            lambda route: route.fulfill(path=folder / route.request.url.rsplit("/", 1)[1]),
        )
        page.goto("http://notebook/")
        page.wait_for_selector(".preflow-paint.cell[data-revision]")
        assert page.get_by_text("Open …").is_hidden()

        drag(page, "object", (0.4, 0.4), (0.6, 0.5))
        drag(page, "background", (0.05, 0.05), (0.9, 0.06))
        page.wait_for_selector(".preflow-paint[data-proved=true]", timeout=30_000)
        assert cell.mask is not None
        assert (cell.mask == same(cell._session).mask).all()
        monkeypatch.setattr(cell.widget, "close", lambda: None)
        cell.close()
        page.wait_for_selector(".preflow-paint[data-closed]")
        assert errors == []
