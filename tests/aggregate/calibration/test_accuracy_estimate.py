"""Accuracy estimated from known labels: by hand, without bias, and with intervals that contain the truth."""

import numpy as np
import pytest
from scipy.stats import t

from faircrowd.aggregate.calibration.accuracy_estimate import (
    AccuracyEstimate,
    CrossFit,
    Part,
    difference_estimate,
    exact_mean,
    found_values,
    part_of,
)
from faircrowd.aggregate.posterior import Posterior
from faircrowd.votes import Vocabulary
from faircrowd.votes.style import Style


def posterior_of(p: np.ndarray) -> Posterior:
    with np.errstate(divide="ignore"):
        scores = np.log(p)
    classes = Vocabulary.of(list(range(p.shape[1])))
    return Posterior(Vocabulary.of(list(range(len(p)))), classes, Style(), scores, is_log=True, ties="first")


def fold_of(p: np.ndarray, task: list[int], truth: list[int]) -> CrossFit:
    others = np.ones(len(p), dtype=bool)
    others[task] = False
    return CrossFit(posterior_of(p), np.array(task), np.array(truth, dtype=np.int32), others)


def test_by_hand() -> None:
    """Two of five tasks are known: one label right, one wrong. The other three are believed to be right with .8."""
    p = np.array([[0.9, 0.1], [0.6, 0.4], [0.8, 0.2], [0.8, 0.2], [0.2, 0.8]])
    fold = fold_of(p, [0, 1], [0, 1])
    labels = np.array([0, 0, 0, 0, 1], dtype=np.int32)
    part = part_of(fold, labels)
    assert part.residual == pytest.approx([1 - 0.9, 0 - 0.6])
    assert part.believed == pytest.approx(0.8)
    assert part.variance == pytest.approx(0.16)
    known = found_values(fold.task, fold.truth, labels)
    assert known.tolist() == [1.0, 0.0]
    found = difference_estimate([part], known, 5, 0.95)
    assert found is not None
    assert found.estimate == pytest.approx(2 / 5 * 0.5 + 3 / 5 * (0.8 + (0.1 - 0.6) / 2))
    assert 0 <= found.low < found.estimate < found.high <= 1
    assert (found.confidence, found.n_gold) == (0.95, 2)


def test_a_price_by_hand() -> None:
    """Fair labels differ from the others on tasks 1 (known, the change is wrong) and 2 (not known)."""
    p = np.array([[0.9, 0.1], [0.6, 0.4], [0.7, 0.3], [0.8, 0.2]])
    fold = fold_of(p, [0, 1], [0, 0])
    before, after = np.array([0, 0, 0, 0], dtype=np.int32), np.array([0, 1, 1, 0], dtype=np.int32)
    part = part_of(fold, after, before)
    assert part.residual == pytest.approx([0.0, 1 - (0.6 - 0.4)])
    assert part.believed == pytest.approx((0.7 - 0.3) / 2)
    assert part.variance == pytest.approx((0.7 + 0.3 - 0.4**2) / 2)
    found = difference_estimate([part], found_values(fold.task, fold.truth, after, before), 4, 0.9, is_share=False)
    assert found is not None
    assert found.estimate == pytest.approx(0.5 * 0.5 + 0.5 * (0.2 + 0.4))
    assert (found.low, found.high) == pytest.approx((0.55 - 1.55, 1.0))  # two labels say little: from -1 to 1


def test_only_some_tasks() -> None:
    p = np.array([[0.9, 0.1], [0.6, 0.4], [0.7, 0.3], [0.8, 0.2]])
    fold = fold_of(p, [0, 1], [0, 0])
    labels = np.zeros(4, dtype=np.int32)
    part = part_of(fold, labels, members=np.array([True, False, True, False]))
    assert part.residual == pytest.approx([0.1])
    assert part.believed == pytest.approx(0.7)


def test_all_tasks_known_leaves_nothing_to_estimate() -> None:
    rng = np.random.default_rng(0)
    p = rng.dirichlet([1, 1, 1], 50)
    truth, labels = rng.integers(0, 3, (2, 50)).astype(np.int32)
    fold = fold_of(p, list(range(50)), truth.tolist())
    found = difference_estimate([part_of(fold, labels)], found_values(fold.task, truth, labels), 50, 0.95)
    right = float((labels == truth).mean())
    assert found == AccuracyEstimate(right, right, right, 0.95, 50)


def test_nothing_known() -> None:
    empty = Part(np.empty(0), 0.8, 0.16)
    assert difference_estimate([empty], np.empty(0), 10, 0.95) is None


@pytest.mark.parametrize("bias", [0.0, 0.3])
def test_no_bias_whatever_the_posterior(bias: float) -> None:
    """The mean over random samples of known labels is the accuracy, also if the posterior is far off."""
    rng = np.random.default_rng(1)
    n_tasks, n_known = 400, 40
    sure = rng.uniform(0.5, 1, n_tasks)
    right = rng.random(n_tasks) < np.clip(sure - bias, 0, 1)
    p, labels = np.stack([sure, 1 - sure], axis=1), np.zeros(n_tasks, dtype=np.int32)
    truth = np.where(right, 0, 1).astype(np.int32)
    found, covered = [], 0
    for _ in range(400):
        task = rng.choice(n_tasks, n_known, replace=False)
        fold = fold_of(p, task.tolist(), truth[task].tolist())
        one = difference_estimate([part_of(fold, labels)], found_values(task, truth[task], labels), n_tasks, 0.95)
        assert one is not None
        found.append(one.estimate)
        covered += one.low <= right.mean() <= one.high
    assert np.mean(found) == pytest.approx(right.mean(), abs=4 * np.std(found) / 20)
    assert 0.91 <= covered / 400 <= 0.99


