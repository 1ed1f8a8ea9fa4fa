"""JSON over HTTP: retries, limits, no redirects, and no token in any message."""

import http.client
import ipaddress
import json
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from email.utils import parsedate_to_datetime
from typing import Any, TypeAlias

from faircrowd.errors import OptionError, PushError
from faircrowd.publish.push.access_token import AccessToken

__all__ = ["Authorize", "Client", "UncertainError", "check_url", "is_loopback"]

_TIMEOUT = 60.0
_TRIES = 5
_LONGEST_WAIT = 60.0
_MOST_BYTES = 1 << 29
_SHOWN, _LOOKED_AT = 300, 1 << 14
_BUSY = 429
_TRY_AGAIN = (_BUSY, 500, 502, 503, 504)
_REFUSED = (401, 403)
_FIRST_REDIRECT, _FIRST_ERROR = 300, 400

Authorize: TypeAlias = Callable[["Client"], Mapping[str, str]]


class UncertainError(PushError):
    """Nobody knows whether a request was carried out: the connection broke, or the server failed while it was."""


class _RetryError(Exception):
    """A request may be sent again."""

    def __init__(self, error: PushError, wait: float | None = None, *, renew: bool = False) -> None:
        super().__init__()
        self.error, self.wait, self.renew = error, wait, renew


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    """A redirect would hand the token to another place."""

    def redirect_request(self, *_: Any, **__: Any) -> None:
        return None


def check_url(url: str, *, allow_http: bool = False) -> str:
    """Return the URL of a server without a slash at its end.

    Raises
    ------
    OptionError
        If it is none, holds a password, or is not encrypted although the server is another machine.

    Examples
    --------
    >>> check_url("https://labels.example.com/studio/")
    'https://labels.example.com/studio'
    >>> check_url("http://127.0.0.1:8080")
    'http://127.0.0.1:8080'
    """
    try:
        parts = urllib.parse.urlsplit(url.strip())
        host, _ = parts.hostname, parts.port
    except ValueError:
        parts, host = urllib.parse.urlsplit(""), None
    if "@" in parts.netloc:
        raise OptionError("The URL of push=... holds a user or a password; give the token in token_file=... instead.")
    if parts.scheme not in ("http", "https") or not host or not url.isprintable() or " " in url.strip():
        raise OptionError("push=... must be the URL of the server, such as https://labels.example.com.")
    if parts.query or parts.fragment:
        raise OptionError("The URL of push=... must end before '?' and '#'; name the project with project=...")
    if parts.scheme == "http" and not allow_http and not is_loopback(host):
        raise OptionError(
            f"{parts.scheme}://{parts.netloc} is not encrypted, so others could read the token on its way; use https, "
            "or allow_http=True on a network that you trust.",
            parameter="allow_http",
        )
    return url.strip().rstrip("/")


def is_loopback(host: str) -> bool:
    """Return whether a host is this machine."""
    if host.lower() == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


