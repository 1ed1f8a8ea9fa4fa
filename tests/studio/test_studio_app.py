"""From files to labels through the pages of the studio, without a browser."""

import html
import json
import os
import re
import shlex
import signal
import threading
import zipfile
from collections.abc import Callable
from io import BytesIO
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from faircrowd._threads import available_threads
from faircrowd.cli.app import run
from studio.conftest import Visitor, hold

LONG = {"group": "sex", "method": "glad", "require": ["parity(sex) <= 0.1", "changed <= 0.3"], "epsilon": ""}
"""What does not end before it is stopped: both constraints are solved at twenty limits."""


def read(studio: Visitor, **fields: str) -> str:
    """Read the files; return the address of what was read."""
    page = studio.waited(studio.post("/read", data={"votes": "votes.csv", "tasks": "tasks.csv", **fields}))
    assert "/data/" in str(page.url), page.text
    return str(page.url.path)


@pytest.fixture(scope="module")
def data(shared_studio: Visitor) -> str:
    """Where the files were read."""
    return read(shared_studio)


def made(studio: Visitor, data: str, **fields: Any) -> str:
    page = studio.waited(studio.post(f"{data}/run", data={"epsilon": "0.1", "group": "sex", "do": "run", **fields}))
    assert "/runs/" in str(page.url), page.text
    return str(page.url.path)


def priced(studio: Visitor, page: Any) -> tuple[str, list[dict[str, Any]]]:
    """Return the address of a page of limits, and its sliders."""
    page = studio.waited(page)
    assert "/prices/" in str(page.url), page.text
    return str(page.url.path), json.loads(re.search(r'id="sliders">(.*?)</script>', page.text, re.S)[1])


@pytest.fixture(scope="module")
def first(shared_studio: Visitor, data: str) -> str:
    """A run that several tests look at."""
    return made(shared_studio, data, method="majority", title="<b>mine</b>")


@pytest.fixture(scope="module")
def limits(shared_studio: Visitor, data: str) -> tuple[str, list[dict[str, Any]]]:
    """The page of limits without known labels, and its sliders."""
    asked = {"group": "sex", "method": "majority", "do": "prices"}
    return priced(shared_studio, shared_studio.post(f"{data}/run", data=asked))


def words(page: Any) -> str:
    return " ".join(re.sub("<[^>]+>", " ", html.unescape(page.text)).split())


def test_what_was_read_is_shown(studio: Visitor, data: str, crowd_files: tuple[bytes, bytes]) -> None:
    page = words(studio.get(data))
    votes, tasks = (pd.read_csv(BytesIO(content)) for content in crowd_files)
    sizes = tasks["sex"].value_counts()
    majority = votes.groupby("task")["label"].mean().gt(0.5).groupby(tasks.set_index("task")["sex"]).mean()
    true = tasks.groupby("sex")["truth"].mean()
    assert f"votes {len(votes)} tasks 150 workers 12 labels 2" in page
    assert f"sex f : {sizes['f']}, m : {sizes['m']} {abs(majority['f'] - majority['m']):.3f}" in page
    assert f"the gap between the groups of sex is {abs(true['f'] - true['m']):.3f}" in page


def test_a_run_is_shown_searched_and_compared(studio: Visitor, data: str, first: str) -> None:
    found = studio.get(first)
    assert "&lt;b&gt;mine&lt;/b&gt;" in found.text
    assert "<b>mine" not in found.text
    second = made(studio, data, epsilon="", method="majority")
    changed = json.loads(studio.get(f"{first}/files/certificate.json").content)["changed"]
    assert changed > 0
    assert f"{changed} of 150 labels differ" in words(studio.get(f"/compare?a={first[-4:]}&b={second[-4:]}"))
    assert f"{changed} task" in words(studio.get(f"{first}/tasks?changed=1"))
    rows = re.findall(rf'href="({first}/tasks/\d+)"', studio.get(f"{first}/tasks?changed=1").text)
    story = words(studio.get(rows[0]))
    assert "before fairness" in story
    assert "of its group" in story  # the threshold
    assert re.search(r"in \d+\.\d% of their votes", story)
    assert "12 workers" in words(studio.get(f"{first}/workers"))
    assert words(studio.get(f"{first}/tasks?q=no+such+task")).count("0 tasks") == 1


def test_a_run_can_be_taken_away(studio: Visitor, first: str) -> None:
    labels = studio.get(f"{first}/files/labels.csv").content
    archive = zipfile.ZipFile(BytesIO(studio.get(f"{first}/folder.zip").content))
    assert archive.read("labels.csv") == labels
    assert {"evidence.json", "report.html", "certificate.json", "rule.json"} <= set(archive.namelist())
    assert studio.get(f"{first}/publish/csv").text.count("\n") == 151
    assert studio.get(f"{first}/publish/label-studio").status_code == 400  # the votes came from no such export


