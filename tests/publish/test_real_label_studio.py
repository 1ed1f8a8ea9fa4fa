"""The whole way through a real Label Studio: votes out, fair labels back, and live predictions.

It takes some minutes and 1 GB for the server: ``make test-platforms`` installs it and runs this.
"""

import json
import os
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from faircrowd.cli.app import run
from faircrowd.publish.push.access_token import AccessToken
from faircrowd.runs.options import FairOptions, ModelOptions
from faircrowd.serve.http_server import make_server
from faircrowd.serve.label_studio_backend import LabelStudioBackend
from faircrowd.serve.live_consensus import ConsensusOptions, warm_up
from publish.label_studio_server import CONFIGURATION, SECRET, LabelStudio, label_studio, running

TASKS, WORKERS, VOTES, EPSILON = 60, 6, 4, 0.05
PASSWORD = "a-token-of-the-backend"  # noqa: S105 - of a server that lives for this test

pytestmark = pytest.mark.skipif(
    not os.environ.get("FAIRCROWD_SLOW") or label_studio() is None,
    reason="needs a Label Studio server: make test-platforms, or FAIRCROWD_SLOW=1 and LABEL_STUDIO=.../label-studio",
)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LabelStudio]:
    program = label_studio()
    assert program is not None
    with running(program, tmp_path_factory.mktemp("label-studio")) as found:
        yield found


@pytest.fixture(scope="module")
def project(server: LabelStudio) -> int:
    """Return a project with tasks of two groups and votes of several annotators, some of them skipped or repeated."""
    rng = np.random.default_rng(7)
    made = server.ask("POST", "/api/projects/", {"title": "crowd", "label_config": CONFIGURATION})
    number: int = made["id"]
    tasks = [{"data": {"text": f"text {i}", "gender": ("women", "men")[i % 2]}} for i in range(TASKS)]
    server.ask("POST", f"/api/projects/{number}/import?return_task_ids=true", tasks)
    users = [
        server.ask(
            "POST", "/api/users/", {"email": f"w{i}@example.com", "username": f"w{i}", "password": f"pass-{i}-word"}
        )
        for i in range(WORKERS)
    ]
    listed = server.ask("GET", f"/api/projects/{number}/tasks/?page_size=1000")
    for task in listed:
        truth = rng.random() < (0.65 if task["data"]["gender"] == "women" else 0.3)
        for user in rng.permutation(WORKERS)[:VOTES]:
            choice = "1" if (rng.random() < 0.8) == truth else "2"
            annotate(server, task["id"], users[user]["id"], choice)
    annotate(server, listed[0]["id"], users[0]["id"], "1", was_cancelled=True)
    return number


def annotate(server: LabelStudio, task: int, user: int, choice: str, **more: Any) -> Any:
    result = {"from_name": "better", "to_name": "text", "type": "choices", "value": {"choices": [choice]}}
    return server.ask(
        "POST", f"/api/tasks/{task}/annotations/", {"result": [result], "completed_by": user, "lead_time": 1.0, **more}
    )