@dataclass
class Client:
    """A server that speaks JSON.

    Attributes
    ----------
    url : str
        As :func:`check_url` returns it.
    token : AccessToken
    headers : function of a client
        The headers by which the server knows the token; called again once when the server refuses them.
    sleep : function of seconds
        Waits between attempts.
    more_secrets : list of AccessToken
        What the token was exchanged for; hidden as it is.
    """

    url: str
    token: AccessToken
    headers: Authorize
    sleep: Callable[[float], None] = field(default_factory=lambda: time.sleep)
    more_secrets: list[AccessToken] = field(default_factory=list)
    _sent: Mapping[str, str] | None = field(default=None, repr=False)

    def get(self, path: str, **query: str | int) -> Any:
        """Ask for a JSON value; try again when the server is busy or cannot be reached."""
        return self._with_retries("GET", path, None, query, again=True)

    def put(self, path: str, body: Any, method: str = "PUT") -> Any:
        """Send what may be sent twice; try again as :meth:`get` does."""
        return self._with_retries(method, path, body, {}, again=True)

    def post(self, path: str, body: Any) -> Any:
        """Send what must not be sent twice: try again only if it was surely not carried out.

        Raises
        ------
        UncertainError
            If nobody knows whether it was; look what is there before it is sent again.
        """
        return self._with_retries("POST", path, body, {}, again=False)

    def bare_post(self, path: str, body: Any) -> Any:
        """Send something without the token, such as the request for one."""
        return self._once("POST", path, body, {}, {})

    def hidden(self, text: str) -> str:
        """Return a text on one line, without any token."""
        for secret in (self.token, *self.more_secrets):
            text = secret.hidden_in(text)
        return " ".join(text.split())

    def _excerpt(self, content: bytes) -> str:
        """Return the start of an answer for a message; tokens are hidden before it is cut, so that no part stays."""
        shown = self.hidden(content[:_LOOKED_AT].decode("utf-8", "replace"))
        if len(content) > _LOOKED_AT:  # the end may be part of a token
            shown = shown[: -max(len(secret.secret) for secret in (self.token, *self.more_secrets))]
        return shown[:_SHOWN]

    def _with_retries(self, method: str, path: str, body: Any, query: Mapping[str, str | int], *, again: bool) -> Any:
        renewed = False
        for attempt in range(_TRIES):
            try:
                if self._sent is None:
                    self._sent = self.headers(self)
                return self._once(method, path, body, query, self._sent)
            except _RetryError as retry:
                is_unsafe = isinstance(retry.error, UncertainError) and not again
                if attempt == _TRIES - 1 or is_unsafe or (retry.renew and renewed):
                    raise retry.error from None
                if retry.renew:  # access that a token bought may have run out
                    renewed, self._sent = True, None
                    continue
                wait = 0.5 * 2**attempt if retry.wait is None else retry.wait
            self.sleep(min(wait, _LONGEST_WAIT))
        raise AssertionError  # the last attempt returns or raises

    def _once(
        self, method: str, path: str, body: Any, query: Mapping[str, str | int], headers: Mapping[str, str]
    ) -> Any:
        where = f"{self.url}{path}"
        address = where + (f"?{urllib.parse.urlencode(query)}" if query else "")
        data = None if body is None else json.dumps(body, allow_nan=False).encode()
        given = {"Accept": "application/json", "Content-Type": "application/json", "User-Agent": "faircrowd", **headers}
        request = urllib.request.Request(address, data, given, method=method)  # noqa: S310 - http and https alone
        host = urllib.parse.urlsplit(self.url).hostname or ""
        proxies = urllib.request.ProxyHandler({} if is_loopback(host) else None)
        opener = urllib.request.build_opener(proxies, _NoRedirects)
        try:
            with opener.open(request, timeout=_TIMEOUT) as response:
                content = response.read(_MOST_BYTES + 1)
        except urllib.error.HTTPError as error:
            with error:
                raise self._of_status(f"{method} {where}", error) from None
        except (OSError, http.client.HTTPException) as error:
            raise self._of_connection(f"{method} {where}", error) from None
        if len(content) > _MOST_BYTES:
            raise PushError(f"{method} {where} answered with more than {_MOST_BYTES:,} bytes.")
        try:
            return json.loads(content) if content.strip() else None
        except (ValueError, RecursionError):
            shown = self._excerpt(content)
            raise PushError(f"{method} {where} answered with no JSON ({shown!r}); is it the right server?") from None

    def _of_status(self, what: str, error: urllib.error.HTTPError) -> Exception:
        try:
            shown = self._excerpt(error.read(_LOOKED_AT + 1))
        except (OSError, http.client.HTTPException):
            shown = ""
        said = f"{what} answered {error.code} {self.hidden(str(error.reason))[:80]}" + (f": {shown}" if shown else "")
        if _FIRST_REDIRECT <= error.code < _FIRST_ERROR:
            return PushError(
                f"{said}; redirects are not followed, because they would hand on the token. Give the URL it leads to."
            )
        if error.code in _REFUSED:
            refused = PushError(f"{said}. The token in token_file=... is not valid there, or not allowed to do this.")
            return _RetryError(refused, renew=True)
        if error.code == _BUSY:
            return _RetryError(PushError(f"{said}, {_TRIES} times; try again later."), _wait(error.headers))
        if error.code in _TRY_AGAIN:
            return _RetryError(UncertainError(f"{said}; try again later."), _wait(error.headers))
        return PushError(f"{said}.")

    def _of_connection(self, what: str, error: Exception) -> Exception:
        reason = error.reason if isinstance(error, urllib.error.URLError) else error
        text = self.hidden(str(getattr(reason, "strerror", None) or reason or type(reason).__name__))[:_SHOWN]
        if isinstance(reason, ConnectionRefusedError):
            return _RetryError(PushError(f"{what}: {text}; is the server running?"))
        if type(reason).__name__ == "SSLCertVerificationError":
            return PushError(f"{what}: its certificate is not trusted ({text}).")
        return _RetryError(UncertainError(f"{what}: {text}."))


def _wait(headers: Any) -> float | None:
    """Return the seconds that a server asks to wait."""
    given = headers.get("Retry-After") if headers is not None else None
    if given is None:
        return None
    try:
        return max(float(given), 0.0)
    except ValueError:
        pass
    try:
        return max(parsedate_to_datetime(given).timestamp() - time.time(), 0.0)
    except (TypeError, ValueError):
        return None
