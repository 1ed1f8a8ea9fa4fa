"""``Run``: its parts, which are computed when they are asked for, and ``verify``."""

from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import faircrowd as fc
from faircrowd.errors import InputError, OptionError
from faircrowd.runs.fit import fit
from faircrowd.runs.options import AuditOptions, EngineOptions, FairOptions, ModelOptions, ReadOptions, RunOptions
from faircrowd.runs.verify import verify

MODEL = ModelOptions("majority")


@pytest.fixture(scope="module")
def read(tmp_path_factory: pytest.TempPathFactory) -> ReadOptions:
    folder = tmp_path_factory.mktemp("run")
    drawn = fc.simulate_crowd(120, 10, random_state=5)
    drawn.votes.to_csv(folder / "votes.csv", index=False)
    tasks = pd.DataFrame({"group": drawn.sensitive_features, "truth": drawn.truth})
    tasks.rename_axis("task").to_csv(folder / "tasks.csv")
    return ReadOptions(folder / "votes.csv", folder / "tasks.csv", ("group",), "truth")


def test_a_run_has_all_its_parts(read: ReadOptions) -> None:
    run = fit(RunOptions(read, MODEL, FairOptions(0.05)))
    assert run.fair is not None
    assert run.result is run.fair.result_
    assert run.certificate is run.fair.certificate_
    assert (run.labels == run.fair.result_.solved.labels).all()
    assert run.summary.gap == run.certificate.gap <= 0.05
    assert run.details() == {"certificate": run.certificate.to_dict()}
    assert run.frontier().at(0.05).believed_accuracy == pytest.approx(
        run.fair.frontier_.at(0.05).believed_accuracy, abs=1e-12
    )
    assert run.text().startswith("result ")
    assert not run.in_sample


def test_a_run_without_epsilon_has_the_labels_of_its_aggregator(read: ReadOptions) -> None:
    run = fit(RunOptions(read, MODEL))
    assert (run.fair, run.result, run.certificate) == (None, None, None)
    assert (run.labels == run.posterior.label_codes).all()
    assert run.story["certificate"] is None
    assert run.details() == {}


def test_workers_are_the_same_with_and_without_an_audit(read: ReadOptions) -> None:
    alone, audited = (fit(RunOptions(read, MODEL)) for _ in range(2))
    assert audited.audit is not None
    assert alone.workers is not None
    assert audited.workers is audited.audit.workers
    assert (alone.workers.verdict == audited.audit.workers.verdict).all()


def test_a_run_reports_its_progress(read: ReadOptions, tmp_path: Path) -> None:
    from contextlib import contextmanager

    class Listening:
        def __init__(self) -> None:
            self.told: list[str] = []

        @contextmanager
        def waiting(self, what: str) -> Any:
            self.told.append(what)
            yield

        @contextmanager
        def rounds(self, what: str) -> Any:
            yield lambda number, *_: self.told.append(f"{what} {number}")

        def tell(self, line: str) -> None:
            self.told.append(line)

    progress = Listening()
    model = ModelOptions("dawid-skene", {"n_iter": 2, "tol": -1.0})
    run = fit(RunOptions(read, model, audit=AuditOptions(replicates=0)), progress)
    run.write(tmp_path / "run", progress=progress)
    assert progress.told == [
        f"reading {read.votes}",
        "dawid-skene 1",
        "dawid-skene 2",
        "auditing the crowd",
        "preparing the report",
        f"writing {tmp_path / 'run'}",
    ]


def test_verify_in_python(read: ReadOptions, tmp_path: Path) -> None:
    written = fit(RunOptions(read, MODEL, FairOptions(0.1))).write(tmp_path / "run", report=False)
    assert str(written).startswith(f"{tmp_path / 'run'}/labels.csv, workers.csv, summary.json")
    found = verify(tmp_path / "run")
    assert (found.verified, found.differences, found.version) == (True, (), fc.__version__)
    (tmp_path / "run" / "rule.json").write_text("{}")
    found = verify(str(tmp_path / "run"), votes=read.votes, tasks=str(read.tasks))
    assert found.differences[0] == "rule.json was changed since the run: another SHA-256"
    assert "rule.json: epsilon is absent, recomputed 0.1" in found.differences


def test_what_a_run_refuses(read: ReadOptions, tmp_path: Path) -> None:
    with pytest.raises(OptionError, match="reads its votes from a file"):
        fit(RunOptions(ReadOptions(None), MODEL))
    resumed = EngineOptions(checkpoint=tmp_path / "checkpoint.npz", resume=True)
    with pytest.raises(OptionError, match="resume is for methods that run in rounds; majority does not") as caught:
        fit(RunOptions(read, MODEL, engine=resumed))
    assert caught.value.parameters == ("resume",)
    one = tmp_path / "one.csv"
    pd.read_csv(read.tasks).assign(group=1).to_csv(one, index=False)
    with pytest.raises(InputError, match="Parity compares groups"):
        fit(RunOptions(ReadOptions(read.votes, one, ("group",)), MODEL, audit=AuditOptions()))