def test_no_error_seen_is_no_proof_of_none() -> None:
    """All known labels right: the observed variance is zero, but the posterior expects errors."""
    part = Part(np.full(25, 1 - 0.98), 0.98, 0.98 * 0.02)
    found = difference_estimate([part], np.ones(25), 5000, 0.95)
    assert found is not None
    assert found.high - found.low > 0.02


def test_order_does_not_matter() -> None:
    rng = np.random.default_rng(2)
    values = rng.uniform(-1, 1, 1000)
    shuffled = rng.permutation(values)
    assert exact_mean(values) == exact_mean(shuffled)
    assert exact_mean(values) == pytest.approx(values.mean(), abs=1e-14)
    parts = [Part(values[:500], 0.3, 0.2), Part(values[500:], 0.4, 0.1)]
    mixed = [Part(rng.permutation(part.residual), *part[1:]) for part in parts]
    first, second = (difference_estimate(some, np.ones(1000), 9000, 0.95, is_share=False) for some in (parts, mixed))
    assert first == second


def test_words() -> None:
    found = AccuracyEstimate(0.812, 0.7251, 0.8749, 0.9, 1234)
    assert str(found) == "81.2% (72.5% to 87.5%, 90% interval from 1,234 known labels)"
    assert found.to_dict() == {"estimate": 0.812, "low": 0.7251, "high": 0.8749, "confidence": 0.9, "n_gold": 1234}


def test_one_known_label_in_words() -> None:
    assert str(AccuracyEstimate(0.5, 0.0, 1.0, 0.95, 1)).endswith("95% interval from 1 known label)")


@pytest.mark.parametrize("believed", [0.5, 0.8, 0.999])
@pytest.mark.parametrize("right", [30, 38, 40])
def test_a_posterior_that_tells_nothing_gives_the_interval_of_a_share(believed: float, right: int) -> None:
    """The same belief for all tasks: as good as no posterior, so that known labels alone decide."""
    found_right = np.arange(40) < right
    part = Part(found_right - believed, believed, believed * (1 - believed))
    found = difference_estimate([part], found_right.astype(float), 10**9, 0.95)
    assert found is not None
    assert found.estimate == pytest.approx(right / 40, abs=1e-6)
    z2 = t.ppf(0.975, 39) ** 2
    middle, root = right / 40 + z2 / 80, np.sqrt(z2 * right / 40 * (1 - right / 40) / 40 + (z2 / 80) ** 2)
    wilson = np.array([middle - root, middle + root]) / (1 + z2 / 40)
    np.testing.assert_allclose([found.low, found.high], wilson, atol=0.01)


@pytest.mark.parametrize("kind", ["calibrated", "too sure", "certain", "constant"])
@pytest.mark.parametrize("accuracy", [0.6, 0.9, 0.97, 0.995])
@pytest.mark.parametrize("n_known", [5, 20, 100])
def test_intervals_contain_the_accuracy(kind: str, accuracy: float, n_known: int) -> None:
    """Also near one, where no error may be seen, and whether or not the posterior can be believed."""
    rng = np.random.default_rng(0)
    n_tasks, covered, widths = 600, 0, []
    for _ in range(200):
        sure = rng.beta(4 * accuracy, 4 - 4 * accuracy, n_tasks)
        right = rng.random(n_tasks) < sure
        beliefs = {"calibrated": sure, "too sure": sure**0.3, "certain": np.ones(n_tasks)}
        f = beliefs.get(kind, np.full(n_tasks, 0.8))
        known, others = np.split(rng.permutation(n_tasks), [n_known])
        part = Part(right[known] - f[known], exact_mean(f[others]), exact_mean((f * (1 - f))[others]))
        found = difference_estimate([part], right[known].astype(float), n_tasks, 0.95)
        assert found is not None
        covered += found.low - 1e-12 <= right.mean() <= found.high + 1e-12
        widths.append(found.high - found.low)
    assert covered / 200 >= 0.87
    assert 0 < np.mean(widths) < {5: 0.85, 20: 0.45, 100: 0.2}[n_known]


def test_rates_of_a_posterior_that_is_certain_have_a_width() -> None:
    """No known label contradicts it, but one in a hundred might."""
    truth = np.arange(400) % 2
    part = Part(np.zeros(50), 0.5, 0.0)
    found = difference_estimate([part], truth[:50].astype(float), 400, 0.95)
    assert found is not None
    assert found.estimate == 0.5
    assert found.high - found.low > 0.02


def test_a_price_of_no_changes_is_nothing() -> None:
    p = np.random.default_rng(0).dirichlet([1, 1], 30)
    fold = fold_of(p, [0, 1, 2], [0, 1, 1])
    labels = p.argmax(axis=1).astype(np.int32)
    known = found_values(fold.task, fold.truth, labels, labels)
    found = difference_estimate([part_of(fold, labels, labels)], known, 30, 0.95, is_share=False)
    assert found == AccuracyEstimate(0.0, 0.0, 0.0, 0.95, 3)
