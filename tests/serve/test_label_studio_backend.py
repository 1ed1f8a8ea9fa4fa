"""The backend over real HTTP: consensus, tokens, limits and hostile requests."""

import base64
import copy
import http.client
import json
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import faircrowd as fc
from faircrowd.cli.app import run
from faircrowd.errors import FaircrowdError, OptionError
from faircrowd.publish.push.access_token import AccessToken
from faircrowd.runs.options import FairOptions, ModelOptions
from faircrowd.serve.http_server import make_server
from faircrowd.serve.label_studio_backend import LabelStudioBackend
from faircrowd.serve.live_consensus import ConsensusOptions
from publish.finished_runs import label_studio_task

SECRET = "the-token-of-this-server"  # noqa: S105 - it lives for a test
OPTIONS = ConsensusOptions(ModelOptions.given("dawid-skene"), FairOptions(0.05), ("data.gender",))


def crowd(n: int = 60) -> list[dict[str, Any]]:
    """Return tasks of two groups with votes of which one group gets label 1 more often."""
    rng = np.random.default_rng(3)
    tasks = []
    for number in range(1, n + 1):
        group = number % 2
        truth = rng.random() < (0.7, 0.3)[group]
        votes = ["1" if (rng.random() < 0.8) == truth else "2" for _ in range(5)]
        tasks.append(label_studio_task(number, votes, gender=("w", "m")[group]))
    return tasks


class Server:
    def __init__(self, port: int, told: list[str]) -> None:
        self.port, self.told = port, told

    def ask(self, method: str, path: str, body: Any = None, **headers: str) -> tuple[int, Any]:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        content = body if isinstance(body, bytes | None) else json.dumps(body).encode()
        given = {"Authorization": f"Token {SECRET}", "Content-Type": "application/json"} | headers
        try:
            connection.request(method, path, content, {name: value for name, value in given.items() if value})
            response = connection.getresponse()
            return response.status, json.loads(response.read())
        finally:
            connection.close()

    def predict(self, tasks: Any, project: Any = "7.1700000000") -> Any:
        status, found = self.ask("POST", "/predict", {"tasks": tasks, "project": project, "params": {"password": "p"}})
        assert status == 200, found
        return found["results"]


@contextmanager
def serving(options: ConsensusOptions = OPTIONS, token: str | None = SECRET, **more: Any) -> Iterator[Server]:
    told: list[str] = []
    backend = LabelStudioBackend(options, "better", told.append)
    given = None if token is None else AccessToken(token)
    with make_server(backend, port=0, token=given, tell=told.append, **more) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
        thread.start()
        try:
            yield Server(server.server_port, told)
        finally:
            server.shutdown()
            thread.join()


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with serving() as found:
        yield found


def labels(results: list[Any]) -> list[str]:
    return [one["result"][0]["value"]["choices"][0] for one in results]


def expected(tasks: list[dict[str, Any]]) -> Any:
    """Return what ``FairCrowd`` says about the same votes."""
    rows = [
        (task["id"], str(one["completed_by"]), one["result"][0]["value"]["choices"][0], task["data"]["gender"])
        for task in tasks
        for one in task["annotations"]
    ]
    import pandas as pd

    votes = pd.DataFrame(rows, columns=["task", "worker", "label", "gender"])
    model = ModelOptions.given("dawid-skene").make()
    return fc.FairCrowd(model, epsilon=0.05).fit(votes, sensitive_features="gender")


def test_predictions_are_the_fair_consensus(server: Server) -> None:
    tasks = crowd()
    results = server.predict(tasks)
    fair = expected(tasks)
    assert labels(results) == fair.labels_.tolist()
    assert fair.certificate_.gap <= 0.05 < fair.certificate_.gap_before
    scores = [one["score"] for one in results]
    assert scores == [fair.probas_.loc[task, label] for task, label in fair.labels_.items()]
    version = results[0]["model_version"]
    assert version.startswith("faircrowd eps=0.05 #")
    assert {one["model_version"] for one in results} == {version}
    assert results[0]["result"][0]["to_name"] == "text"
    assert server.ask("POST", "/setup", {"project": "7.1", "access_token": "of-label-studio"}) == (
        200,
        {"model_version": version},
    )
    one = server.predict([tasks[3]])  # one task alone: the consensus still is of all votes so far
    assert labels(one) == [labels(results)[3]]
    assert one[0]["model_version"] == version
    assert not [line for line in server.told if "of-label-studio" in line or SECRET in line]