@pytest.mark.parametrize(
    "fields",
    [
        {"method": "majority", "title": 'it\'s "mine"', "note": "for $HOME & <b>"},
        {"method": "majority", "epsilon": "", "group": "", "title": "mine"},
        {"epsilon": "", "require": ["parity(sex, label='1') <= 0.05", "changed <= 0.3"], "calibrate": "truth"},
    ],
)
def test_the_command_and_the_lines_of_python_give_the_same_bytes(
    studio: Visitor, data: str, fields: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = made(studio, data, **fields)
    labels, page = (studio.get(f"{path}/files/{name}").content for name in ("labels.csv", "report.html"))
    command, lines = map(html.unescape, re.findall(r"<pre><code>(.*?)</code>", studio.get(f"{path}/export").text, re.S))
    monkeypatch.chdir(tmp_path)
    arguments = shlex.split(command)
    assert arguments[0] == "faircrowd"
    arguments[arguments.index("--out") + 1] = "again"
    assert run(arguments[1:]) == 0
    assert Path("again", "labels.csv").read_bytes() == labels
    exec(compile(lines, "lines", "exec"), {})  # noqa: S102 - what the page shows
    assert Path("labels", "labels.csv").read_bytes() == labels
    assert Path("again", "report.html").read_bytes() == page.replace(b"--out labels", b"--out again")


def test_reliability_comes_before_limits(
    studio: Visitor, data: str, limits: tuple[str, Any], crowd_files: tuple[bytes, bytes]
) -> None:
    asked = {"group": "sex", "method": "majority", "truth": "truth", "do": "prices"}
    path, sliders = priced(studio, studio.post(f"{data}/run", data=asked))
    votes, tasks = (pd.read_csv(BytesIO(content)) for content in crowd_files)
    share = votes.groupby("task")["label"].mean()
    right = share.gt(0.5).eq(tasks.set_index("task")["truth"]).mean()
    page = words(studio.get(path))
    assert f"real accuracy where the truth is known, from 150 known {right:.1%}" in page
    assert re.search(rf"believed accuracy .*{share.where(share > 0.5, 1 - share).mean():.1%}", page)
    chart = studio.get(f"{path}/reliability.svg")
    assert chart.headers["content-type"].startswith("image/svg")
    assert chart.headers["content-security-policy"] == "sandbox"
    assert len(sliders) == 1
    # Without known labels nothing is claimed, and there is no chart.
    assert "No label is known" in words(studio.get(limits[0]))
    assert studio.get(f"{limits[0]}/reliability.svg").status_code == 400


def test_every_stop_is_what_the_run_gives(studio: Visitor, limits: tuple[str, Any]) -> None:
    path, (slider,) = limits
    assert slider["stops"][slider["held"]]["limit"] == 0.05
    at = next(i for i, stop in enumerate(slider["stops"]) if stop["limit"] == 0.02)
    made_at = studio.waited(studio.post(f"{path}/next", data={"stop-0": str(at), "do": "run"})).url.path
    found = json.loads(studio.get(f"{made_at}/files/certificate.json").content)
    stop = slider["stops"][at]
    assert stop["own"] == [f"{found['gap']:.3f}"]
    assert stop["cells"] == [
        f"{found['believed_accuracy']:.2%}",
        f"{100 * (found['believed_accuracy_before'] - found['believed_accuracy']):.2f} points",
        f"{found['changed']:,}",
        f"{found['changed'] / 150:.1%}",
    ]


def test_every_constraint_has_its_slider(studio: Visitor, limits: tuple[str, Any]) -> None:
    built = {"kind": "changed <=", "columns": "sex", "label": "1", "limit": "0.3", "do": "add"}
    path, sliders = priced(studio, studio.post(f"{limits[0]}/next", data=built))
    assert [slider["text"] for slider in sliders] == ["parity(sex) <= 0.05", "changed <= 0.3"]
    held = [slider["stops"][slider["held"]] for slider in sliders]
    assert held[0]["cells"] == held[1]["cells"]  # the same limits, so the same labels
    # One is moved, the other stays: what the page shows is what the run gives.
    at = next(i for i, stop in enumerate(sliders[0]["stops"]) if stop["limit"] > 0.05)
    chosen = {"stop-0": str(at), "stop-1": str(sliders[1]["held"])}
    done = studio.waited(studio.post(f"{path}/next", data={**chosen, "do": "run"})).url.path
    found = json.loads(studio.get(f"{done}/files/certificate.json").content)
    assert [one["kept"] for one in found["constraints"]] == [True, True]
    assert sliders[0]["stops"][at]["own"] == [f"{found['constraints'][0]['level']:.4f}"]
    assert sliders[0]["stops"][at]["cells"][0] == f"{found['believed_accuracy']:.2%}"
    for wrong in ({"stop-0": "99"}, {"stop-0": "x"}, {**built, "limit": "7"}, {**built, "kind": "magic <="}):
        assert studio.post(f"{path}/next", data=wrong).status_code == 400


def test_labels_entered_by_hand_calibrate(studio: Visitor, data: str, crowd_files: tuple[bytes, bytes]) -> None:
    drawn = json.loads(re.search(r'id="hand-tasks">(.*?)</script>', studio.get(f"{data}/hand").text, re.S)[1])
    assert len(drawn) == len({task["task"] for task in drawn}) == 50
    truth = pd.read_csv(BytesIO(crowd_files[1]), dtype=str).set_index("task")["truth"]
    known = {task["task"]: truth[task["task"]] for task in drawn}
    assert studio.post(f"{data}/known", content=b"{}").status_code == 400
    assert studio.post(f"{data}/known", content=json.dumps({"no task": "1"})).status_code == 400
    answer = studio.post(f"{data}/known", content=json.dumps(known)).json()
    by_hand = studio.waited(studio.get(answer["page"]))
    # The same labels from a file give the same column.
    rows = "".join(f"{task},{label}\n" for task, label in known.items())
    studio.put("/files/gold.csv", content=f"task,expert\n{rows}nobody,1\n".encode())
    from_file = studio.waited(studio.post(f"{data}/gold", data={"gold_file": "gold.csv"}))
    for page in (by_hand, from_file):
        assert "known_label (50 known)" in words(page)
    path, _ = priced(
        studio,
        studio.post(f"{by_hand.url.path}/run", data={"group": "sex", "calibrate": "known_label", "do": "prices"}),
    )
    assert re.search(
        r"estimated accuracy of all labels: between [\d.]+% and [\d.]+%.* from 50 known", words(studio.get(path))
    )
    done = studio.waited(studio.post(f"{path}/next", data={"do": "run"})).url.path
    summary = json.loads(studio.get(f"{done}/files/summary.json").content)
    assert summary["options"]["calibrate"] == "known_label"
    assert summary["estimated_accuracy"]["n_gold"] == 50


def test_known_labels_that_cannot_be_used(studio: Visitor, data: str) -> None:
    for content, message in (
        ("task,a,b\n1,0,1\n", "one column of labels"),
        ("x,y\n1,0\n", "no column of tasks"),
        ("task,label\nnobody,1\n", "none of these tasks"),
        ("task,label\n1,0\n1,1\n", "several labels"),
        ("task,label\n1,spam\n", "neither a task nor a label"),
    ):
        name = studio.put("/files/wrong-gold.csv", content=content.encode()).json()["name"]
        answer = studio.post(f"{data}/gold", data={"gold_file": name})
        assert answer.status_code == 400
        assert message in words(answer)


def test_what_cannot_be_done_is_said(studio: Visitor, data: str) -> None:
    for fields, message in (
        ({}, "Choose the file with the votes"),
        ({"votes": "votes.csv", "tasks": "votes.csv"}, "the same file"),
        ({"votes": "../../etc/passwd"}, "no file"),
    ):
        assert message in words(studio.post("/read", data=fields))
    for fields, message in (
        ({"epsilon": "two"}, "must be a number"),
        ({"epsilon": "2"}, "from 0 to 1"),
        ({"method": "magic"}, "no method"),
        ({"epsilon": "0.1", "group": ""}, "group"),
    ):
        answer = studio.post(f"{data}/run", data={"group": "sex", "epsilon": "0.1", **fields})
        assert answer.status_code == 400
        assert message in words(answer)
    for path in (data.replace("data", "runs"), "/data/9999", "/prices/x", "/runs/%2e%2e", "/compare?a=0001&b=0001"):
        assert studio.get(path).status_code in (400, 404)


def test_a_wrong_file_can_be_read_in_another_way(studio: Visitor) -> None:
    studio.put(
        "/files/wrong.csv",
        content=b"when,who,what\n" + b"".join(b"%d,w%d,%d\n" % (i // 3, i % 3, i % 2) for i in range(30)),
    )
    failed = studio.waited(studio.post("/read", data={"votes": "wrong.csv"}))
    assert "No column" in words(failed)
    assert "Traceback" not in failed.text
    assert '<option value="who">' in failed.text
    named = {"votes": "wrong.csv", "task": "when", "worker": "who", "label": "what"}
    assert "votes 30 tasks 10 workers 3" in words(studio.waited(studio.post("/read", data=named)))
    studio.put("/files/noise.csv", content=bytes(range(256)) * 40)
    noise = studio.waited(studio.post("/read", data={"votes": "noise.csv"}))
    assert "/jobs/" in str(noise.url)
    assert "Traceback" not in noise.text


def test_an_export_with_several_questions(studio: Visitor, platforms: Path) -> None:
    content = (platforms / "label-studio" / "export.json").read_bytes()
    studio.put("/files/export.json", content=content)
    asked = studio.waited(studio.post("/read", data={"votes": "export.json"}))
    assert "4 questions" in words(asked)
    assert '<option value="better">' in asked.text
    page = studio.waited(studio.post("/read", data={"votes": "export.json", "label": "better"}))
    assert "votes 200 tasks 40 workers 17 labels 2" in words(page)
    assert "1 of 203 rows set aside: skipped" in words(page)
    path = made(studio, str(page.url.path), group="data.gender")
    written = json.loads(studio.get(f"{path}/publish/label-studio").content)
    assert len(written) == 40
    assert {one["result"][0]["from_name"] for one in written} == {"better"}


def test_a_killed_process_fails_its_job_alone(studio: Visitor, data: str) -> None:
    page = studio.post(f"{data}/run", data={**LONG, "do": "prices"})
    pid = hold(studio.job(page))
    process = json.loads((studio.job(page) / "process.json").read_text())
    assert process["threads"] == available_threads()  # a job is alone, and uses as many as any other run
    os.kill(pid, signal.SIGKILL)
    ended = studio.waited(page)
    assert "ended by signal 9" in words(ended)
    assert not (studio.job(page) / "result" / "prices.json").exists()
    made(studio, data, method="majority")


def test_jobs_wait_and_can_be_cancelled(studio: Visitor, data: str) -> None:
    jobs = [studio.post(f"{data}/run", data={**LONG, "do": "prices"}) for _ in range(3)]
    pid = hold(studio.job(jobs[0]))
    states = [studio.get(f"{job.url.path}/state").json() for job in jobs]
    assert [state["before"] for state in states] == [0, 1, 2]
    for job in reversed(jobs):
        studio.post(f"{job.url.path}/cancel")
    os.kill(pid, signal.SIGCONT)
    ended = [studio.waited(job) for job in jobs]
    assert [studio.get(f"{job.url.path}/state").json()["state"] for job in ended] == ["cancelled"] * 3


def test_a_studio_finds_its_runs_again(open_studio: Callable[..., Visitor], crowd_files: tuple[bytes, bytes]) -> None:
    studio = open_studio()
    for name, content in zip(("votes.csv", "tasks.csv"), crowd_files, strict=True):
        studio.put(f"/files/{name}", content=content)
    data = read(studio)
    running = studio.post(f"{data}/run", data={**LONG, "do": "prices"})
    pid = hold(studio.job(running))
    waiting = studio.post(f"{data}/run", data={"group": "sex", "epsilon": "0.1", "method": "majority"})
    threading.Timer(0.5, os.kill, (pid, signal.SIGCONT)).start()  # asked to end, it does so once it goes on
    again = open_studio()
    assert again.get(data).status_code == 200
    assert "/runs/" in str(again.waited(again.get(waiting.url.path)).url)
    state = again.get(f"{running.url.path}/state").json()
    assert (state["state"], "start it again" in state["message"]) == ("failed", True)


def test_an_error_of_ours_is_kept_for_a_report(studio: Visitor, data: str) -> None:
    """What no message foresees fails the job, says so, and keeps where it happened."""
    from faircrowd.studio.job_process import do_job
    from faircrowd.studio.workspace import Workspace

    job = Workspace(studio.folder).new_job({"kind": "no such kind"})
    do_job(job.folder)
    assert job.state["state"] == "failed"
    assert "KeyError" in job.state["message"]
    assert "no such kind" in (job.folder / "traceback.txt").read_text()


def test_the_tests_that_the_documentation_names_are_there() -> None:
    here = Path(__file__).parent
    text = (here.parent.parent / "docs" / "studio.md").read_text(encoding="utf-8")
    named = set(re.findall(r"`(test_\w+)`", text))
    known = {name for path in here.glob("*.py") for name in re.findall(r"^def (test_\w+)", path.read_text(), re.M)}
    assert len(named) > 10
    assert named <= known
