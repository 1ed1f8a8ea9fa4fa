"""Rules tested on held-out tasks: the sequence by hand, and the promise by simulation."""

import os

import numpy as np
import pytest

from faircrowd import make_fair
from faircrowd.errors import OptionError
from faircrowd.fair.constraint import DemographicParity
from faircrowd.fair.objective import make_gain
from faircrowd.fair.promise import held_out_test
from faircrowd.fair.promise.difference_test import gap_is_below
from faircrowd.fair.promise.held_out import split
from faircrowd.fair.promise.held_out_test import promise_by_test, tasks_needed
from faircrowd.fair.rule import rule_of
from faircrowd.fair.solve import solve
from faircrowd.fair.tasks.read_posterior import read_posterior

REPEATS = 1000 if os.environ.get("FAIRCROWD_SLOW") else 30
"""Samples from which a rule is made; FAIRCROWD_SLOW=1 draws more."""
SHAPES = ([1.0, 2.0, 0.7], [2.0, 1.0, 1.0])


def sample(rng: np.random.Generator, n: int) -> np.ndarray:
    return np.concatenate([rng.dirichlet(shape, n) for shape in SHAPES])


def test_the_last_rule_before_the_first_failure_is_taken() -> None:
    n, epsilon = 900, 0.15
    problem = read_posterior(sample(np.random.default_rng(2), n), np.repeat([0, 1], n))
    gain = make_gain("accuracy", 3)
    found, rule = promise_by_test(problem, gain, epsilon, 0.9, 4)
    parts = split(problem, 0.5, 4)
    passed = []
    for step in range(16):
        solved = solve(parts.learned, gain, DemographicParity(epsilon * step / 16), "randomized", 4)
        own = rule_of(parts.learned, solved, parts.learned.sizes, epsilon, 4)
        labels = own.label_codes(parts.held_out)
        counts = np.array([np.bincount(labels[parts.held_out.group == a], minlength=3) for a in (0, 1)])
        passed.append((gap_is_below(counts, epsilon, 0.1), own))
    last = next(i for i, (ok, _) in enumerate(passed) if not ok) - 1
    assert last > 0
    assert found.tightened == pytest.approx(epsilon * last / 16)
    assert (found.method, found.enough, found.learned, found.held_out) == ("test", True, n, n)
    np.testing.assert_array_equal(rule.prices, passed[last][1].prices)
    assert (rule.epsilon, rule.random_state) == (epsilon, 4)


@pytest.mark.parametrize("n_groups", [2, 4])
def test_a_promise_fails_as_rarely_as_it_says(n_groups: int) -> None:
    rng = np.random.default_rng(5)
    pools = [rng.dirichlet(SHAPES[a % 2], 10_000) for a in range(n_groups)]
    n, epsilon, made, wrong = 500, 0.2, 0, 0
    for i in range(REPEATS):
        drawn = np.concatenate([pool[rng.integers(0, 10_000, n)] for pool in pools])
        try:
            fair = make_fair(drawn, np.repeat(np.arange(n_groups), n), epsilon=epsilon, confidence=0.8, random_state=i)
        except OptionError:
            continue
        made += 1
        rates = [fair.rule.probabilities(p, np.full(10_000, a, np.int32)).mean(axis=0) for a, p in enumerate(pools)]
        wrong += np.ptp(rates, axis=0).max() > epsilon
    assert made / REPEATS > 0.8
    assert wrong / REPEATS <= 0.2 + 3 * np.sqrt(0.2 * 0.8 / REPEATS)


def test_too_few_tasks() -> None:
    problem = read_posterior(sample(np.random.default_rng(0), 60), np.repeat([0, 1], 60))
    found, rule = promise_by_test(problem, make_gain("accuracy", 3), 0.05, 0.95, 0)
    assert (rule, found.enough, found.tightened) == (None, False, 0.05)
    assert found.needed > 1000
    assert "nine times out of ten" in str(found)
    tiny = read_posterior(np.eye(3)[[0, 1, 2]], [0, 1, 1])
    found, rule = promise_by_test(tiny, make_gain("accuracy", 3), 0.05, 0.95, 0)
    assert (rule, found.enough, found.held_out, found.learned) == (None, False, 0, 3)
    assert tasks_needed(np.full((2, 3), 0.3), 0.0, 0.95) is None


def test_ties_are_tested_as_they_are_drawn() -> None:
    """Whole groups of tied tasks: the labels that are tested are those that the rule gives."""
    posterior = np.tile([[0.4, 0.4, 0.2], [0.5, 0.3, 0.2], [0.1, 0.45, 0.45]], (400, 1))
    problem = read_posterior(posterior, np.tile([0, 1], 600))
    found, rule = promise_by_test(problem, make_gain("accuracy", 3), 0.15, 0.9, 1)
    assert found.enough
    held = split(problem, held_out_test.LEARNED, 1).held_out
    counts = held_out_test._counts(held, rule)
    assert counts.sum() == held.group.size
    assert gap_is_below(counts, 0.15, 0.1)
