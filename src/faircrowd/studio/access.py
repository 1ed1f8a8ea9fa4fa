"""Who may ask the studio: this machine, with the token, and no web page of another place."""

import hmac
from urllib.parse import parse_qs, urlencode, urlsplit

from starlette.requests import Request
from starlette.responses import PlainTextResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from faircrowd.publish.push.http_client import is_loopback

__all__ = ["POLICY", "Access"]

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "frame-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
"""What the pages of the studio may load: nothing that is not its own."""
_HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "same-origin",  # without a referrer, forms of our own pages would come from nowhere
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}


class Access:
    """Lets requests through that come from this machine's browser and carry the token.

    The token comes once in the address, and then in a cookie that other sites cannot send. Names that lead to this
    machine by a trick (DNS rebinding) are refused by the header Host, pages of other places by Origin and
    Sec-Fetch-Site.

    Parameters
    ----------
    app : ASGI application
    token : str
    """

    def __init__(self, app: ASGIApp, token: str) -> None:
        self._app, self._token = app, token

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or refuse it."""
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        if scope["type"] != "http":  # no web sockets here
            return
        answer = self._refusal(Request(scope))
        await (self._app if answer is None else answer)(scope, receive, _with_headers(send))

    def _refusal(self, request: Request) -> Response | None:
        host = request.headers.get("host", "")
        if not is_loopback(_host_name(host)):
            return PlainTextResponse("The address must be this machine's own, such as 127.0.0.1.", 421)
        origins = request.headers.getlist("origin")
        if any(origin.lower() != f"http://{host}".lower() for origin in origins):
            return PlainTextResponse("Web pages of other places may not ask.", 403)
        site, mode = request.headers.get("sec-fetch-site"), request.headers.get("sec-fetch-mode")
        if site in ("cross-site", "same-site") and (request.method != "GET" or mode != "navigate"):
            return PlainTextResponse("Web pages of other places may not ask.", 403)
        if request.method not in ("GET", "HEAD") and not origins and site != "same-origin":
            return PlainTextResponse("This request must come from a page of the studio.", 403)
        cookie = f"faircrowd-{request.url.port or 80}"
        given = request.query_params.get("token")
        if given is not None and hmac.compare_digest(given.encode(), self._token.encode()):
            rest = {name: value for name, value in parse_qs(request.url.query).items() if name != "token"}
            answer = RedirectResponse(request.url.path + (f"?{urlencode(rest, doseq=True)}" if rest else ""), 303)
            answer.set_cookie(cookie, self._token, httponly=True, samesite="strict", path="/")
            return answer
        if not hmac.compare_digest(request.cookies.get(cookie, "").encode(), self._token.encode()):
            return PlainTextResponse(
                "This page needs the address with its token, which the terminal printed when the studio started.", 401
            )
        return None


def _with_headers(send: Send) -> Send:
    async def sending(message: Message) -> None:
        if message["type"] == "http.response.start":
            names = {name.lower() for name, _ in message["headers"]}
            more = {**_HEADERS, "Content-Security-Policy": POLICY}
            message["headers"] = [
                *message["headers"],
                *((n.encode(), v.encode()) for n, v in more.items() if n.lower().encode() not in names),
            ]
        await send(message)

    return sending


def _host_name(host: str) -> str:
    try:
        return urlsplit(f"//{host}").hostname or ""
    except ValueError:
        return ""
