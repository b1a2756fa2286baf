"""The server of the page: who may reach it, what it refuses, and how it stops."""

from __future__ import annotations

import http.client
import json
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

from preflow.cli import app
from preflow.errors import InvalidInputError, MissingDependencyError
from preflow.vision import Painting, paint, segment
from preflow.vision.painter import server as server_module
from preflow.vision.painter import session as session_module
from preflow.vision.painter.server import Server, application
from preflow.vision.painter.session import Session
from tests.vision.painter.pages import STROKES, H, W, painted, picture, settled, unpack

pytest.importorskip("starlette")
pytest.importorskip("uvicorn")
pytest.importorskip("httpx2")

TOKEN = "a-token"


@pytest.fixture
def session() -> Iterator[Session]:
    with painted(smoothness=5.0) as session:
        yield session


@pytest.fixture
def client(session: Session) -> Any:
    from starlette.testclient import TestClient

    return TestClient(application(session, TOKEN), base_url="http://127.0.0.1:8000")


def ask(client: Any, message: Any) -> tuple[Any, bytes]:
    response = client.post(f"/{TOKEN}/ask", content=json.dumps(message))
    assert response.status_code == 200, response.text
    return parted(response.content)


def parted(body: bytes) -> tuple[Any, bytes]:
    """Return the head and the content of a reply."""
    length = int.from_bytes(body[:4], "little")
    return json.loads(body[4 : 4 + length]), body[4 + length :]


def png(pixels: np.ndarray[Any, Any]) -> bytes:
    imageio = pytest.importorskip("imageio.v3")
    encoded: bytes = imageio.imwrite("<bytes>", pixels, extension=".png")
    return encoded


def test_the_page_and_its_headers(client: Any) -> None:
    for name, kind in (("", "text/html"), ("paint.js", "text/javascript"), ("paint.css", "text/css")):
        response = client.get(f"/{TOKEN}/{name}")
        assert response.status_code == 200
        assert response.headers["content-type"].startswith(kind)
        assert "default-src 'none'" in response.headers["content-security-policy"]
        assert response.headers["x-content-type-options"] == "nosniff"
        assert response.headers["referrer-policy"] == "no-referrer"
    assert client.get(f"/{TOKEN}/session.py").status_code == 404
    assert client.get(f"/{TOKEN}/../server.py").status_code == 404


@pytest.mark.parametrize(
    ("path", "headers", "status"),
    [
        ("/", {}, 404),
        ("/paint.js", {}, 404),
        ("/another/", {}, 404),
        (f"/{TOKEN}x/", {}, 404),
        ("/%ff%fe/", {}, 404),
        (f"/{TOKEN}", {}, 404),
        (f"/{TOKEN}/", {"host": "evil.example"}, 403),
        (f"/{TOKEN}/", {"host": "127.0.0.1.evil.example:8000"}, 403),
        (f"/{TOKEN}/", {"host": ""}, 403),
        (f"/{TOKEN}/", {"origin": "http://evil.example"}, 403),
        (f"/{TOKEN}/", {"origin": "null"}, 403),
        (f"/{TOKEN}/", {"origin": "http://127.0.0.1:8001"}, 403),
        (f"/{TOKEN}/", {"origin": "https://127.0.0.1:8000"}, 403),
        (f"/{TOKEN}/", {"origin": "http://127.0.0.1:8000"}, 200),
        (f"/{TOKEN}/", {"host": "localhost:9000", "origin": "http://localhost:9000"}, 200),
    ],
)
def test_strangers_are_refused(client: Any, path: str, headers: dict[str, str], status: int) -> None:
    response = client.get(path, headers=headers)
    assert response.status_code == status
    assert "content-security-policy" in response.headers
    if status != 200:
        assert client.post(
            path + "ask", content=json.dumps({"do": "clear"}), headers=headers
        ).status_code in (
            403,
            404,
        )


def test_a_page_paints_and_gets_the_mask_of_segment(client: Any, session: Session) -> None:
    settled(session)
    reply, content = ask(client, {"do": "stroke", "points": [[40, 5]], "label": 2, "brush": 4})
    assert reply["busy"] != "preview"
    assert "mask" in unpack(reply, content)
    view = settled(session)
    reply, content = ask(client, {})
    same = segment(picture(), view.labels == 1, view.labels == 2, smoothness=5.0)
    assert (unpack(reply, content)["mask"].reshape(H, W) == same.mask).all()
    reply, content = ask(client, {"do": "undo", "seen": {"picture": 1}})
    assert "picture" not in unpack(reply, content)
    assert reply["redo"]


