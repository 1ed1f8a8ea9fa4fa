"""Killed at any moment: the old files or the new ones, never a mixture; the next run removes what else is left."""

import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from faults.conftest import COMMANDS, Faults
from faults.moments import tree

Outputs = Callable[[dict[str, str]], tuple[dict[str, str], list[str]]]


@pytest.mark.parametrize("name", COMMANDS)
def test_every_moment_has_old_files_or_new_ones(name: str, faults: Faults, outputs: Outputs) -> None:
    old, new = (tree(faults.whole(name, number)) for number in (1, 2))
    answer = faults.moments(name)
    assert (answer["code"], answer["err"]) == (0, "")
    assert outputs(answer["tree"]) == (new, [])
    found = [outputs(state)[0] for state in answer["states"]]
    for files in found:  # the rounds of a run that may be taken up again
        files.pop("checkpoint.npz", None)
    is_new = [files == new for files in found]
    assert all(new_now or files == old for new_now, files in zip(is_new, found, strict=True))
    assert is_new == sorted(is_new)
    assert {True, False} <= set(is_new)


@pytest.mark.parametrize("name", ["aggregate", "audit"])
def test_every_moment_of_a_first_run_has_all_files_or_none(name: str, faults: Faults, outputs: Outputs) -> None:
    new = {file: found for file, found in tree(faults.whole(name, 2)).items() if file != "notes.txt"}
    answer = faults(faults.command(name, 2), fault="look")
    states = [outputs(state)[0] for state in answer["states"]]
    assert all(files in ({}, new) for files in states)


@pytest.mark.parametrize("part", ["early", "before", "after"])
@pytest.mark.parametrize("name", COMMANDS)
def test_kill_and_run_again(name: str, part: str, faults: Faults, outputs: Outputs) -> None:
    old, new = (tree(faults.whole(name, number)) for number in (1, 2))
    moments, command = faults.moments(name), faults.command(name, 2)
    change = moments["exchange"]
    if change is None:
        assert name == "apply"  # one file needs no exchange
        change = moments["moved"]
    at = {"early": 3, "before": change, "after": change + 1}[part]
    answer = faults(command, fault="kill", at=at, start=str(faults.whole(name, 1)))
    assert answer["code"] == -9
    files, litter = outputs(answer["tree"])
    files.pop("checkpoint.npz", None)
    assert files == (new if part == "after" else old)
    again = faults(command, keep=True)
    assert again["code"] == 0
    assert outputs(again["tree"]) == (new, [])
    assert ("killed run" in again["err"]) == bool(litter)
    assert len(again["err"].splitlines()) == (len({path.split("faircrowd-")[0] for path in litter}))


@pytest.mark.parametrize("name", ["aggregate", "audit", "demo"])
def test_what_a_kill_leaves_verifies(name: str, faults: Faults) -> None:
    command, start = faults.command(name, 2), faults.whole(name, 1)
    exchange = faults.moments(name)["exchange"]
    for at in (exchange, exchange + 1):
        assert faults(command, fault="kill", at=at, start=str(start))["code"] == -9
        verified = faults(["verify", str(faults.place / "out")], keep=True)
        assert verified["code"] == 0, verified["out"]


def test_where_folders_cannot_be_exchanged_files_move_one_by_one(faults: Faults, tmp_path: Path) -> None:
    """Then a kill may leave a mixture; the evidence, which is moved last, shows it."""
    command, new = faults.command("aggregate", 2), tree(faults.whole("aggregate", 2))
    shutil.copytree(faults.whole("aggregate", 1), tmp_path / "start")
    (tmp_path / "start" / "mine").mkdir()
    moments = faults(command, fault="look", start=str(tmp_path / "start"))
    assert moments["exchange"] is None
    assert {name.removeprefix("out/") for name in moments["tree"]} == {*new, "mine", "out", "tmp"}
    mixed = next(i for i, state in enumerate(moments["states"]) if state.get("out/labels.csv") == new["labels.csv"])
    assert moments["states"][mixed].get("out/evidence.json") != new["evidence.json"]


ORPHAN = """
import os, signal
from faircrowd.experiments.runner import workers
if __name__ == "__main__":
    with workers(1) as pool:
        print(pool.submit(os.getpid).result(), flush=True)
        os.kill(os.getpid(), signal.SIGKILL)
"""


def test_workers_end_with_a_killed_reproduction(tmp_path: Path) -> None:
    (tmp_path / "orphan.py").write_text(ORPHAN, encoding="utf-8")
    # The output ends when the last process that could write to it has ended.
    done = subprocess.run([sys.executable, tmp_path / "orphan.py"], capture_output=True, text=True, timeout=60)
    assert done.returncode == -9
    assert done.stdout.strip().isdigit()
