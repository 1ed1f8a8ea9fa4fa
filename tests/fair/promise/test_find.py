"""Which promise is made: refused with a number, on request left out, and said in words."""

import numpy as np
import pandas as pd
import pytest

from faircrowd import DawidSkene, FairCrowd, make_fair, simulate_crowd
from faircrowd.errors import DataWarning, OptionError
from faircrowd.fair import Promise, margin_for


def posterior(n: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    p = np.random.default_rng(seed).random(2 * n)
    p[n:] **= 0.5
    return np.stack([1 - p, p], axis=1), np.repeat(["a", "b"], n)


def test_too_few_tasks_are_refused_with_the_number_that_would_do() -> None:
    with pytest.raises(OptionError) as caught:
        make_fair(*posterior(100), epsilon=0.05, confidence=0.95)
    assert str(caught.value).startswith(
        "These tasks are too few to promise a gap within 0.05 with probability 0.95; about 8"
    )
    assert "and the smallest has 100. Raise epsilon, lower confidence, or" in str(caught.value)
    assert "promise='best-effort'" in str(caught.value)
    assert caught.value.parameters == ("epsilon", "confidence")


def test_best_effort_keeps_epsilon_itself_and_says_so() -> None:
    given, groups = posterior(100)
    with pytest.warns(DataWarning, match="There is NO promise about tasks that were not seen: these tasks are too few"):
        fair = make_fair(given, groups, epsilon=0.05, confidence=0.95, promise="best-effort")
    plain = make_fair(given, groups, epsilon=0.05)
    np.testing.assert_array_equal(fair.labels, plain.labels)
    assert fair.certificate.epsilon == fair.rule.epsilon == 0.05
    assert fair.rule is fair.rule_of_labels
    assert not fair.promise.enough
    assert str(fair.promise).startswith("NONE is made about tasks that were not seen: these tasks are too few")
    assert fair.certificate.promise["enough"] is False
    assert plain.promise is None
    assert plain.certificate.promise is None


def test_enough_tasks_with_best_effort_are_promised() -> None:
    given, groups = posterior(2000)
    one = make_fair(given, groups, epsilon=0.05, confidence=0.95, promise="best-effort")
    two = make_fair(given, groups, epsilon=0.05, confidence=0.95)
    assert one.promise == two.promise
    assert one.promise.enough


def test_the_promise_in_words_and_numbers() -> None:
    given, groups = posterior(2000)
    fair = make_fair(given, groups, epsilon=0.05, confidence=0.95)
    said = fair.promise
    assert str(said) == (
        "the rule keeps the gap of all tasks like these within 0.05, with probability 0.95 (its thresholds are ranks "
        f"of 3,200 held-out tasks); the labels of these tasks have a gap of at most {said.tightened:.4g}; on "
        f"them the rule has a believed accuracy of {said.believed_accuracy:.1%}"
    )
    assert Promise(**fair.certificate.promise) == said
    assert 0 < said.tightened == fair.certificate.epsilon == fair.rule_of_labels.epsilon < 0.05 == fair.rule.epsilon
    assert fair.certificate.gap <= said.tightened + 1e-12
    assert said.rule.startswith("group a needs a posterior above ")
    assert fair.certificate.thresholds != said.rule


def test_the_order_of_rows_does_not_matter() -> None:
    given, groups = posterior(600)
    index = pd.Index([f"t{i}" for i in range(1200)], name="task")
    frame, of = pd.DataFrame(given, index=index), pd.Series(groups, index=index)
    order = np.random.default_rng(3).permutation(1200)
    one = make_fair(frame, of, epsilon=0.1, confidence=0.95)
    two = make_fair(frame.iloc[order], of, epsilon=0.1, confidence=0.95)
    assert one.rule.to_json() == two.rule.to_json()
    assert one.promise == two.promise
    assert make_fair(frame, of, epsilon=0.1, confidence=0.95, random_state=1).rule.to_json() != one.rule.to_json()


def test_more_classes_are_tried_in_turn() -> None:
    rng = np.random.default_rng(0)
    given = np.concatenate([rng.dirichlet([1, 2, 0.7], 900), rng.dirichlet([2, 1, 1], 900)])
    fair = make_fair(given, np.repeat(["a", "b"], 900), epsilon=0.2, confidence=0.9)
    assert (fair.promise.method, fair.promise.held_out) == ("ranks", 1440)
    assert "its thresholds are ranks of 1,440 held-out tasks" in str(fair.promise)
    assert "labels are tried in turn, from 2 to 0" in fair.promise.rule
    chances = fair.rule.predict_proba(given, np.repeat(["a", "b"], 900))
    believed = (chances * given).sum() / 1800
    assert fair.promise.believed_accuracy == pytest.approx(believed)
    assert str(fair.promise).endswith(f"; on them the rule has a believed accuracy of {believed:.1%}")
    assert fair.certificate.believed_accuracy - believed < 0.02
    assert "the label with the highest posterior wins" in fair.certificate.thresholds


def test_more_classes_with_a_group_left_out() -> None:
    rng = np.random.default_rng(0)
    given = rng.dirichlet([1, 2, 0.7], 1209)
    groups = np.repeat(["a", "tiny", "z"], [600, 9, 600])
    with pytest.warns(DataWarning, match="tiny"):
        fair = make_fair(given, groups, epsilon=0.2, confidence=0.9, min_group=10)
    assert fair.rule.left_out == (1,)
    own = given[groups == "tiny"].argmax(axis=1)
    np.testing.assert_array_equal(fair.rule.predict(given, groups)[groups == "tiny"], own)
    alone = make_fair(given[groups != "tiny"], groups[groups != "tiny"], epsilon=0.2, confidence=0.9)
    assert fair.promise.enough
    assert alone.rule.in_turn.rivals.shape == (2, 3) != fair.rule.in_turn.rivals.shape


@pytest.mark.parametrize("objective", ["f1", [[1, 0], [0, 5]], [[0, 1], [1, 0]]])
def test_other_objectives(objective: object) -> None:
    given, groups = posterior(1500)
    fair = make_fair(given, groups, epsilon=0.05, confidence=0.95, objective=objective)
    assert fair.promise.enough
    labels = fair.rule.predict(given, groups)
    rates = [np.mean(labels[groups == name]) for name in ("a", "b")]
    assert abs(rates[0] - rates[1]) < 0.08


def test_what_is_refused() -> None:
    given, groups = posterior(50)
    with pytest.raises(OptionError, match="promise goes with confidence"):
        make_fair(given, groups, epsilon=0.1, promise="best-effort")
    with pytest.raises(OptionError, match="promise='maybe' is not known"):
        make_fair(given, groups, epsilon=0.1, confidence=0.9, promise="maybe")
    with pytest.raises(OptionError, match="leave sample_weight out"):
        make_fair(given, groups, epsilon=0.1, confidence=0.9, sample_weight=np.linspace(1, 2, 100))
    for wrong in (0.2, 1, "x"):
        with pytest.raises(OptionError, match="confidence"):
            make_fair(given, groups, epsilon=0.1, confidence=wrong)
    with pytest.raises(OptionError, match="no number of tasks would be enough"):
        make_fair(given, groups, epsilon=0, confidence=0.9)


def test_an_estimator_with_a_promise() -> None:
    crowd = simulate_crowd(3000, 30, random_state=0)
    fair = FairCrowd(DawidSkene(), epsilon=0.1, confidence=0.9)
    fair.fit(crowd.votes, sensitive_features=crowd.sensitive_features)
    assert fair.certificate_.promise["method"] == "ranks"
    assert fair.rule_ is fair.result_.rule
    text = fair.summary()
    assert "promise    the rule keeps the gap of all tasks like these within 0.1" in text
    assert "new tasks  group" in text


def test_fewer_tasks_are_needed_than_by_the_bound_for_all_rules() -> None:
    with pytest.raises(OptionError, match=r"about 8\d\d tasks"):
        make_fair(*posterior(200), epsilon=0.05, confidence=0.95)
    assert margin_for([10, 10], 2, 0.05, 0.95).needed == 2322
