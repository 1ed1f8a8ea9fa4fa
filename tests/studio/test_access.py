"""Who may ask the studio, and who may not."""

from collections.abc import Callable
from typing import Any

import pytest

from studio.conftest import PLACE, TOKEN, Visitor


def without_token(studio: Visitor) -> Visitor:
    studio.cookies.clear()
    return studio


def test_nothing_without_the_token(studio: Visitor) -> None:
    stranger = without_token(studio)
    for path in ("/", "/studio.js", "/files/votes.csv", "/jobs/0001/state", "/nothing", f"/?token={TOKEN[:-1]}x"):
        answer = stranger.get(path)
        assert answer.status_code == 401
        assert "votes.csv" not in answer.text
    assert stranger.put("/files/x.csv", content=b"1").status_code == 401


def test_the_token_leaves_the_address(studio: Visitor) -> None:
    answer = studio.get(f"/?token={TOKEN}", follow_redirects=False)
    assert (answer.status_code, answer.headers["location"]) == (303, "/")
    cookie = answer.headers["set-cookie"].lower()
    assert "httponly" in cookie
    assert "samesite=strict" in cookie


@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1.evil.example", "[", "", "169.254.0.1:8123"])
def test_other_names_of_this_machine_are_refused(studio: Visitor, host: str) -> None:
    assert studio.get("/", headers={"Host": host}).status_code == 421


@pytest.mark.parametrize("origin", ["null", "http://evil.example", "https://127.0.0.1:8123", "http://127.0.0.1:9999"])
def test_pages_of_other_places_are_refused(studio: Visitor, origin: str) -> None:
    for ask in (studio.get, studio.post):
        assert ask("/example", headers={"Origin": origin}).status_code == 403
    assert studio.get("/").text.count("0001") == 0


def test_forms_must_come_from_somewhere(studio: Visitor) -> None:
    del studio.headers["Origin"]
    assert studio.post("/example").status_code == 403
    assert studio.post("/example", headers={"Sec-Fetch-Site": "cross-site"}).status_code == 403
    assert studio.get("/", headers={"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "no-cors"}).status_code == 403


def test_pages_may_load_nothing_from_elsewhere(studio: Visitor) -> None:
    headers = studio.get("/").headers
    assert "default-src 'none'" in headers["content-security-policy"]
    assert "unsafe" not in headers["content-security-policy"]
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["cache-control"] == "no-store"


def test_the_size_of_a_file_is_limited(open_studio: Callable[..., Any]) -> None:
    studio = open_studio(max_upload=10)
    for content in (b"12345678901", iter([b"123456", b"78901"])):  # with and without a length
        answer = studio.put("/files/v.csv", content=content)
        assert answer.status_code == 413
        assert "10 bytes" in answer.json()["error"]
    assert studio.post("/read", content=b"votes=" + b"x" * (2 << 20)).status_code == 400
    assert "v.csv" not in studio.get(PLACE).text
