"""The results of audits are those of earlier versions."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import faircrowd as fc
from faircrowd import audit
from faircrowd.audit.crowd_audit import audit_by_truth
from faircrowd.audit.intervals import gap_limits, newcombe, wilson
from faircrowd.audit.majority.growing_crowd import majority_curve
from faircrowd.audit.majority.poisson_binomial import poisson_binomial, survival
from faircrowd.audit.majority.tie_range import tie_range
from faircrowd.audit.workers.influence import worker_influence
from faircrowd.audit.workers.leaning import compare, judge
from faircrowd.audit.workers.shrinkage import shrunken_gaps
from faircrowd.audit.workers.significance import benjamini_hochberg, fisher_tests
from faircrowd.errors import InputError
from faircrowd.votes.table import VoteTable
from kept import assert_kept

KEPT = Path(__file__).with_name("kept.json")


def crowd(n_classes: int, n_groups: int, n_tasks: int = 40, n_workers: int = 8) -> tuple[VoteTable, Any]:
    """Four votes per task, from workers of whom some lean; and the truth of most tasks."""
    rng = np.random.default_rng([n_classes, n_groups])
    task, seat = np.divmod(np.arange(4 * n_tasks), 4)
    group = np.arange(n_tasks) % n_groups
    worker = (task + seat * 3) % n_workers
    truth = rng.integers(0, n_classes, n_tasks)
    label = np.where(rng.random(task.size) < 0.7, truth[task], rng.integers(0, n_classes, task.size))
    label[(worker < 2) & (group[task] == 0)] = 0
    frame = pd.DataFrame({"task": task, "worker": worker, "label": label, "group": group[task]})
    return fc.read_votes(frame, sensitive_features="group"), np.where(np.arange(n_tasks) % 5 == 0, -1, truth)


@pytest.mark.parametrize(("n_classes", "n_groups"), [(2, 2), (2, 3), (3, 2), (4, 3)])
@pytest.mark.parametrize("by", ["rates", "truth", "posterior"])
def test_crowds(n_classes: int, n_groups: int, by: str) -> None:
    votes, truth = crowd(n_classes, n_groups)
    model = fc.MajorityVote().fit(votes)
    given: dict[str, Any] = {"truth": {"truth": truth}, "posterior": {"posterior": model.posterior_.values}}.get(by, {})
    found = audit.audit_crowd(
        votes, model.posterior_.label_codes, control=np.arange(40) % 3, replicates=30, random_state=4, **given
    )
    assert_kept(KEPT, f"crowd {n_classes} {n_groups} {by}", found)


@pytest.mark.parametrize("ties", ["split", "first", "last"])
def test_influence(ties: str) -> None:
    for shape in ((2, 2), (3, 3)):
        assert_kept(KEPT, f"influence {shape} {ties}", worker_influence(crowd(*shape)[0], ties=ties))


def test_workers() -> None:
    votes, truth = crowd(3, 2)
    found = audit.audit_workers(votes, truth=truth, confidence=0.8, tolerance=0.4, shrink=False)
    assert_kept(KEPT, "workers", {"audit": found, "verdict": found.verdict, "judged": found.judged})
    for last in ("first", "last"):
        assert_kept(KEPT, f"bootstrap {last}", audit.bootstrap_gap(votes, ties=last, replicates=25, random_state=1))


def test_leanings() -> None:
    rng = np.random.default_rng(3)
    counts = rng.integers(0, 9, (12, 2, 3, 2))
    counts[0] = 0
    counts[1, :, 0] = 0
    counts[2, :, 1:] = 0
    counts[3] *= 30
    assert_kept(KEPT, "shrunken", shrunken_gaps(counts))
    assert_kept(KEPT, "compared", compare(counts))
    assert_kept(KEPT, "compared with confidence", compare(counts, 0.9))


def test_judgements() -> None:
    rng = np.random.default_rng(4)
    counts = rng.integers(0, 12, (9, 1, 2, 2))
    assert_kept(KEPT, "judged", judge(counts, 0.9))
    assert_kept(KEPT, "judged without shrinkage", judge(counts, 0.9, shrink=False))


@pytest.mark.parametrize("known", [[], [3], [0, 3, 7]], ids=str)
def test_truth_that_is_known_for_few_tasks(known: list[int]) -> None:
    """If it is known for no task, the posterior is used; if for one task of the first class, the truth."""
    votes, _ = crowd(2, 2)
    truth = np.full(40, -1, dtype=np.int32)
    truth[known] = 0
    posterior = fc.MajorityVote().fit(votes).posterior_.values
    found = audit_by_truth(votes, truth, posterior)
    assert_kept(KEPT, f"known {known}", {"audit": found, "rates": found.rates})


def test_a_group_of_one_task() -> None:
    frame = pd.DataFrame(
        {"task": [0, 0, 0, 1, 1, 2, 2], "worker": [0, 1, 2, 0, 1, 1, 2], "label": [1, 0, 1, 0, 1, 1, 1]}
    )
    votes = fc.read_votes(frame.assign(group=(frame["task"] == 0).astype(int)), sensitive_features="group")
    assert_kept(KEPT, "a group of one task", worker_influence(votes))


def test_tests_and_intervals() -> None:
    x1, n1 = np.array([0, 3, 5, 40, 0]), np.array([4, 9, 5, 100, 1])
    x2, n2 = np.array([2, 3, 0, 70, 1]), np.array([6, 4, 8, 90, 3])
    assert_kept(KEPT, "fisher", fisher_tests(x1, n1, x2, n2))
    assert_kept(KEPT, "discoveries", benjamini_hochberg([0.01, 0.2, np.nan, 0.03, 0.03, 1.0]))
    for confidence in (0.8, 0.95):
        assert_kept(KEPT, f"wilson {confidence}", wilson(x1[:4], n1[:4], confidence))
        assert_kept(KEPT, f"newcombe {confidence}", newcombe(x1[:4], n1[:4], x2[:4], n2[:4], confidence))
        for table in ([[3, 7], [6, 2]], [[3, 7, 1], [6, 2, 9], [0, 5, 5]], [[30, 0], [41, 1], [0, 9]]):
            assert_kept(KEPT, f"interval {table} {confidence}", audit.gap_interval(table, confidence))
            assert_kept(KEPT, f"limits {table} {confidence}", gap_limits(table, confidence))


def test_gates() -> None:
    for epsilon in (0.02, 0.1, 0.45):
        for sizes in ((12, 15), (400, 350), (5000, 9000)):
            labels = np.concatenate([np.arange(n) % (3 + a) == 0 for a, n in enumerate(sizes)]).astype(int)
            group = np.repeat(["a", "b"], sizes)
            verdict = audit.check_labels(labels, group, epsilon=epsilon)
            assert_kept(KEPT, f"gate {epsilon} {sizes}", {"it": verdict.to_dict(), "widest": verdict.widest})


def test_ties() -> None:
    rng = np.random.default_rng(8)
    for n_classes, n_groups in ((2, 2), (3, 2), (3, 3), (4, 2)):
        scores, group = rng.integers(0, 3, (18, n_classes)), np.arange(18) % n_groups
        assert_kept(KEPT, f"ties {n_classes} {n_groups}", tie_range(scores, group))
    with pytest.raises(InputError, match="coded from 0 to 1, and each must have a task"):
        tie_range([[1, 0], [0, 1]], np.array([0, 2]), 2)


def test_crowds_of_known_rates() -> None:
    rates = np.array([[0.1, 0.3], [0.55, 0.6], [0.8, 0.85], [0.35, 0.9], [0.5, 0.5]])
    assert_kept(KEPT, "law", poisson_binomial(rates))
    assert_kept(KEPT, "survival", [survival(rates, least) for least in (0, 2, 5)])
    assert_kept(KEPT, "rates", audit.majority_rates(rates))
    assert_kept(KEPT, "rates of four", audit.majority_rates(rates[:4]))
    assert_kept(KEPT, "curve", majority_curve(rates))
    assert_kept(KEPT, "curve of some", majority_curve(rates, sizes=[2, 4]))
    assert_kept(KEPT, "bound", audit.majority_gap_bound(rates))
    assert_kept(KEPT, "bound as printed", audit.majority_gap_bound_as_printed(rates))


PLANS: dict[str, tuple[Any, dict[str, Any]]] = {
    "by group": ({"a": 0.8, "b": 0.6}, {"priors": {"a": 0.3, "b": 0.6}}),
    "without priors": ([0.9, 0.7], {}),
    "bayes": ({"a": 0.8, "b": 0.6}, {"priors": {"a": 0.3, "b": 0.6}, "vote": "bayes"}),
    "a pool": ([[0.9, 0.8], [0.7, 0.6], [0.8, 0.7], [0.6, 0.9]], {"priors": [0.4, 0.5], "ties": "last"}),
    "by class": ([[[0.9, 0.7], [0.8, 0.6]]] * 5, {"priors": [0.4, 0.5]}),
    "never": ({"a": 0.8, "b": 0.45}, {"priors": {"a": 0.3, "b": 0.6}}),
    "coins": ({"a": 0.8, "b": 0.5}, {"priors": {"a": 0.3, "b": 0.6}, "vote": "bayes"}),
    "one vote": ({"a": 0.99, "b": 0.98}, {"priors": {"a": 0.3, "b": 0.6}, "most": 1}),
    "few": ({"a": 0.8, "b": 0.55}, {"priors": {"a": 0.3, "b": 0.6}, "most": 9}),
}


@pytest.mark.parametrize("name", PLANS)
def test_plans(name: str) -> None:
    skills, options = PLANS[name]
    plan = audit.plan_crowd(skills, delta=0.05, **{"most": 41, **options})
    assert_kept(KEPT, f"plan {name}", {"it": plan, "says": str(plan)})


@pytest.mark.parametrize("n_classes", [2, 3])
def test_metrics(n_classes: int) -> None:
    rng = np.random.default_rng(n_classes)
    truth, label, group = rng.integers(0, n_classes, 50), rng.integers(0, n_classes, 50), rng.integers(0, 3, 50)
    control, weight = rng.integers(0, 2, 50), rng.random(50)
    found: dict[str, Any] = {}
    for name in ("demographic_parity", "equal_opportunity", "equalized_odds"):
        for kind in ("difference", "ratio"):
            metric = getattr(audit, f"{name}_{kind}")
            for method in ("between_groups", "to_overall"):
                more = {"agg": "mean"} if name == "equalized_odds" else {}
                for options in ({}, {"sample_weight": weight}, more):
                    value = metric(truth, label, sensitive_features=group, method=method, **options)
                    found[f"{name} {kind} {method} {list(options)}"] = value
    assert_kept(KEPT, f"metrics {n_classes}", found)
    assert_kept(KEPT, f"selection {n_classes}", audit.selection_rate(truth, label, pos_label=1, sample_weight=weight))
    for options in ({}, {"y_true": truth}, {"y_true": truth, "sample_weight": weight}):
        frame = audit.by_group(pd.Series(label), sensitive_features=group, **options)
        assert_kept(KEPT, f"by group {n_classes} {list(options)}", frame.reset_index().to_dict("list"))
    gaps = audit.conditional_gaps(label, sensitive_features=group, control_features=control)
    assert_kept(KEPT, f"strata {n_classes}", gaps)


def test_agreement() -> None:
    for shape in ((2, 2), (4, 3)):
        assert_kept(KEPT, f"agreement {shape}", audit.krippendorff_alpha(crowd(*shape)[0]))
