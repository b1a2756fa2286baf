"""Serve the page on which a user paints seeds, on this machine only.

The server listens on 127.0.0.1. Other users of the machine and web pages of other origins must not reach it.
So every path starts with a random token, and a request must name this machine as its host, and as its origin
if it has one. The page may load nothing from elsewhere. Starlette and Uvicorn are loaded when it starts.
"""

from __future__ import annotations

import json
import math
import secrets
import socket
import sys
import tempfile
import threading
import webbrowser
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import ExitStack, contextmanager
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from ...checks import check_integer, needed_for
from ...errors import InvalidInputError, ParseError, PreflowError
from ..painting import Painting
from ..pictures import decode_image
from ..planes import Volume
from .session import Message, Session

if TYPE_CHECKING:
    from starlette.applications import Starlette
    from starlette.requests import Request
    from starlette.responses import Response

#: Most bytes of a request, and of an uploaded picture.
MOST_REQUEST, MOST_UPLOAD = 1 << 21, 1 << 26
#: Most pixels of an uploaded picture: its painting takes 150 bytes for each.
MOST_PIXELS = 1 << 24
#: Formats of uploads. Pillow reads some others by programs that it starts.
FORMATS = ("BMP", "GIF", "JPEG", "PNG", "TIFF", "WEBP")
#: A page that opens another one.
LEADS_TO = """<!DOCTYPE html>
<meta charset="utf-8">
<meta http-equiv="refresh" content="0; url={0}">
<title>preflow paint</title>
<p><a href="{0}">Paint</a></p>
"""
#: Names of this machine in the header "Host".
HOSTS = ("127.0.0.1", "localhost")

FILES = {
    "": ("page.html", "text/html; charset=utf-8"),
    "page.js": ("page.js", "text/javascript; charset=utf-8"),
    "paint.js": ("paint.js", "text/javascript; charset=utf-8"),
    "paint.css": ("paint.css", "text/css; charset=utf-8"),
}
HEADERS = {
    "content-security-policy": "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
    "img-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
    "cache-control": "no-store",
}


def paint(image: ArrayLike | Volume | Painting, *, port: int = 0, browser: bool = True) -> Painting:
    """Open a page in the browser on which a user paints seeds on an image, until Ctrl-C.

    Parameters
    ----------
    image : array_like, Volume or Painting
        As for :class:`Painting`. A painting keeps its seeds, and its smoothness and model are used.
    port : int
        Port on 127.0.0.1; 0 takes a free one.
    browser : bool
        Whether to open the browser; the address is printed in any case.

    Returns
    -------
    Painting
        With the seeds that were painted; ``solve()`` returns their segmentation.

    Raises
    ------
    InvalidInputError
        As :class:`Painting`, or the port cannot be used.
    MissingDependencyError
        Starlette or Uvicorn is not installed: both are in the extra ``paint``.

    Examples
    --------
    >>> painting = paint(photo)  # doctest: +SKIP
    >>> painting.solve().mask  # doctest: +SKIP
    """
    session = Session(image if isinstance(image, Painting) else Painting(image))
    serve(session, port=port, browser=browser, announce=lambda text: print(text, file=sys.stderr, flush=True))
    return session.painting


def serve(session: Session, *, port: int, browser: bool, announce: Callable[[str], None]) -> None:
    """Serve a session until Ctrl-C."""
    with session, Server(session, port=port) as server, ExitStack() as stack:
        try:
            announce(f"paint at {server.url} (Ctrl-C stops)")
            if browser:
                webbrowser.open(stack.enter_context(_private_page(server.url)))
            while not server.ended.wait(1.0):
                pass
        except KeyboardInterrupt:
            announce("stopped")


@contextmanager
def _private_page(url: str) -> Iterator[str]:
    """Yield the address of a file that leads to `url`, and that no other user can read.

    The command line of a browser is there for every user of the machine to read, and `url` has the token.
    """
    handle, name = tempfile.mkstemp(prefix="preflow-paint-", suffix=".html")  # with mode 0600
    try:
        with open(handle, "w", encoding="utf-8") as file:
            file.write(LEADS_TO.format(url))
        yield Path(name).as_uri()
    finally:
        Path(name).unlink(missing_ok=True)


class Server:
    """A server of one session, in a thread of its own from ``with`` on; port 0 takes a free one."""

    def __init__(self, session: Session, *, port: int = 0) -> None:
        port = check_integer("port", port, minimum=0)
        check_installed()
        import uvicorn

        self._session = session
        self.token = secrets.token_urlsafe(24)
        self._socket = socket.socket()
        # On Windows SO_REUSEADDR lets another program take the port; its other option keeps it.
        option: int = getattr(socket, "SO_EXCLUSIVEADDRUSE", socket.SO_REUSEADDR)
        self._socket.setsockopt(socket.SOL_SOCKET, option, 1)
        try:
            self._socket.bind((HOSTS[0], port))
        except (OSError, OverflowError) as error:
            self._socket.close()
            raise InvalidInputError(f"port {port} cannot be used: {error}") from error
        self.port: int = self._socket.getsockname()[1]
        self.ended = threading.Event()
        self._server = uvicorn.Server(
            uvicorn.Config(
                application(session, self.token),
                log_level="error",
                access_log=False,
                server_header=False,
                lifespan="off",
                ws="none",
                timeout_graceful_shutdown=2,
            )
        )
        self._thread = threading.Thread(target=self._run, name="preflow-server", daemon=True)

    @property
    def url(self) -> str:
        """Address of the page."""
        return f"http://{HOSTS[0]}:{self.port}/{self.token}/"

    def __enter__(self) -> Server:
        self._socket.listen()  # a browser may connect before the thread has started
        self._thread.start()
        return self

    def _run(self) -> None:
        try:
            self._server.run(sockets=[self._socket])
        finally:
            self.ended.set()

    def __exit__(self, *error: object) -> None:
        self._session.close()  # pages that wait get a last reply
        self._server.should_exit = True
        self._thread.join(5.0)


