"""The engines of the command line: the same files from memory and from disk, and resumed runs."""

import io
import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest
import rich.console

from faircrowd.cli.console import Console
from faircrowd.engines import engine_choice as choice
from faircrowd.errors import OptionError
from faircrowd.runs.options import EngineOptions
from faircrowd.runs.read_inputs import settle_engine

pytest.importorskip("duckdb")

KILLED = """
import os, signal, sys
from faircrowd.aggregate.checkpoint import Checkpoint
from faircrowd.cli.app import run
save = Checkpoint.save
def save_and_die_after_the_third(self, history, parameters):
    save(self, history, parameters)
    if len(history) == 2:
        os.kill(os.getpid(), signal.SIGKILL)
Checkpoint.save = save_and_die_after_the_third
run(sys.argv[1:])
"""


@pytest.fixture
def votes(tmp_path: Path) -> Path:
    rng = np.random.default_rng(3)
    task, worker = np.divmod(rng.permutation(400 * 12), 12)
    truth, skill = rng.integers(0, 3, 400), rng.uniform(0.4, 0.9, 12)
    label = np.where(rng.random(task.size) < skill[worker], truth[task], rng.integers(0, 3, task.size))
    path = tmp_path / "votes.parquet"
    table = pa.table({"task": task, "worker": worker, "label": label, "group": np.array(["x", "y"])[task % 2]})
    pa.parquet.write_table(table.slice(0, 3000), path, row_group_size=500)
    return path


@pytest.fixture
def told(faircrowd: Callable[..., tuple[int, str, str]]) -> Callable[..., str]:
    """Run a command that ends with a code; return what it printed to stderr."""

    def call(*arguments: Any, code: int = 0) -> str:
        ended, out, err = faircrowd(*arguments)
        assert ended == code, err + out
        return err

    return call


def assert_same_files(first: Path, second: Path) -> None:
    names = sorted(path.name for path in first.iterdir())
    assert names == sorted(path.name for path in second.iterdir())
    for name in ("labels.csv", "workers.csv", "rule.json", "model.json", "summary.json"):
        assert (first / name).read_bytes() == (second / name).read_bytes(), name
    certificates = [json.loads((folder / "certificate.json").read_text(encoding="utf-8")) for folder in (first, second)]
    for certificate in certificates:
        certificate.pop("seconds")
    assert certificates[0] == certificates[1]
    with np.load(first / "model.npz") as ours, np.load(second / "model.npz") as theirs:
        assert ours.files == theirs.files
        for name in ours.files:
            np.testing.assert_array_equal(ours[name], theirs[name])


def fair(votes: Path, out: Path, *more: Any) -> list[Any]:
    options = ["--group", "group", "--epsilon", "0.03", "--by-group", "--no-report", "--n-iter", "12", "--tol", "-1"]
    return ["aggregate", votes, "--out", out, *options, *more]


def test_stream_writes_the_files_of_memory(votes: Path, tmp_path: Path, told: Callable[..., str]) -> None:
    told(*fair(votes, tmp_path / "memory", "--engine", "memory"))
    assert told(*fair(votes, tmp_path / "stream", "--engine", "stream", "--memory-limit", "600MB")) == ""
    assert_same_files(tmp_path / "memory", tmp_path / "stream")


@pytest.mark.parametrize("method", ["majority", "wawa", "zero-based", "one-coin", "glad"])
def test_every_method_streams(votes: Path, tmp_path: Path, method: str) -> None:
    from faircrowd.aggregate.registry import make_aggregator
    from faircrowd.engines.stream.read_stream import read_votes_on_disk
    from faircrowd.votes import read_votes

    models = [make_aggregator(method).fit(read(votes)) for read in (read_votes, read_votes_on_disk)]
    np.testing.assert_array_equal(models[0].posterior_.values, models[1].posterior_.values)


