"""What is logged to MLflow. Here a stand-in records the calls; `make packages` logs to a real MLflow."""

import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

import faircrowd as fc
from faircrowd.constraints import ChangeBudget, DemographicParity
from faircrowd.errors import FaircrowdError, InputError, MissingPackageError


class FakeMlflow(ModuleType):
    """Records what is logged, and to which run."""

    def __init__(self) -> None:
        super().__init__("mlflow")
        self.__spec__ = SimpleNamespace(name="mlflow")  # type: ignore[assignment]
        self.active: Any = None
        self.params: dict[str, str] = {}
        self.metrics: dict[str, float] = {}
        self.tags: dict[str, str] = {}
        self.files: dict[str, set[str]] = {}
        self.ended: list[str] = []
        self.broken = False

    def active_run(self) -> Any:
        return self.active

    def start_run(self) -> Any:
        self.active = SimpleNamespace(info=SimpleNamespace(run_id="new"))
        return self.active

    def end_run(self, status: str) -> None:
        self.active = None
        self.ended.append(status)

    def log_params(self, values: dict[str, str]) -> None:
        assert not self.params.keys() & values.keys()
        self.params |= values

    def log_metrics(self, values: dict[str, float]) -> None:
        if self.broken:
            raise ConnectionError("no server")
        self.metrics |= values

    def set_tags(self, values: dict[str, str]) -> None:
        self.tags |= values

    def log_artifacts(self, folder: str, path: str) -> None:
        self.files[path] = {file.name for file in Path(folder).iterdir()}


@pytest.fixture
def mlflow(monkeypatch: pytest.MonkeyPatch) -> FakeMlflow:
    fake = FakeMlflow()
    monkeypatch.setitem(sys.modules, "mlflow", fake)
    return fake


@pytest.fixture(scope="module")
def crowd() -> fc.SimulatedCrowd:
    return fc.simulate_crowd(200, 20, random_state=0)


@pytest.fixture(scope="module")
def fair(crowd: fc.SimulatedCrowd) -> fc.FairCrowd:
    return fc.FairCrowd(fc.MajorityVote(), epsilon=0.05).fit(crowd.votes, sensitive_features=crowd.sensitive_features)


def test_a_new_run_is_ended(mlflow: FakeMlflow, fair: fc.FairCrowd, crowd: fc.SimulatedCrowd) -> None:
    assert fc.log_mlflow(fair, truth=crowd.truth) == "new"
    assert mlflow.ended == ["FINISHED"]
    c = fair.certificate_
    same = ("gap", "gap_before", "believed_accuracy", "believed_accuracy_before", "changed", "tasks")
    assert {name: mlflow.metrics[name] for name in same} == {name: getattr(c, name) for name in same}
    assert mlflow.metrics["accuracy"] == (fair.labels_ == crowd.truth).mean()
    assert mlflow.metrics["accuracy_before"] == (fair.estimator_.labels_ == crowd.truth).mean()
    wanted = {"method": "majority", "estimator": "MajorityVote", "epsilon": "0.05", "estimator__ties": "first"}
    assert wanted.items() <= mlflow.params.items()
    assert "confidence" not in mlflow.params  # None
    assert mlflow.tags == {"faircrowd.version": fc.__version__, "faircrowd.optimal": "true", "faircrowd.missed": ""}
    assert {"labels.csv", "rule.json", "certificate.json", "report.html"} <= mlflow.files["faircrowd"]


def test_an_active_run_stays_open(mlflow: FakeMlflow, fair: fc.FairCrowd) -> None:
    mlflow.active = SimpleNamespace(info=SimpleNamespace(run_id="mine"))
    assert fc.log_mlflow(fair, artifact_path=None) == "mine"
    assert mlflow.active is not None
    assert not mlflow.ended
    assert not mlflow.files
    assert "accuracy" not in mlflow.metrics  # no truth, so there is only belief


def test_constraints_are_logged_one_by_one(mlflow: FakeMlflow, crowd: fc.SimulatedCrowd) -> None:
    asked = [DemographicParity(0.1, label=1), ChangeBudget(0.06)]
    few = fc.FairCrowd(fc.MajorityVote(), constraints=asked)
    few.fit(crowd.votes, sensitive_features=crowd.sensitive_features)
    fc.log_mlflow(few, report=False)
    assert "epsilon" not in mlflow.params
    for number, kept in enumerate(few.certificate_.constraints, start=1):
        assert mlflow.params[f"constraint_{number}"] == kept.text
        assert mlflow.metrics[f"constraint_{number}_level"] == kept.level
        assert mlflow.metrics[f"constraint_{number}_level_before"] == kept.level_before
    assert "report.html" not in mlflow.files["faircrowd"]


def test_a_failure_is_seen(mlflow: FakeMlflow, fair: fc.FairCrowd) -> None:
    mlflow.broken = True
    with pytest.raises(ConnectionError):
        fc.log_mlflow(fair, artifact_path=None)
    assert mlflow.ended == ["FAILED"]


def test_nothing_is_logged_of_what_cannot_be_written(mlflow: FakeMlflow, fair: fc.FairCrowd) -> None:
    with pytest.raises(FaircrowdError):
        fc.log_mlflow(fair, truth={"no such task": 1})
    with pytest.raises(FaircrowdError, match="not fitted"):
        fc.log_mlflow(fc.FairCrowd(fc.MajorityVote()))
    with pytest.raises(InputError, match="takes a fitted FairCrowd; got dict"):
        fc.log_mlflow({})  # type: ignore[arg-type]
    assert not mlflow.params
    assert not mlflow.ended


def test_without_mlflow_it_is_said_what_to_install(fair: fc.FairCrowd, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("faircrowd._extras.find_spec", lambda name: None)
    with pytest.raises(MissingPackageError, match=r"pip install 'faircrowd\[mlflow\]'"):
        fc.log_mlflow(fair)