def test_downloads(client: Any, session: Session) -> None:
    imageio = pytest.importorskip("imageio.v3")
    view = settled(session)
    head, content = ask(client, {"do": "download", "what": "mask"})
    assert head == {"name": "block-mask.png", "type": "image/png"}
    assert ((imageio.imread(content) == 255) == view.mask).all()
    head, content = ask(client, {"do": "download", "what": "cutout"})
    assert head["name"] == "block-cutout.png"
    assert imageio.imread(content).shape == (H, W, 4)


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (b"", "not JSON"),
        (b"\xff", "not JSON"),
        (b"[" * 100_000, "not JSON"),
        (b"[]", "an object"),
        (b'{"do": "fly"}', "no action"),
        (b'{"do": "stroke", "label": 1, "brush": 1, "points": [[1e999, 0]]}', "outside"),
        (b" " * (server_module.MOST_REQUEST + 1), "more than"),
    ],
)
def test_bad_requests(client: Any, body: bytes, message: str) -> None:
    response = client.post(f"/{TOKEN}/ask", content=body)
    assert response.status_code == 400
    assert message in response.json()["error"]
    response = client.post(f"/{TOKEN}/ask", content=(part for part in [body[:1], body[1:]]))
    assert response.status_code == 400


def test_an_upload_is_shown(client: Any, session: Session) -> None:
    settled(session)
    pixels = np.zeros((30, 20, 3), np.uint8)
    pixels[5:15, 5:15] = 200
    response = client.post(f"/{TOKEN}/upload?name=new.png", content=png(pixels))
    assert response.status_code == 204, response.text
    reply, content = ask(client, {"seen": {"picture": 1}})
    assert (reply["name"], reply["shape"], reply["smoothness"]) == ("new.png", [30, 20], 5.0)
    assert (unpack(reply, content)["picture"].reshape(30, 20, 3) == pixels).all()
    assert not reply["undo"]


def bomb() -> bytes:
    """Return a PNG that announces 60,000 x 60,000 pixels and has none."""
    import struct
    import zlib

    def chunk(kind: bytes, data: bytes) -> bytes:
        body = kind + data
        return struct.pack(">I", len(data)) + body + struct.pack(">I", zlib.crc32(body))

    head = struct.pack(">IIBBBBB", 60_000, 60_000, 8, 2, 0, 0, 0)
    return (
        b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(b"")) + chunk(b"IEND", b"")
    )


def test_bad_uploads_change_nothing(client: Any, session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    image = pytest.importorskip("PIL.Image")
    whole = png(np.zeros((30, 20), np.uint8))
    eps = BytesIO()
    image.fromarray(np.zeros((30, 20), np.uint8)).save(eps, "EPS")
    before = settled(session)

    def refused(content: bytes) -> str:
        response = client.post(f"/{TOKEN}/upload?name=bad.png", content=content)
        assert response.status_code == 400
        assert session.view is before
        return str(response.json()["error"])

    for content in (b"", b"no picture", whole[:40], eps.getvalue()):
        assert "bad.png: is not a" in refused(content)
    monkeypatch.setattr(server_module, "MOST_PIXELS", 599)
    assert "600 pixels" not in refused(whole)
    assert "has 20 x 30 pixels, more than 599" in refused(whole)
    assert "bad.png" in refused(bomb())
    monkeypatch.setattr(server_module, "MOST_UPLOAD", len(whole) - 1)
    assert "more than" in refused(whole)


def test_a_lack_of_memory_is_one_message(client: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*arguments: Any, **options: Any) -> None:
        raise MemoryError

    monkeypatch.setattr(server_module, "Painting", refuse)
    response = client.post(f"/{TOKEN}/upload?name=new.png", content=png(np.zeros((9, 9), np.uint8)))
    assert (response.status_code, response.json()) == (400, {"error": "not enough memory"})


@pytest.fixture
def server(session: Session) -> Iterator[Server]:
    with Server(session) as server:
        yield server


def post(server: Server, message: Any) -> tuple[Any, bytes]:
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=30)
    try:
        connection.request("POST", f"/{server.token}/ask", json.dumps(message))
        response = connection.getresponse()
        assert response.status == 200
        return parted(response.read())
    finally:
        connection.close()


def test_a_page_that_waits_sees_the_stroke_of_another(server: Server, session: Session) -> None:
    last = settled(session).numbers.revision
    replies: list[Any] = []
    page = threading.Thread(target=lambda: replies.append(post(server, {"do": "wait", "revision": last})))
    page.start()
    time.sleep(0.2)
    assert not replies
    post(server, {"do": "stroke", "points": [[40, 5]], "label": 2, "brush": 4})
    page.join(10)
    ((reply, content),) = replies
    assert reply["revision"] > last
    assert unpack(reply, content)["background"].reshape(H, W)[5, 40]