def test_a_killed_run_continues_to_the_same_bits(votes: Path, tmp_path: Path, told: Callable[..., str]) -> None:
    told(*fair(votes, tmp_path / "whole", "--engine", "memory"))
    arguments = [*map(str, fair(votes, tmp_path / "killed", "--engine", "stream"))]
    environment = {**os.environ, "TMPDIR": str(tmp_path)}  # what a killed process leaves goes with the test
    killed = subprocess.run([sys.executable, "-c", KILLED, *arguments], env=environment)
    assert killed.returncode == -9
    assert [path.name for path in (tmp_path / "killed").iterdir()] == ["checkpoint.npz"]
    with np.load(tmp_path / "killed" / "checkpoint.npz") as kept:
        assert kept["history"].size == 2
    other = told(*fair(votes, tmp_path / "killed", "--resume", "--ties", "last"), code=2)
    assert "is of other votes or options" in other
    told(*fair(votes, tmp_path / "killed", "--resume"))  # in memory: the engine leaves no trace
    assert_same_files(tmp_path / "whole", tmp_path / "killed")


def test_a_resumed_run_repeats_only_the_last_round(votes: Path, tmp_path: Path) -> None:
    from faircrowd import DawidSkene
    from faircrowd.aggregate.checkpoint import Checkpoint, fingerprint
    from faircrowd.votes import read_votes

    table, path, rounds = read_votes(votes), tmp_path / "kept.npz", list[int]()
    whole = DawidSkene(tol=1e-6).fit(table, checkpoint=Checkpoint(path, fingerprint(table), resume=False))
    kept = Checkpoint(path, fingerprint(table), resume=True)
    again = DawidSkene(tol=1e-6).fit(table, checkpoint=kept, on_round=lambda number, *_: rounds.append(number))
    assert rounds == [whole.n_iter_]
    assert again.loss_history_ == whole.loss_history_
    assert again.converged_
    np.testing.assert_array_equal(again.posterior_.values, whole.posterior_.values)
    for ours, theirs in zip(again._shown, whole._shown, strict=True):
        np.testing.assert_array_equal(ours, theirs)


def test_broken_checkpoint_is_one_line(votes: Path, tmp_path: Path, told: Callable[..., str]) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "checkpoint.npz").write_bytes(b"PK\x03\x04 no more")
    assert "cannot be read" in told("aggregate", votes, "--out", tmp_path / "out", "--resume", code=2)
    assert "in rounds" in told("aggregate", votes, "--out", tmp_path, "--resume", "--method", "wawa", code=2)


def test_the_choice_is_reported(votes: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, faircrowd: Any) -> None:
    arguments = ["aggregate", votes, "--method", "majority", "--no-report", "--memory-limit", "500MB"]
    assert faircrowd(*arguments, "--out", tmp_path / "out")[2] == ""
    monkeypatch.setattr(choice, "_BYTES_PER_ROW", 10**6)
    code, _, said = faircrowd(*arguments, "--out", tmp_path / "out")
    assert code == 0
    assert said.startswith("engine stream: a run on ")
    assert said.count("\n") == 1
    console = Console(as_json=True)
    settle_engine(EngineOptions("auto", 500_000_000), votes, console)
    assert [note.startswith("engine stream: ") for note in console.notes] == [True]


@pytest.mark.parametrize(("as_json", "is_terminal"), [(False, True), (False, False), (True, True)])
def test_a_terminal_shows_rounds_and_blocks(votes: Path, as_json: bool, is_terminal: bool) -> None:
    from faircrowd import DawidSkene

    console, shown = Console(as_json), io.StringIO()
    console._err = rich.console.Console(file=shown, force_terminal=is_terminal, width=120)
    with console.rounds("dawid-skene") as on_round:
        DawidSkene(n_iter=4, tol=-1).fit(votes, on_round=on_round)
    assert ("round 4 of at most 4, block 1 of 1" in shown.getvalue()) == (is_terminal and not as_json)
    assert (is_terminal and not as_json) or not shown.getvalue()


def test_options_are_checked(votes: Path, tmp_path: Path, told: Callable[..., str]) -> None:
    common = ["aggregate", votes, "--out", tmp_path / "out"]
    assert "use one of 'auto', 'memory', 'stream'" in told(*common, "--engine", "streem", code=2)
    assert "--memory-limit is for" in told(*common, "--engine", "memory", "--memory-limit", "1GB", code=2)
    assert "at least 500MB" in told(*common, "--memory-limit", "2", code=2)
    assert not (tmp_path / "out").exists()