def test_webhooks_change_the_consensus() -> None:
    with serving() as server:
        tasks = crowd()
        before = server.predict(tasks)
        task = tasks[0]
        for number, annotation in enumerate(task["annotations"]):
            annotation["result"][0]["value"]["choices"] = ["1" if labels(before)[0] == "2" else "2"]
            body = {"action": "ANNOTATION_UPDATED", "annotation": {**annotation, "task": task["id"]}, "task": task}
            assert server.ask("POST", "/webhook", {**body, "project": {"id": 7}}) == (200, {"status": "ok"}), number
        _, setup = server.ask("POST", "/setup", {"project": "7.1"})
        assert setup["model_version"] != before[0]["model_version"]  # so that Label Studio asks again
        assert labels(server.predict(tasks)) == expected(tasks).labels_.tolist()
        gone = [{"id": one["id"]} for one in task["annotations"]]
        server.ask("POST", "/webhook", {"action": "ANNOTATIONS_DELETED", "annotations": gone, "project": {"id": 7}})
        server.ask("POST", "/webhook", {"action": "TASKS_DELETED", "tasks": [{"id": 2}], "project": {"id": 7}})
        after = {**tasks[0], "annotations": []}
        results = server.predict([after, *tasks[2:]])
        assert results[0] == []  # nobody has voted
        assert labels(results[1:]) == expected(tasks[2:]).labels_.tolist()
        assert server.ask("POST", "/webhook", {"action": "PROJECT_UPDATED", "project": {"id": 7}})[1] == {
            "status": "ignored"
        }


def test_until_groups_can_be_compared_labels_say_that_they_are_not_fair() -> None:
    with serving() as server:
        assert server.predict([label_studio_task(1, "")]) == [[]]
        results = server.predict([label_studio_task(n, "112", gender="w") for n in range(1, 6)])
        assert labels(results) == ["1"] * 5
        assert results[0]["model_version"].startswith("faircrowd dawid-skene, not fair yet #")
        assert any("not fair yet" in line for line in server.told)


def test_tasks_that_a_person_labels_have_no_prediction() -> None:
    asked = ("parity(data.gender) <= 0.1", "reviewed <= 0.1")
    with serving(ConsensusOptions(OPTIONS.model, FairOptions(None, require=asked), OPTIONS.group)) as server:
        results = server.predict(crowd())
    assert sum(not one for one in results) == 6
    assert {one["model_version"].split(" #")[0] for one in results if one} == {f"faircrowd {'; '.join(asked)}"}


@pytest.mark.parametrize("name", ["task", "review", "agg_label"])
def test_classes_that_are_called_like_columns(server: Server, name: str) -> None:
    tasks = crowd()
    for task in tasks:
        for one in task["annotations"]:
            value = one["result"][0]["value"]
            value["choices"] = [name if choice == "1" else "zzz" for choice in value["choices"]]
    usual = server.predict(crowd(), "31.1")
    named = server.predict(tasks, {"task": "32.1", "review": "33.1", "agg_label": "34.1"}[name])
    assert labels(named) == [{"1": name, "2": "zzz"}[label] for label in labels(usual)]
    assert [one["score"] for one in named] == [one["score"] for one in usual]