def test_a_page_that_waits_long_gets_the_same_view(
    server: Server, session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(session_module, "LONGEST_WAIT", 0.1)
    last = settled(session).numbers.revision
    reply, _ = post(server, {"do": "wait", "revision": last})
    assert reply["revision"] == last


def test_pages_that_wait_hear_of_the_end(session: Session) -> None:
    last = settled(session).numbers.revision
    replies: list[Any] = []
    with Server(session) as server:
        page = threading.Thread(target=lambda: replies.append(post(server, {"do": "wait", "revision": last})))
        page.start()
        time.sleep(0.3)
    page.join(10)
    assert replies[0][0]["closed"]
    assert server.ended.is_set()
    with pytest.raises(OSError, match="refused"):
        socket.create_connection(("127.0.0.1", server.port))


def test_only_this_machine_is_served(server: Server) -> None:
    assert server._socket.getsockname()[0] == "127.0.0.1"
    assert len(server.token) >= 32
    assert server.token in server.url


def test_a_port_that_is_taken(server: Server, session: Session) -> None:
    for port in (server.port, 70_000):
        with pytest.raises(InvalidInputError, match=f"port {port} cannot be used"):
            Server(session, port=port)
    with pytest.raises(InvalidInputError, match="port must be"):
        Server(session, port=-1)


def test_another_program_cannot_take_the_port_on_windows(
    monkeypatch: pytest.MonkeyPatch, session: Session
) -> None:
    options: list[int] = []

    class Socket(socket.socket):
        def setsockopt(self, level: int, option: int, value: Any) -> None:  # type: ignore[override]
            options.append(option)

    monkeypatch.setattr("socket.socket", Socket)
    Server(session)._socket.close()
    monkeypatch.setattr("socket.SO_EXCLUSIVEADDRUSE", -5, raising=False)
    Server(session)._socket.close()
    expected = -5 if sys.platform == "win32" else socket.SO_REUSEADDR
    assert options == [expected, -5]


@pytest.mark.parametrize("number", ["1" + 400 * "0", "-1" + 400 * "0", "1e999", "NaN", "[1]", '"2"', "true"])
def test_numbers_that_no_float_holds_are_refused(server: Server, number: str) -> None:
    for request in (
        '{"do": "smoothness", "value": %s}',
        '{"do": "stroke", "label": 1, "brush": %s, "points": [[1, 1]]}',
        '{"do": "stroke", "label": 1, "brush": 2, "points": [[1, %s]]}',
        '{"do": "box", "points": [[1, 1], [%s, 2]]}',
        '{"do": "stroke", "label": %s, "brush": 2, "points": [[1, 1]]}',
    ):
        connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=30)
        connection.request("POST", f"/{server.token}/ask", request % number)
        reply = connection.getresponse()
        assert reply.status == 400, (request, reply.read())
        connection.close()


def test_paint_returns_the_painting(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    opened: list[str] = []
    files: list[Path] = []

    def browse(page: str) -> None:
        # Everybody can read the command line of a browser: it names a file that only its owner can read.
        file = Path(page.removeprefix("file://"))
        assert os.name != "posix" or file.stat().st_mode & 0o777 == 0o600
        files.append(file)
        url = re.findall('url=([^"]+)"', file.read_text())[0]
        assert url.split("/")[3] not in page
        opened.append(url)
        port, token = url.split(":")[2].split("/")[:2]
        connection = http.client.HTTPConnection("127.0.0.1", int(port), timeout=30)
        for stroke in STROKES:
            connection.request("POST", f"/{token}/ask", json.dumps(stroke))
            connection.getresponse().read()
        connection.close()
        raise KeyboardInterrupt

    monkeypatch.setattr("webbrowser.open", browse)
    painting = paint(picture())
    assert painting.ready
    assert painting.solve().mask.any()
    assert opened[0] in capsys.readouterr().err
    assert not files[0].exists()
    before = painting.labels.copy()
    assert paint(painting) is painting
    assert (painting.labels == before).all()


def test_ctrl_c_ends_the_command(tmp_path: Path) -> None:
    path = tmp_path / "block.png"
    path.write_bytes(png(picture()))
    command = [
        sys.executable,
        "-c",
        "from preflow.cli import main; main()",
        "paint",
        str(path),
        "--no-browser",
    ]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stdout is not None
    try:
        line = process.stdout.readline()
        assert "http://127.0.0.1:" in line
        process.send_signal(signal.SIGINT)
        output, errors = process.communicate(timeout=30)
    finally:
        process.kill()
    assert (output, errors, process.returncode) == ("stopped\n", "", 0)


def test_the_command_names_what_is_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "block.png"
    path.write_bytes(png(picture()))
    missing = CliRunner().invoke(app, ["paint", str(tmp_path / "nothing.png"), "--no-browser"])
    assert missing.exit_code == 2
    monkeypatch.setitem(sys.modules, "uvicorn", None)
    result = CliRunner().invoke(app, ["paint", str(path), "--no-browser"])
    assert result.exit_code == 4
    assert "pip install 'preflow[paint]'" in result.stderr
    with pytest.raises(MissingDependencyError):
        paint(Painting(picture()), browser=False)


def test_the_command_takes_the_sides_of_pixels(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "block.png"
    path.write_bytes(png(picture()))
    served: list[Session] = []
    monkeypatch.setattr(server_module, "serve", lambda session, **_: served.append(session))
    result = CliRunner().invoke(app, ["paint", str(path), "--spacing", "1,2"])
    assert result.exit_code == 0, result.output
    assert served[0].painting.spacing == (2, 1)
    served[0].close()
    refused = CliRunner().invoke(app, ["paint", str(path), "--spacing", "1,2,3"])
    assert refused.exit_code == 2
    assert "--spacing" in refused.stderr
