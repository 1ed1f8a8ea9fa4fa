"""An HTTP server for a few JSON requests: who may ask, how much, and for how long."""

import base64
import binascii
import hmac
import json
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Protocol
from urllib.parse import urlsplit

from faircrowd.errors import FaircrowdError, OptionError
from faircrowd.publish.push.access_token import AccessToken
from faircrowd.publish.push.http_client import is_loopback
from faircrowd.storage.untrusted import parse_json

__all__ = ["MAX_BODY", "Backend", "make_server"]

MAX_BODY = 64 << 20
"""How many bytes a request may have."""
_TIMEOUT = 30.0
_LONGEST_READ, _LONGEST_DRAIN = 120.0, 5.0
_CONNECTIONS = 32
_PIECE = 1 << 16
_MOST_DRAINED = 1 << 20
_OPEN = ("/", "/health")
"""What may be asked for with GET and without a token: whether the server is up."""


class Backend(Protocol):
    """What answers requests; None means that there is no such page."""

    def get(self, path: str) -> Any:
        """Answer a GET request."""

    def post(self, path: str, body: Any) -> Any:
        """Answer a POST request."""


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    backend: Backend
    token: AccessToken | None
    max_body: int
    is_local: bool
    tell: Callable[[str], None]
    free: threading.BoundedSemaphore

    def process_request(self, request: Any, client_address: Any) -> None:
        if not self.free.acquire(blocking=False):
            self.shutdown_request(request)
            return
        super().process_request(request, client_address)

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        try:
            super().process_request_thread(request, client_address)
        finally:
            self.free.release()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Print nothing about a client that went away."""


def _host_name(host: str) -> str:
    """Return the header Host without its port."""
    try:
        return urlsplit(f"//{host}").hostname or ""
    except ValueError:
        return ""


class _RefusedError(Exception):
    def __init__(self, status: int, reason: str) -> None:
        super().__init__(reason)
        self.status, self.reason = status, reason


class _Handler(BaseHTTPRequestHandler):
    server: _Server
    server_version, sys_version = "faircrowd", ""
    protocol_version = "HTTP/1.1"
    timeout = _TIMEOUT
    has_read = False

    def do_GET(self) -> None:
        if "Content-Length" in self.headers or "Transfer-Encoding" in self.headers:
            self.close_connection = True  # a body that is not read is no next request
        self._answer(self.server.backend.get)

    def do_POST(self) -> None:
        self._answer(self._post)

    def _post(self, path: str) -> Any:
        if self.headers.get_content_type() != "application/json":  # a web page may send other types without asking
            raise _RefusedError(415, "The request must be of the type application/json.")
        return self.server.backend.post(path, self._body())

    def _answer(self, ask: Callable[[str], Any]) -> None:
        self.has_read = False
        path = "/" + self.path.split("?", 1)[0].strip("/")
        try:
            self._check_origin()
            if self.command != "GET" or path not in _OPEN:
                self._check_token()
            found = ask(path)
            if found is None:
                raise _RefusedError(404, "There is no such page.")
            self._send(200, found)
        except _RefusedError as error:
            self._refuse(error.status, error.reason, path)
        except FaircrowdError as error:
            self._refuse(400, str(error)[:500], path)
        except OSError:
            self.close_connection = True
        except Exception as error:  # a bug: its kind is for whoever runs the server, and nothing for whoever asks
            self._refuse(500, "The request could not be answered.", path, type(error).__name__)

    def _check_origin(self) -> None:
        """Raise if a web page asks: one of another place, or one whose name was made to lead to this machine."""
        host = self.headers.get("Host", "")
        if self.server.is_local and not is_loopback(_host_name(host)):
            raise _RefusedError(421, "The header Host must name this machine, such as 127.0.0.1 or localhost.")
        origins = self.headers.get_all("Origin", [])
        if any(origin.lower() not in (f"http://{host}".lower(), f"https://{host}".lower()) for origin in origins):
            raise _RefusedError(403, "Web pages of other servers may not ask.")

    def _check_token(self) -> None:
        token = self.server.token
        if token is None:
            return
        kind, _, given = (self.headers.get("Authorization") or "").partition(" ")
        given = given.strip()
        if kind.lower() == "basic":
            try:
                given = base64.b64decode(given, validate=True).decode().partition(":")[2]
            except (binascii.Error, UnicodeDecodeError):
                given = ""
        if not hmac.compare_digest(given.encode(), token.secret.encode()):
            raise _RefusedError(401, "Give the token of the server, as password or as 'Authorization: Token ...'.")

    def _body(self) -> Any:
        length = self.headers.get("Content-Length", "")
        if self.headers.get("Transfer-Encoding") or not (length.isascii() and length.isdecimal()):
            raise _RefusedError(411, "The request must say how long it is.")
        if len(length) > 15 or int(length) > self.server.max_body:
            raise _RefusedError(413, f"The request is longer than {self.server.max_body:,} bytes.")
        content = self._read(int(length), _LONGEST_READ)
        if len(content) < int(length):
            raise _RefusedError(408, "The request did not arrive in time.")
        try:
            text = content.decode()
        except UnicodeDecodeError:
            raise _RefusedError(400, "The request is not UTF-8.") from None
        return parse_json(text or "{}", "The request cannot be read")

    def _read(self, length: int, seconds: float) -> bytes:
        """Return what arrives of a body until then."""
        self.has_read = True
        found, end = bytearray(), time.monotonic() + seconds
        while len(found) < length and time.monotonic() <= end:
            piece = self.rfile.read1(min(length - len(found), _PIECE))  # what is there, however little
            if not piece:
                break
            found += piece
        return bytes(found)

    def _drain(self) -> None:
        """Read what a small request still holds: a connection that is closed before loses the answer."""
        length = self.headers.get("Content-Length", "")
        if not self.has_read and length.isascii() and length.isdecimal() and int(length[:9]) <= _MOST_DRAINED:
            self._read(int(length[:9]), _LONGEST_DRAIN)

    def _refuse(self, status: int, reason: str, path: str, more: str = "") -> None:
        self.close_connection = True
        with suppress(OSError):
            self._drain()
        shown = "".join(c if c.isprintable() else "?" for c in path[:60])
        self.server.tell(f"{self.command} {shown}: {status} {reason}{f' ({more})' if more else ''}")
        self._send(status, {"error": reason})

    def _send(self, status: int, value: Any) -> None:
        content = json.dumps(value, allow_nan=False).encode()
        try:
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(content)))
            self.send_header("X-Content-Type-Options", "nosniff")
            if status == 401:
                self.send_header("WWW-Authenticate", 'Basic realm="faircrowd"')
            if self.close_connection:
                self.send_header("Connection", "close")
            self.end_headers()
            self.wfile.write(content)
        except OSError:
            self.close_connection = True

    def log_message(self, format: str, *args: Any) -> None:
        """Write no log: addresses and headers are nobody's business."""


def make_server(
    backend: Backend,
    host: str = "127.0.0.1",
    port: int = 9090,
    *,
    token: AccessToken | None = None,
    max_body: int = MAX_BODY,
    tell: Callable[[str], None] = lambda line: None,
) -> ThreadingHTTPServer:
    """Return a server that listens, and answers once its ``serve_forever`` is called.

    Parameters
    ----------
    backend : Backend
    host, port
        Where to listen; port 0 takes a free one.
    token : AccessToken, optional
        Asked for as the password of HTTP Basic, or in the header ``Authorization``. Only this machine may do without.
    max_body : int
        How many bytes a request may have.
    tell : function of a line
        Told of requests that are refused.
    """
    if token is None and not is_loopback(host):
        raise OptionError(f"host={host!r} is open to other machines, so a token is needed; give token_file=...")
    try:
        server = _Server((host, port), _Handler)
    except (OSError, OverflowError) as error:
        raise OptionError(
            f"{host}:{port} cannot be listened to: {getattr(error, 'strerror', None) or error}.", parameter="port"
        ) from None
    server.backend, server.token, server.max_body, server.tell = backend, token, max_body, tell
    server.is_local = is_loopback(host)
    server.free = threading.BoundedSemaphore(_CONNECTIONS)
    return server