@pytest.fixture(scope="module")
def token(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("token") / "token"
    path.write_text(f"{SECRET}\n")
    path.chmod(0o600)
    return path


@pytest.fixture(scope="module")
def fair(server: LabelStudio, project: int, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of a fair run on the export of the project."""
    folder = tmp_path_factory.mktemp("run")
    export = server.export(project, folder / "export.json")
    arguments = ["--group", "data.gender", "--epsilon", str(EPSILON), "--no-report", "--out", str(folder / "labels")]
    assert run(["aggregate", str(export), *arguments]) == 0
    return folder / "labels"


def test_labels_go_back_and_are_no_votes(
    server: LabelStudio, project: int, fair: Path, token: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    before = json.loads((fair / "summary.json").read_text())
    assert before["tasks"] == TASKS
    assert before["votes"] == TASKS * VOTES
    assert before["gap"] <= EPSILON
    changed = json.loads((fair / "certificate.json").read_text())["changed"]
    assert changed > 0
    push = ["publish", str(fair), "--to", "label-studio", "--push", server.url, "--project", str(project)]
    push += ["--token-file", str(token), "--json"]
    capfd.readouterr()

    assert run(push) == 0  # says what would be, sends nothing
    found = json.loads(capfd.readouterr().out)
    assert found["plan"]["new"] == TASKS
    assert found["pushed"] is None
    assert server.ask("GET", f"/api/predictions/?project={project}") == []

    assert run([*push, "--yes"]) == 0
    found = json.loads(capfd.readouterr().out)
    assert found["pushed"] == {"sent": TASKS, "created": TASKS, "confirmed": TASKS, "total": TASKS, "missed": ""}
    there = server.ask("GET", f"/api/predictions/?project={project}")
    assert len(there) == TASKS
    assert {one["model_version"] for one in there} == {f"faircrowd eps={EPSILON}"}

    assert run([*push, "--yes"]) == 0  # again: nothing is sent twice
    found = json.loads(capfd.readouterr().out)
    assert found["plan"]["same"] == TASKS
    assert found["pushed"]["sent"] == 0
    assert len(server.ask("GET", f"/api/predictions/?project={project}")) == TASKS

    server.ask("PATCH", f"/api/predictions/{there[0]['id']}/", {"score": 0.125})  # somebody edits one: it is put right
    assert run([*push, "--yes"]) == 0
    found = json.loads(capfd.readouterr().out)
    assert found["plan"]["changed"] == 1
    assert found["pushed"]["confirmed"] == TASKS
    assert len(server.ask("GET", f"/api/predictions/?project={project}")) == TASKS

    again = server.export(project, tmp_path / "again.json")
    assert sum(len(task["predictions"]) for task in json.loads(again.read_text())) == TASKS
    arguments = ["--group", "data.gender", "--epsilon", str(EPSILON), "--no-report", "--out", str(tmp_path / "again")]
    assert run(["aggregate", str(again), *arguments]) == 0
    assert (tmp_path / "again" / "labels.csv").read_bytes() == (fair / "labels.csv").read_bytes()
    assert SECRET not in capfd.readouterr().out


def test_labels_that_the_project_does_not_know_are_an_error(
    server: LabelStudio, fair: Path, token: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """Label Studio answers 201 and stores none of them."""
    configuration = CONFIGURATION.replace('value="1"', 'value="yes"').replace('value="2"', 'value="no"')
    other = server.ask("POST", "/api/projects/", {"title": "other labels", "label_config": configuration})["id"]
    export = json.loads((fair.parent / "export.json").read_text())
    server.ask("POST", f"/api/projects/{other}/import", [{"data": task["data"]} for task in export])
    ids = sorted(task["id"] for task in server.ask("GET", f"/api/projects/{other}/tasks/?page_size=1000"))
    moved = dict(zip(sorted(task["id"] for task in export), ids, strict=True))
    run_folder = tmp_path / "labels"
    run_folder.mkdir()
    (run_folder / "summary.json").write_bytes((fair / "summary.json").read_bytes())
    header, *rows = (fair / "labels.csv").read_text().splitlines()
    moved_rows = [f"{moved[int(row.split(',', 1)[0])]},{row.split(',', 1)[1]}" for row in rows]
    (run_folder / "labels.csv").write_text("\n".join([header, *moved_rows]) + "\n")
    moved_export = tmp_path / "moved.json"
    moved_export.write_text(json.dumps([{**task, "id": moved[task["id"]]} for task in export]))
    push = ["publish", str(run_folder), "--to", "label-studio", "--export", str(moved_export), "--push", server.url]
    push += ["--project", str(other), "--token-file", str(token), "--question", "better", "--yes"]
    assert run(push) == 4
    shown = capfd.readouterr()
    assert SECRET not in shown.out + shown.err
    assert server.ask("GET", f"/api/predictions/?project={other}") == []


def test_a_personal_access_token_works(
    server: LabelStudio, project: int, fair: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    secret = server.ask("POST", "/api/token/", {})["token"]
    path = tmp_path / "token"
    path.write_text(secret)
    path.chmod(0o600)
    push = ["publish", str(fair), "--to", "label-studio", "--push", server.url, "--project", str(project)]
    assert run([*push, "--token-file", str(path), "--json"]) == 0
    shown = capfd.readouterr()
    assert json.loads(shown.out)["plan"]["total"] == TASKS
    assert secret not in shown.out + shown.err


def test_live_predictions(server: LabelStudio, project: int, fair: Path) -> None:
    """Label Studio asks the backend for predictions, and tells it of new votes."""
    options = ConsensusOptions(ModelOptions.given(None), FairOptions(EPSILON), ("data.gender",))
    warm_up(options)
    told: list[str] = []
    backend = LabelStudioBackend(options, "better", told.append)
    http = make_server(backend, port=0, token=AccessToken(PASSWORD), tell=told.append)
    thread = threading.Thread(target=http.serve_forever, daemon=True)
    thread.start()
    try:
        url = f"http://127.0.0.1:{http.server_port}"
        login = {"auth_method": "BASIC_AUTH", "basic_auth_user": "faircrowd", "basic_auth_pass": PASSWORD}
        connected = server.ask("POST", "/api/ml/", {"url": url, "project": project, "title": "faircrowd", **login})
        hooks = server.ask("GET", f"/api/webhooks/?project={project}")
        assert [hook["url"] for hook in hooks] == [f"{url}/webhook"]
        headers = {"Authorization": f"Token {PASSWORD}"}
        server.ask("PATCH", f"/api/webhooks/{hooks[0]['id']}/", {"headers": headers})

        server.ask("POST", f"/api/dm/actions/?id=retrieve_tasks_predictions&project={project}", select_all())
        live = predictions(server, project, "#")
        labels = {row.split(",")[0]: row.split(",")[1].strip('"') for row in lines(fair)}
        assert len(live) == TASKS
        assert {str(task): one["result"][0]["value"]["choices"][0] for task, one in live.items()} == labels
        version = next(iter(live.values()))["model_version"]
        assert version.startswith(f"faircrowd eps={EPSILON} #")

        task = min(live)
        users = server.ask("GET", "/api/users/")
        annotate(server, task, users[-1]["id"], "2")  # the webhook tells of it, and the version changes
        server.ask("POST", f"/api/dm/actions/?id=retrieve_tasks_predictions&project={project}", select_all())
        after = {one["model_version"] for one in server.ask("GET", f"/api/predictions/?project={project}")}
        assert len([one for one in after if "#" in one]) == 2
        assert connected["state"] == "CO"
        assert not [line for line in told if " 401 " in line or " 500 " in line]
        assert SECRET not in "".join(told)
        assert PASSWORD not in "".join(told)
    finally:
        http.shutdown()
        http.server_close()
        thread.join(10)


def lines(fair: Path) -> list[str]:
    return (fair / "labels.csv").read_text().splitlines()[1:]


def select_all() -> dict[str, Any]:
    return {"selectedItems": {"all": True, "excluded": []}}


def predictions(server: LabelStudio, project: int, mark: str) -> dict[int, Any]:
    found = server.ask("GET", f"/api/predictions/?project={project}")
    return {one["task"]: one for one in found if mark in one["model_version"]}