def test_votes_before_a_task_that_is_refused_count() -> None:
    with serving() as server:
        tasks = crowd()
        before = server.predict(tasks[:40])[0]["model_version"]
        broken = label_studio_task(99, ["\ud83d"], gender="w")
        assert server.ask("POST", "/predict", {"tasks": [*tasks[40:50], broken], "project": "7.1"})[0] == 400
        middle = server.ask("POST", "/setup", {"project": "7.1"})[1]["model_version"]
        webhook = {"action": "ANNOTATIONS_CREATED", "project": {"id": 7}, "task": tasks[50]}
        webhook["annotations"] = [{**one, "task": 51} for one in tasks[50]["annotations"]]
        webhook["annotations"].append({**broken["annotations"][0], "task": 99})
        assert server.ask("POST", "/webhook", webhook)[0] == 400
        after = server.ask("POST", "/setup", {"project": "7.1"})[1]["model_version"]
        assert len({before, middle, after}) == 3
        assert labels(server.predict(tasks[:51])) == expected(tasks[:51]).labels_.tolist()


def test_projects_are_kept_apart(server: Server) -> None:
    server.predict(crowd(), "21.1")
    one = server.predict([label_studio_task(1, "22", gender="w")], "22.1")
    assert labels(one) == ["2"]


@pytest.mark.parametrize("path", ["/", "/health", "/predict", "/setup", "/webhook", "/versions", "/nothing"])
def test_a_token_is_asked_for(server: Server, path: str) -> None:
    for wrong in ("", "Token wrong", "Basic ???", f"Bearer {SECRET}x", "Basic " + base64.b64encode(b"x:y").decode()):
        status, found = server.ask("POST", path, {"project": 1}, Authorization=wrong)
        assert status == 401
        assert SECRET not in str(found)
    assert server.ask("GET", "/health", Authorization="")[0] == 200


@pytest.mark.parametrize("path", ["/", "/health", "/predict"])
def test_nothing_is_read_of_a_request_without_a_token(server: Server, path: str) -> None:
    """The answer comes although the body never does."""
    with socket.create_connection(("127.0.0.1", server.port), timeout=10) as raw:
        head = f"POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
        raw.sendall(f"{head}Content-Length: 50000000\r\n\r\n".encode())
        assert raw.recv(100).split()[1] == b"401"


def test_web_pages_of_other_places_may_not_ask() -> None:
    """Without a token, what a browser sends of its own accord must not change the votes."""
    with serving(token=None) as server:
        own = f"http://localhost:{server.port}"
        for headers, status in (
            ({}, 200),
            ({"Content-Type": "application/json; charset=utf-8"}, 200),
            ({"Content-Type": "text/plain"}, 415),
            ({"Content-Type": ""}, 415),
            ({"Content-Type": "application/x-www-form-urlencoded"}, 415),
            ({"Host": "evil.example"}, 421),
            ({"Host": f"127.0.0.1.evil.example:{server.port}"}, 421),
            ({"Host": "[::1"}, 421),
            ({"Host": "localhost:1"}, 200),
            ({"Host": "[::1]:9090"}, 200),
            ({"Origin": "https://evil.example"}, 403),
            ({"Origin": "null"}, 403),
            ({"Origin": "http://localhost:1"}, 403),
            ({"Origin": own, "Host": own.removeprefix("http://")}, 200),
        ):
            assert server.ask("POST", "/setup", {"project": 1}, Authorization="", **headers)[0] == status, headers
        assert server.ask("GET", "/health", Host="evil.example")[0] == 421


def test_tokens_in_each_form(server: Server) -> None:
    basic = base64.b64encode(f"anyone:{SECRET}".encode()).decode()
    for given in (f"Token {SECRET}", f"Bearer {SECRET}", f"Basic {basic}"):
        assert server.ask("POST", "/setup", {"project": 1}, Authorization=given)[0] == 200


HOSTILE = [
    b"",
    b"{",
    b"\xff\xfe",
    b"[" * 100_000,
    b'{"project": 1, "project": 2}',
    b'{"project": NaN}',
    b'{"project": 1e999}',
    b'{"project": ' + b"9" * 5000 + b"}",
    b"[]",
    b"null",
    b'{"project": null, "tasks": []}',
    b'{"project": {"id": {"id": 1}}, "tasks": []}',
    b'{"project": "../../etc", "tasks": []}',
    b'{"project": 1, "tasks": null}',
    b'{"project": 1, "tasks": [null]}',
    b'{"project": 1, "tasks": [{}]}',
    b'{"project": 1, "tasks": [{"id": "1"}]}',
    b'{"project": 1, "tasks": [{"id": true}]}',
]


