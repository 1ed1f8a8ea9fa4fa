"""The registry of aggregators: what it lists is true, and an aggregator added to it works everywhere."""

import csv
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import numpy as np
import pandas as pd
import pytest

import faircrowd as fc
from faircrowd.aggregate.base import Aggregator
from faircrowd.aggregate.em import Iterative
from faircrowd.aggregate.posterior import TaskPosterior, make_posterior
from faircrowd.aggregate.registry import AGGREGATORS, AggregatorKind, kind_named, kind_of, make_aggregator, register
from faircrowd.errors import InputError, OptionError
from faircrowd.votes import VoteTable


@dataclass(eq=False)
class Dictator(Aggregator):
    """The label of the voter with the smallest worker id; ``belief`` is its probability."""

    belief: float = 0.9
    ties: str = "first"

    def fit(self, data: Any, *, sensitive_features: Any = None) -> Self:
        self._begin()
        votes = self._read(data, sensitive_features)
        return self._store(votes, self._predict(votes))

    def _predict(self, votes: VoteTable) -> TaskPosterior:
        scores = np.full((votes.n_tasks, votes.n_classes), 1 - self.belief)
        scores[np.arange(votes.n_tasks), votes.label[votes.offsets[:-1]]] = self.belief  # votes are sorted by worker
        return make_posterior(votes, scores, is_log=False, ties=self.ties)

    def _state(self) -> dict[str, Any]:
        return {}

    def _set_state(self, state: Any) -> None:
        pass


CROWD = fc.simulate_crowd(200, 12, random_state=5)
VOTES = CROWD.votes.assign(group=CROWD.votes["task"].map(CROWD.sensitive_features))


@pytest.fixture
def dictator() -> Iterator[AggregatorKind]:
    kind = AggregatorKind("dictator", "Dictator", __name__, "unused", False, False, "The first worker decides.")
    register(kind)
    yield kind
    del AGGREGATORS[kind.name]


def dictated(votes: pd.DataFrame) -> dict[Any, Any]:
    return votes.sort_values("worker").groupby("task")["label"].first().to_dict()


def test_a_registered_aggregator_is_made_by_its_name(dictator: AggregatorKind) -> None:
    model = make_aggregator("dictator", belief=0.8)
    assert isinstance(model, Dictator)
    assert kind_of(model) is kind_of(Dictator) is kind_named("dictator") is dictator
    assert model.fit_predict(VOTES).to_dict() == dictated(VOTES)
    assert model.probas_.to_numpy().max() == pytest.approx(0.8)
    assert fc.Dictator is Dictator
    with pytest.raises(OptionError, match="Invalid parameter 'n_iter' for estimator Dictator"):
        make_aggregator("dictator", n_iter=3)


def test_a_registered_aggregator_is_saved_and_loaded(dictator: AggregatorKind, tmp_path: Path) -> None:
    fc.save_model(Dictator(0.7).fit(VOTES), tmp_path)
    same = fc.load_model(tmp_path)
    assert isinstance(same, Dictator)
    assert same.belief == 0.7
    assert same.predict(VOTES).to_dict() == dictated(VOTES)


def test_an_aggregator_that_is_not_registered_is_not_saved(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="A Dictator cannot be saved: its class is not registered"):
        fc.save_model(Dictator().fit(VOTES), tmp_path)
    assert kind_of(Dictator) is None


def test_fair_labels_of_a_registered_aggregator(dictator: AggregatorKind) -> None:
    fair = fc.FairCrowd(make_aggregator("dictator"), epsilon=0.02).fit(VOTES, sensitive_features="group")
    assert fair.certificate_.gap <= 0.02
    assert fair.estimator_.labels_.to_dict() == dictated(VOTES)


def test_a_registered_aggregator_is_a_method_of_the_command_line(
    dictator: AggregatorKind, tmp_path: Path, faircrowd: Callable[..., tuple[int, str, str]]
) -> None:
    VOTES.to_csv(tmp_path / "votes.csv", index=False)
    common = ["aggregate", tmp_path / "votes.csv", "--method", "dictator", "--no-report", "--out", tmp_path / "out"]
    code, _, err = faircrowd(*common, "--group", "group", "--epsilon", "0.05")
    assert code == 0, err
    with (tmp_path / "out" / "labels.csv").open() as file:
        before = {int(row["task"]): int(row["label_before"]) for row in csv.DictReader(file)}
    assert before == dictated(VOTES)
    for option, message in (
        ("--by-group", "--by-group is for --method dawid-skene and one-coin"),
        ("--n-iter=3", "--method dictator has no option --n-iter"),
        ("--gold=truth", "--method dictator does not learn from known labels"),
        (
            "--engine=spark",
            "is not known; use one of 'majority', 'wawa', 'zero-based', 'dawid-skene', 'one-coin'",
        ),
    ):
        code, _, err = faircrowd(*common, option)
        assert code == 2
        assert message in err


