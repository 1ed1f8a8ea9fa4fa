from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest

from faircrowd.errors import FileError, InputError, OptionError, PushError
from faircrowd.publish.push.access_token import AccessToken, read_token
from faircrowd.publish.push.http_client import Client, UncertainError, check_url
from faircrowd.publish.push.label_studio_push import label_studio_headers
from publish.push.fake_platform import SECRET, FakePlatform, fake_platform


def client_of(platform: FakePlatform, waits: list[float] | None = None, secret: str = SECRET) -> Client:
    return Client(platform.url, AccessToken(secret), label_studio_headers, (waits if waits is not None else []).append)


@pytest.mark.parametrize(
    ("url", "message"),
    [
        ("ftp://x", "must be the URL"),
        ("x.example.com", "must be the URL"),
        ("https://", "must be the URL"),
        ("https://x:99999", "must be the URL"),
        ("https://[::1", "must be the URL"),
        ("https://a b", "must be the URL"),
        ("https://me:pass@x.example.com", "a user or a password"),
        ("https://x.example.com?key=1", "must end before"),
        ("http://x.example.com", "is not encrypted"),
        ("http://10.0.0.1:8080", "is not encrypted"),
    ],
)
def test_urls_that_are_refused(url: str, message: str) -> None:
    with pytest.raises(OptionError, match=message) as caught:
        check_url(url)
    assert "pass@" not in str(caught.value)


def test_urls_that_are_allowed() -> None:
    for url in ("https://x.example.com/a", "http://localhost:8080", "http://127.0.0.1", "http://[::1]:8080"):
        assert check_url(url + "/") == url
    assert check_url("http://x.example.com", allow_http=True) == "http://x.example.com"


def test_tokens_are_read_from_files(tmp_path: Path) -> None:
    path = tmp_path / "token"
    path.write_text(f"  {SECRET}\n")
    path.chmod(0o600)
    token, notes = read_token(path)
    assert (token.secret, notes) == (SECRET, [])
    path.chmod(0o644)
    assert "chmod 600" in read_token(path)[1][0]
    for content in (b"", b"two words", b"a\nb", "ä".encode(), b"x" * 10_000, b"a\r\nX-Header: 1"):
        path.write_bytes(content)
        with pytest.raises(InputError, match="one token alone"):
            read_token(path)
    with pytest.raises(FileError, match="cannot be read"):
        read_token(tmp_path / "none")


def test_tokens_are_never_shown() -> None:
    token = AccessToken(SECRET)
    assert SECRET not in f"{token!r}{token}{Client('https://x', token, lambda _: {})!r}"
    assert SECRET[:16] not in token.hidden_in(f"x {SECRET[:16]}...")


def test_a_busy_server_is_asked_again_when_it_says() -> None:
    waits: list[float] = []
    with fake_platform(failures=[429, 503, "drop"]) as platform:
        assert client_of(platform, waits).get("/api/projects/3/")["title"] == "crowd"
    assert waits == [7.0, 1.0, 2.0]


def test_failures_end_with_a_message_without_the_token() -> None:
    with fake_platform(failures=[500] * 9) as platform:
        with pytest.raises(PushError, match=r"answered 500 .*failed for Token \*\*\*") as caught:
            client_of(platform).get("/api/projects/3/")
        assert len(platform.asked) == 5
    assert SECRET not in str(caught.value)
    assert caught.value.__cause__ is None
    assert caught.value.__suppress_context__


@pytest.mark.parametrize("status", [200, 400])
def test_no_part_of_a_token_stays_where_an_answer_is_cut(status: int) -> None:
    secret = "".join(f"{k:02x}" for k in range(20, 40))
    answers: list[bytes] = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(status)
            self.end_headers()
            self.wfile.write(answers[-1])

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
        client = Client(f"http://127.0.0.1:{server.server_port}", AccessToken(secret), lambda _: {}, lambda _: None)
        for end in (300, 1200, 1 << 14):
            for shown in (1, 12, 27, 39, 40):
                answers.append(b"x " + b" " * (end - shown - 2) + secret.encode() + b" " * 1000 + b"y" * 20)
                with pytest.raises(PushError) as caught:
                    client.get("/")
                assert not [k for k in range(32) if secret[k : k + 8] in str(caught.value)], (end, shown)
        server.shutdown()


def test_what_may_not_be_sent_twice_is_not() -> None:
    for failure in (500, "drop", "drop after"):
        with fake_platform(failures=[failure]) as platform:
            with pytest.raises(UncertainError):
                client_of(platform).post("/api/projects/3/import/predictions", [])
            assert len(platform.asked) == 1
    with fake_platform(failures=[429]) as platform:  # not carried out, for sure
        assert client_of(platform).post("/api/projects/3/import/predictions", []) == {"created": 0}


def test_redirects_are_not_followed() -> None:
    with fake_platform() as other, fake_platform(failures=[302], location=other.url) as platform:
        with pytest.raises(PushError, match="redirects are not followed"):
            client_of(platform).get("/api/projects/3/")
        assert other.asked == []


def test_a_wrong_token_is_told() -> None:
    with fake_platform() as platform, pytest.raises(PushError, match=r"answered 401.*token_file"):
        client_of(platform, secret="f" * 40).get("/api/projects/3/")


def test_personal_access_tokens_buy_access() -> None:
    with fake_platform() as platform:
        client = client_of(platform, secret=f"a.b.{SECRET}")
        assert client.get("/api/projects/3/")["title"] == "crowd"
        assert platform.asked[0] == ("POST", "/api/token/refresh")
        platform.failures, platform.fails_on = [401], lambda method, path: "projects" in path
        assert client.get("/api/projects/3/")["title"] == "crowd"  # access has run out, and is bought again
        assert "access-" not in client.hidden("Bearer " + "access-" * 5)


def test_servers_that_are_none() -> None:
    with fake_platform() as platform:
        url = platform.url
    with pytest.raises(PushError, match="is the server running"):
        Client(url, AccessToken(SECRET), lambda _: {}, lambda _: None).get("/")