@pytest.mark.parametrize("body", HOSTILE, ids=range(len(HOSTILE)))
def test_hostile_requests_get_a_plain_refusal(server: Server, body: bytes) -> None:
    status, found = server.ask("POST", "/predict", body)
    assert status == 400
    assert set(found) == {"error"}
    assert "Traceback" not in str(found)
    assert len(str(found)) < 600


STRANGE = [
    {"id": 1, "annotations": None},
    {"id": 1, "annotations": [None, 3, []]},
    {"id": 1, "data": [], "annotations": [{"id": 1, "result": [None, 3, {"value": 3}]}]},
    {"id": 1, "data": {"gender": {"a": 1}}, "annotations": [{"id": 1, "completed_by": [], "result": [{}]}]},
    {"id": 1, "annotations": [{"id": 1, "completed_by": 1, "result": [{"from_name": "better", "value": {}}]}]},
    {
        "id": 1,
        "data": {"gender": "x" * 10_000},
        "annotations": [
            {
                "id": 1,
                "completed_by": 1,
                "updated_at": {"a": 1},
                "result": [
                    {"from_name": "better", "to_name": "t", "type": "choices", "value": {"choices": [{"a": 1}, None]}}
                ],
            }
        ],
    },
]


@pytest.mark.parametrize("task", STRANGE, ids=range(len(STRANGE)))
def test_strange_tasks_are_no_votes(task: dict[str, Any]) -> None:
    with serving() as server:
        assert server.predict([task]) == [[]]