def test_choice_goes_by_size_and_free_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "votes.parquet"
    pa.parquet.write_table(pa.table({"task": np.zeros(1_000_000, dtype=np.int8)}), path)
    assert choice.choose_engine(path, 10**9).engine == "memory"
    assert choice.choose_engine(path, 3 * 10**8).engine == "stream"
    monkeypatch.setattr(choice, "free_memory", lambda: 6 * 10**8)
    assert choice.choose_engine(path).engine == "stream"
    assert choice.choose_engine(tmp_path / "none.csv").engine == "memory"
    monkeypatch.setattr(choice.importlib.util, "find_spec", lambda name: None)
    without = choice.choose_engine(path)
    assert (without.engine, without.is_news) == ("memory", True)
    assert "faircrowd[stream]" in without.why


def test_tasks_that_will_not_fit_are_refused_before_the_rounds(tmp_path: Path, told: Callable[..., str]) -> None:
    task = np.arange(2_000_000) // 2
    votes = pa.table({"task": task, "worker": np.arange(task.size) % 2, "label": np.arange(task.size) * 7 % 40})
    pa.parquet.write_table(votes, tmp_path / "votes.parquet")
    options = ["--engine", "stream", "--memory-limit", "500MB", "--out", tmp_path / "out"]
    said = told("aggregate", tmp_path / "votes.parquet", *options, code=2)
    assert re.fullmatch(
        r"faircrowd: 1,000,000 tasks of 40 classes take about \S+ GB of memory, 0.5 GB may be used; "
        r"raise --memory-limit, or use --engine spark.\n",
        said,
    )
    assert not (tmp_path / "out").exists()


def test_what_is_free_is_the_limit_where_none_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    choice.check_run(10**6, 2, 8 * 10**6)
    monkeypatch.setattr(choice, "free_memory", lambda: 4 * 10**8)
    with pytest.raises(OptionError, match=r"0\.4 GB may be used; use engine='spark'"):
        choice.check_run(10**6, 2, 8 * 10**6)
    assert choice.memory_to_regroup(10**8) == 256 * 10**6
    assert choice.memory_to_regroup(10**12) == 1500 * 10**6


@pytest.mark.parametrize(("text", "size"), [("2GB", 2 * 10**9), ("1.5 gib", 3 << 29), ("600m", 6 * 10**8)])
def test_sizes(text: str, size: int) -> None:
    assert choice.parse_size(text) == size


@pytest.mark.parametrize("text", ["", "GB", "-2GB", "2XB", "1e9", "499MB", "٢GB"])
def test_no_sizes(text: str) -> None:
    with pytest.raises(OptionError, match="at least 500MB"):
        choice.parse_size(text)


def test_nothing_to_resume_is_said(votes: Path, tmp_path: Path, faircrowd: Callable[..., tuple[int, str, str]]) -> None:
    given = ("aggregate", votes, "--out", tmp_path / "out", "--no-report", "--resume")
    code, _, err = faircrowd(*given)
    assert (code, "there is nothing to resume" in err, "starting from the first round" in err) == (0, True, True)
    code, printed, _ = faircrowd(*given, "--json")
    assert any("nothing to resume" in note for note in json.loads(printed)["notes"])


def test_groups_without_epsilon_are_not_made_fair(
    votes: Path, tmp_path: Path, faircrowd: Callable[..., tuple[int, str, str]]
) -> None:
    given = ("aggregate", votes, "--method", "majority", "--no-report", "--out", tmp_path / "out")
    note = "the labels are not made fair to the groups; --epsilon VALUE bounds the gap between them"
    for more, expected in (([], None), (["--group", "group"], False), (["--group", "group", "--epsilon", "0.2"], True)):
        code, printed, _ = faircrowd(*given, *more)
        assert (code, note in printed) == (0, expected is False)
        assert json.loads((tmp_path / "out" / "summary.json").read_text())["made_fair"] is expected