def application(session: Session, token: str) -> Starlette:
    """Return the ASGI application that serves a session below ``/token/``."""
    check_installed()
    from anyio import CapacityLimiter, to_thread
    from starlette.applications import Starlette
    from starlette.middleware import Middleware
    from starlette.middleware.base import BaseHTTPMiddleware, RequestResponseEndpoint
    from starlette.responses import PlainTextResponse, Response
    from starlette.routing import Route

    folder = Path(__file__).parent
    contents = {name: folder.joinpath(file).read_bytes() for name, (file, _) in FILES.items()}
    waiting = CapacityLimiter(math.inf)  # each page that waits for a change has a thread

    async def static(request: Request) -> Response:
        name = request.path_params["name"]
        if name not in FILES:
            return Response("not found", 404)
        return Response(contents[name], media_type=FILES[name][1])

    async def ask(request: Request) -> Response:
        try:
            message = _parsed(await _body(request, MOST_REQUEST))
            reply, content = await to_thread.run_sync(session.answer, message, limiter=waiting)
        except (PreflowError, MemoryError) as error:
            return _refusal(error)
        head = json.dumps(reply).encode()
        return Response(
            len(head).to_bytes(4, "little") + head + content, media_type="application/octet-stream"
        )

    async def upload(request: Request) -> Response:
        try:
            content = await _body(request, MOST_UPLOAD)
            name = request.query_params.get("name", "picture")[-200:]
            await to_thread.run_sync(open_upload, session, content, name)
        except (PreflowError, MemoryError) as error:
            return _refusal(error)
        return Response(status_code=204)

    def _refusal(error: Exception) -> Response:
        text = "not enough memory" if isinstance(error, MemoryError) else str(error)
        return Response(json.dumps({"error": text}), 400, media_type="application/json")

    async def guard(request: Request, answer: RequestResponseEndpoint) -> Response:
        """Answer 403 or 404 to whoever is not the page of this server, and add the headers."""
        hosts, origins = request.headers.getlist("host"), request.headers.getlist("origin")
        path = request.scope["path"].split("/")
        known = len(hosts) == 1 and hosts[0].rsplit(":", 1)[0] in HOSTS
        if not known or any(origin != f"http://{hosts[0]}" for origin in origins):
            response: Response = PlainTextResponse("forbidden", 403)
        elif len(path) < 3 or not secrets.compare_digest(path[1].encode("utf-8", "replace"), token.encode()):
            response = PlainTextResponse("not found", 404)
        else:
            response = await answer(request)
        response.headers.update(HEADERS)
        return response

    routes = [
        Route("/{token}/ask", ask, methods=["POST"]),
        Route("/{token}/upload", upload, methods=["POST"]),
        Route("/{token}/{name:path}", static, methods=["GET"]),
    ]
    return Starlette(routes=routes, middleware=[Middleware(BaseHTTPMiddleware, dispatch=guard)])


def open_upload(session: Session, content: bytes, name: str) -> None:
    """Show an uploaded picture instead of the one that is painted on.

    ParseError: it is not a picture of one of the formats, or has too many pixels.
    """
    from PIL import Image

    formats = ", ".join(FORMATS)
    try:
        with Image.open(BytesIO(content), formats=FORMATS) as header:
            width, height = header.size
    except Exception as error:  # a decoder raises whatever a damaged file leads it to
        raise ParseError(name, None, f"is not a picture ({formats}), or a damaged one") from error
    if width * height > MOST_PIXELS:
        size = f"{width:,} x {height:,} pixels"
        raise ParseError(name, None, f"has {size}, more than {MOST_PIXELS:,}: use a smaller copy")
    pixels = decode_image(content, name)
    if pixels.dtype == np.bool_:
        pixels = pixels.astype(np.uint8) * 255
    last = session.painting
    # A volume has another scale of smoothness than a picture.
    session.replace(Painting(pixels, smoothness=last.smoothness if len(last.shape) == 2 else None), name=name)


async def _body(request: Request, most: int) -> bytes:
    """Return the body of a request, which may have at most `most` bytes."""
    announced = request.headers.get("content-length", "0")
    parts: list[bytes] = []
    length = int(announced) if announced.isdigit() else 0
    stream: AsyncIterator[bytes] = request.stream()
    if length <= most:
        length = 0
        async for part in stream:
            length += len(part)
            if length > most:
                break
            parts.append(part)
    if length > most:
        raise InvalidInputError(f"the file has more than {most:,} bytes: use a smaller copy")
    return b"".join(parts)


def _parsed(body: bytes) -> Message:
    try:
        message = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise InvalidInputError("the request is not JSON") from error
    if not isinstance(message, dict):
        raise InvalidInputError("the request must be an object of JSON")
    return message


def check_installed() -> None:
    """Raise MissingDependencyError where a package of the extra ``paint`` is missing."""
    with needed_for("painting in the browser", "Starlette and Uvicorn", "paint"):
        import starlette
        import uvicorn
    del starlette, uvicorn