ODD = (None, [], {}, [1], {"a": 1}, 7, -1, "x", True, 1e300, [[]], "\ud800", 1 << 70, [None])


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yield where the parts of a request are."""
    yield path
    parts = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, part in parts:
        yield from places(part, (*path, key))


@pytest.mark.parametrize("action", [None, "ANNOTATION_CREATED", "ANNOTATIONS_DELETED", "TASKS_DELETED"])
def test_any_part_of_a_request_may_be_anything(action: str | None) -> None:
    """A list where an id should be, a number where a list should be: refused in words, or no vote, but no bug."""
    task = label_studio_task(1, ["1"], gender="w")
    (annotation,) = task["annotations"]
    body: dict[str, Any] = {"project": {"id": 7}, "tasks": [task]}
    if action is not None:
        body |= {"action": action, "annotations": [{**annotation, "task": 1}]}
    for place in places(body):
        for odd in ODD:
            request = {"": copy.deepcopy(body)}
            *way, last = ("", *place)
            inside: Any = request
            for key in way:
                inside = inside[key]
            inside[last] = odd
            backend = LabelStudioBackend(replace(OPTIONS, model=ModelOptions.given("majority")), "better")
            with suppress(FaircrowdError):
                backend.post("/predict" if action is None else "/webhook", request[""])


@pytest.mark.parametrize("number", [[1], {"a": 1}, "1", None])
def test_ids_that_are_no_numbers_are_refused(server: Server, number: Any) -> None:
    task = {**label_studio_task(1, ["1"], gender="w"), "id": number}
    given = {"action": "ANNOTATION_CREATED", "project": {"id": 7}, "task": task}
    annotation = {**task["annotations"][0], "task": number}
    for path, body in (
        ("/predict", {"project": "7", "tasks": [task]}),
        ("/webhook", {**given, "annotation": annotation}),
    ):
        status, found = server.ask("POST", path, body)
        assert (status, found["error"].endswith("or one that is no whole number.")) == (400, True)


def test_requests_are_limited() -> None:
    with serving(max_body=1000) as server:
        status, found = server.ask("POST", "/predict", b"x" * 1001)
        assert (status, found) == (413, {"error": "The request is longer than 1,000 bytes."})
        assert server.ask("POST", "/predict", None, **{"Transfer-Encoding": "chunked"})[0] == 411
        for length in ("-1", "1e3", "9" * 30):
            with socket.create_connection(("127.0.0.1", server.port)) as raw:
                head = "POST /predict HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
                head += f"Authorization: Token {SECRET}\r\nContent-Length: {length}\r\n\r\n"
                raw.sendall(head.encode())
                assert raw.recv(100).split()[1] in (b"411", b"413")
        assert server.ask("GET", "/health")[0] == 200


def test_a_body_in_drips_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("faircrowd.serve.http_server._LONGEST_READ", 0.3)
    monkeypatch.setattr("faircrowd.serve.http_server._LONGEST_DRAIN", 0.3)
    with serving() as server:
        for token, status in ((SECRET, b"408"), ("wrong", b"401")):
            with socket.create_connection(("127.0.0.1", server.port), timeout=0.05) as raw:
                head = "POST /predict HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
                raw.sendall(f"{head}Authorization: Token {token}\r\nContent-Length: 60000\r\n\r\n".encode())
                answer = b""
                for _ in range(100):  # five seconds at most
                    raw.sendall(b" ")
                    with suppress(TimeoutError):
                        answer = raw.recv(100)
                        break
            assert answer.split()[1] == status


def test_a_bug_shows_nothing_to_the_client(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: Any) -> None:
        raise ZeroDivisionError("inner words")

    monkeypatch.setattr("faircrowd.serve.label_studio_backend.find_consensus", broken)
    with serving() as server:
        assert server.ask("POST", "/setup", {"project": 1}) == (500, {"error": "The request could not be answered."})
        assert "ZeroDivisionError" in server.told[-1]


def test_other_machines_need_a_token() -> None:
    with pytest.raises(OptionError, match="a token is needed"):
        make_server(LabelStudioBackend(OPTIONS), "0.0.0.0", 0)  # noqa: S104 - refused
    with pytest.raises(OptionError, match="cannot be listened to"):
        make_server(LabelStudioBackend(OPTIONS), "127.0.0.1", 99_999)


def test_wrong_options(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    usual = ["--group", "data.gender", "--epsilon", "0.05"]
    for more, message in (
        (usual, "--token-file FILE"),
        ([*usual, "--no-token", "--host", "0.0.0.0"], "a token is needed"),  # noqa: S104 - refused
        (["--no-token", "--epsilon", "0.05"], "--group COLUMN"),
        (["--no-token", "--group", "data.gender"], "--epsilon"),
        ([*usual, "--no-token", "--export", "x.json"], "go together"),
        ([*usual, "--no-token", "--max-body", "0"], "--max-body"),
    ):
        assert run(["serve", "label-studio", *more]) == 2
        assert message in capsys.readouterr().err
    assert run(["serve", "argilla", *usual, "--no-token"]) == 2


def test_the_command_listens_and_ends(tmp_path: Path) -> None:
    export = tmp_path / "export.json"
    export.write_text(json.dumps(crowd()))
    command = [
        sys.executable,
        "-m",
        "faircrowd",
        "serve",
        "label-studio",
        "--port",
        "0",
        "--no-token",
        "--label",
        "better",
    ]
    command += ["--group", "data.gender", "--epsilon", "0.05", "--export", str(export), "--project", "7", "--json"]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdout=pipe, stderr=pipe, text=True, cwd=tmp_path) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        assert "60 tasks of" in process.stderr.readline()
        line = process.stderr.readline()
        assert "listening on http://127.0.0.1:" in line
        url = json.loads(process.stdout.readline())["url"]
        assert url in line
        port = int(url.rpartition(":")[2])
        _, found = Server(port, []).ask("POST", "/setup", {"project": "7.1"}, Authorization="")
        assert found["model_version"].startswith("faircrowd eps=0.05 #")
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=30)
        assert process.returncode == 130