def test_unknown_names_are_refused_with_a_suggestion() -> None:
    with pytest.raises(OptionError, match=r"no aggregator 'dawid-skeen'; use one of majority, .* mean 'dawid-skene'\?"):
        kind_named("dawid-skeen")
    with pytest.raises(OptionError, match=r"Invalid parameter 'n_itre' for .* Did you mean 'n_iter'\?"):
        make_aggregator("glad", n_itre=3)


@pytest.mark.parametrize("kind", list(AGGREGATORS.values()))
def test_names_are_taken_once(kind: AggregatorKind) -> None:
    for name, class_name in ((kind.name, "Else"), ("else", kind.class_name)):
        with pytest.raises(OptionError, match="is registered already"):
            register(AggregatorKind(name, class_name, __name__, "unused", False, False, ""))


@pytest.mark.parametrize("kind", list(AGGREGATORS.values()), ids=list(AGGREGATORS))
def test_what_the_registry_lists_is_true(kind: AggregatorKind) -> None:
    import inspect

    cls = kind.load()
    assert issubclass(cls, Aggregator)
    assert cls.__name__ == kind.class_name
    assert kind_of(cls) is kind
    assert getattr(fc, kind.class_name) is getattr(fc.aggregate, kind.class_name) is cls
    fit = inspect.signature(cls.fit).parameters
    assert (kind.gold == "unused") == ("true_labels" not in fit)
    votes = pd.DataFrame({"task": [1, 1, 2, 2], "worker": list("abab"), "label": [0, 0, 1, 0]})
    if kind.gold == "required":
        with pytest.raises(InputError, match="true_labels"):
            cls().fit(votes)
    else:
        cls().fit(votes)
    assert list(fit)[2] == "true_labels" or kind.gold == "unused"
    assert kind.by_group == ("by_group" in cls().get_params())
    assert issubclass(cls, Iterative) == ({"checkpoint", "on_round"} <= fit.keys())
    assert kind.summary.endswith(".")


def test_the_package_lists_what_the_registry_has() -> None:
    classes = {kind.class_name for kind in AGGREGATORS.values()}
    for package in (fc, fc.aggregate):
        listed = {name for name in package.__all__ if isinstance(getattr(package, name), type)}
        assert {name for name in listed if issubclass(getattr(package, name), Aggregator)} == classes
        assert classes <= set(dir(package))
    with pytest.raises(AttributeError, match=r"'faircrowd\.aggregate' has no attribute 'Nonsense'"):
        fc.aggregate.Nonsense  # noqa: B018


def test_type_checkers_see_what_the_packages_list() -> None:
    import ast

    for package in (fc, fc.aggregate):
        tree = ast.parse(Path(package.__file__).read_text(encoding="utf-8"))
        ifs = (node for node in tree.body if isinstance(node, ast.If))
        (checked,) = (node for node in ifs if ast.unparse(node.test) == "TYPE_CHECKING")
        imported = {alias.name for node in checked.body for alias in node.names}  # type: ignore[attr-defined]
        submodules = set(dir(fc)) - set(fc.__all__) - {"__version__"} if package is fc else set()
        assert imported == set(package.__all__) | submodules


def test_the_registry_is_light() -> None:
    code = "import faircrowd.aggregate.registry, sys; print('numpy' in sys.modules or 'numba' in sys.modules)"
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert shown == "False\n"


def test_subpackages_are_attributes_of_the_package() -> None:
    names = ("aggregate", "audit", "baselines", "datasets", "engines", "errors", "fair", "votes")
    code = f"import faircrowd; print([getattr(faircrowd, name).__name__ for name in {names}])"
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert shown == f"{[f'faircrowd.{name}' for name in names]}\n"
    assert set(names) <= set(dir(fc))
