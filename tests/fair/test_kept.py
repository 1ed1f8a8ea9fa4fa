"""Labels, rules and certificates are those of earlier versions."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import faircrowd as fc
from faircrowd.errors import InputError
from faircrowd.exact.hashing import task_keys, uniforms
from faircrowd.fair import FairResult
from faircrowd.fair.frontier import sweep
from faircrowd.fair.objective import f1_gain
from faircrowd.fair.promise.margin import margin_for
from faircrowd.fair.tasks.read_posterior import read_posterior
from faircrowd.votes import Vocabulary
from kept import assert_kept

KEPT = Path(__file__).with_name("kept.json")
Case = tuple[Any, Any]


def tasks(n_classes: int, n_groups: int, votes: int | None, n: int = 60) -> Case:
    """Posteriors that lean by group; shares of a few votes if asked."""
    rng = np.random.default_rng([n_classes, n_groups, votes or 0])
    group = np.append(np.arange(n_groups), rng.integers(0, n_groups, n - n_groups))
    p = rng.random((n, n_classes)) ** 2 + 0.02
    p[:, -1] += 0.7 * group / n_groups
    p /= p.sum(axis=1, keepdims=True)
    if votes is not None:
        p = (p.cumsum(axis=1)[:, None, :] > rng.random((n, votes))[:, :, None]).argmax(axis=2)[:, :, None]
        p = (p == np.arange(n_classes)).mean(axis=1)
    return p, group


def coins(law: Any) -> dict[int, Any]:
    """Return the rows whose label is not sure."""
    return {row: law[row] for row in np.flatnonzero(law.max(axis=1) < 1)}


def told(result: FairResult, *, one_law: bool = True, one_labelling: bool = True) -> dict[str, Any]:
    """Return what is the same whichever of equally good solutions HiGHS finds.

    Parameters
    ----------
    one_law : bool
        Whether the best randomized solution is the only one: no posteriors are tied.
    one_labelling : bool
        Whether the labels are: they are not rounded by an integer program.
    """
    certificate = {**result.certificate.to_dict(), "seconds": 0}
    found: dict[str, Any] = {name: certificate[name] for name in ("gap_before", "bound", "epsilon")}
    if one_law:
        found["coins"] = coins(np.asarray(result.probabilities))
        found["rule"] = {name: value for name, value in json.loads(result.rule.to_json()).items() if name != "version"}
        found["says"] = str(result.rule)
    if one_law and one_labelling:
        found["labels"] = "".join(map(str, np.asarray(result.labels).tolist()))
        found["certificate"] = certificate
    return found


SHAPES = [(2, 2, None), (2, 2, 5), (2, 3, None), (2, 3, 3), (3, 2, None), (3, 3, 5), (4, 2, None), (5, 4, None)]


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("epsilon", [0.0, 0.03, 0.15, 1.0])
def test_solutions(shape: tuple[int, int, int | None], epsilon: float) -> None:
    posterior, group = tasks(*shape)
    for decision in ("deterministic", "randomized"):
        result = fc.make_fair(posterior, group, epsilon=epsilon, decision=decision, random_state=5)
        simple = shape[:2] == (2, 2)
        unique = {"one_law": simple or shape[2] is None, "one_labelling": simple or decision == "randomized"}
        assert_kept(KEPT, f"{shape} {epsilon} {decision}", told(result, **unique))


OPTIONS: dict[str, tuple[tuple[int, int, int | None], dict[str, Any]]] = {
    "weights": ((2, 2, None), {"sample_weight": np.arange(1, 61) % 7 + 0.5}),
    "weights of three classes": ((3, 2, None), {"sample_weight": np.arange(1, 61) % 7 + 0.5}),
    "weights and a coin": ((2, 2, None), {"sample_weight": np.arange(1, 61) % 7 + 0.5, "decision": "randomized"}),
    "weights and gains": (
        (2, 2, None),
        {"sample_weight": np.arange(1, 61) % 7 + 0.5, "objective": [[2.0, -1.0], [-3.0, 1.0]]},
    ),
    "weights and f1": ((2, 2, None), {"sample_weight": np.arange(1, 61) % 7 + 0.5, "objective": "f1"}),
    "weights of three classes and gains": (
        (3, 2, None),
        {"sample_weight": np.arange(1, 61) % 5 + 0.5, "objective": [[2, 0, -1], [0, 1, 0], [-1, 0, 3]]},
    ),
    "f1": ((2, 2, None), {"objective": "f1"}),
    "f1 with a coin": ((2, 2, 5), {"objective": "f1", "decision": "randomized"}),
    "f1 of three groups": ((2, 3, None), {"objective": "f1"}),
    "gains": ((2, 2, None), {"objective": [[2.0, -1.0], [-3.0, 1.0]]}),
    "gains of three classes": ((3, 3, None), {"objective": [[2, 0, -1], [0, 1, 0], [-1, 0, 3]]}),
    "strict": ((3, 3, None), {"strict": True}),
    "last of ties": ((2, 2, 4), {"ties": "last"}),
    "evidence": ((2, 2, 5), {"evidence": np.arange(60) % 3 + 1}),
    "logarithms": ((2, 2, None), {"log_posterior": np.log(tasks(2, 2, None)[0])}),
    "another seed": ((2, 2, 5), {"random_state": 11}),
    "confidence": ((2, 2, None), {"confidence": 0.6, "epsilon": 0.9}),
}


@pytest.mark.parametrize("name", OPTIONS)
def test_options(name: str) -> None:
    shape, options = OPTIONS[name]
    posterior, group = tasks(*shape)
    result = fc.make_fair(posterior, group, **{"epsilon": 0.04, **options})
    assert_kept(KEPT, name, {**told(result, one_labelling=shape[:2] == (2, 2)), "margin": result.promise})
    result.certificate.verify(posterior, group, result.labels, sample_weight=options.get("sample_weight"))


@pytest.mark.parametrize("name", ["accuracy", "f1"])
def test_a_certificate_of_other_numbers_is_refused(name: str) -> None:
    posterior, group = tasks(2, 2, None)
    result = fc.make_fair(posterior, group, epsilon=0.04, objective=name)
    for field in ("gap", "believed_accuracy", "value", "dual_bound"):
        for change in (-1e-6, 1e-6):
            other = replace(result.certificate, **{field: getattr(result.certificate, field) + change})
            with pytest.raises(InputError, match=f"certificate's {field} is"):
                other.verify(posterior, group, result.labels)
    for change, said in ((1.0, "above its dual bound"), (-1.0, "below its value")):
        other = replace(result.certificate, bound=result.certificate.bound + change)
        with pytest.raises(InputError, match=said):
            other.verify(posterior, group, result.labels)


@pytest.mark.filterwarnings("ignore:.*fewer than 10 tasks:faircrowd.errors.DataWarning")
def test_a_group_without_tasks_to_spare() -> None:
    p = np.linspace(0.02, 0.98, 41)
    group = (np.arange(41) % 20 == 0).astype(int)
    for epsilon in (0.0, 0.01, 0.3):
        result = fc.make_fair(np.stack([1 - p, p], axis=1), group, epsilon=epsilon)
        assert_kept(KEPT, f"a small group {epsilon}", told(result))


@pytest.mark.parametrize("shape", [(2, 2, None), (2, 2, 5), (2, 3, None), (3, 3, None)], ids=str)
@pytest.mark.parametrize("objective", ["accuracy", "f1"])
def test_frontiers(shape: tuple[int, int, int | None], objective: str) -> None:
    if objective == "f1" and shape[0] > 2:
        return
    posterior, group = tasks(*shape)
    result = fc.make_fair(posterior, group, epsilon=0.1, objective=objective)
    frontier = result.frontier
    points = [frontier.at(epsilon) for epsilon in (0.0, 0.05, float(frontier.gap[0]), 1.0)]
    assert frontier.real_accuracy is None  # not known without truth
    names = [name for name in frontier.__dataclass_fields__ if name not in ("real_accuracy", "style")]
    curve = {name: getattr(frontier, name) for name in names}
    assert_kept(KEPT, f"frontier {shape} {objective}", {"curve": curve, "points": points})


def test_sweeps() -> None:
    posterior, group = tasks(3, 3, None)
    result = fc.make_fair(posterior, group, epsilon=0.1)
    found = sweep(result.problem, result.solved.gain, 0, [0.2, 0.05, 0.0])
    assert_kept(
        KEPT,
        "sweep",
        [point._replace(gain=None, probabilities=coins(point.probabilities), unconstrained=None) for point in found],
    )


@pytest.mark.parametrize("shape", [(2, 2, None), (2, 2, 5), (2, 3, None), (3, 2, None)], ids=str)
def test_rules_on_new_tasks(shape: tuple[int, int, int | None]) -> None:
    posterior, group = tasks(*shape)
    rule = fc.make_fair(posterior, group, epsilon=0.05, random_state=2).rule
    new, where = tasks(shape[0], shape[1], 7, n=30)
    assert_kept(
        KEPT,
        f"rule {shape}",
        {
            "labels": rule.predict(new, where),
            "law": rule.predict_proba(new, where),
            "scores": rule.scores(new, where),
            "multipliers": rule.multipliers,
            "thresholds": rule.thresholds,
            "uniforms": rule.uniforms(np.arange(4)),
            "sql": rule.to_sql(uniform="u"),
        },
    )


def test_hashes() -> None:
    ids = {"numbers": np.arange(-3, 5), "texts": ["a", "b", "", "ä", "task 17"], "parts": np.array([0.5, -2.0, 1e300])}
    for name, values in ids.items():
        hashed = task_keys(Vocabulary.of(list(values)), np.arange(len(values)), 7)
        assert_kept(KEPT, f"hashes of {name}", [str(value) for value in hashed.tolist()])
        assert_kept(KEPT, f"uniforms of {name}", uniforms(hashed))


def test_f1_of_nothing() -> None:
    posterior, group = np.tile([1.0, 0.0], (6, 1)), [0, 0, 0, 1, 1, 1]
    nothing = read_posterior(posterior, group).expected_tally(np.zeros((6, 2)), f1_gain(0.0))
    assert nothing.values(f1_gain(0.0))[1] == 0.0


def test_margins() -> None:
    for sizes in ([40, 60], [300, 20, 1000], [10**6, 10**5]):
        for n_classes in (2, 3, 6):
            for confidence in (0.5, 0.95, 0.999):
                found = margin_for(sizes, n_classes, 0.3, confidence)
                assert_kept(KEPT, f"margin {sizes} {n_classes} {confidence}", {"it": found, "says": str(found)})
