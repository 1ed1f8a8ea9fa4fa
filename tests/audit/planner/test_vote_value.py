"""The value of one more vote: against simulated votes, and the rules of both kinds of run."""

import numpy as np
import pytest
from numpy.typing import NDArray

from faircrowd import make_fair
from faircrowd.audit.planner.vote_value import value_of_votes
from faircrowd.constraints import DemographicParity, EqualOpportunity, ReviewBudget
from faircrowd.fair.rule_forms.price_table import TaskGroups


def crowd(seed: int, n: int = 60, n_classes: int = 3) -> tuple[NDArray[np.float64], NDArray[np.int32]]:
    rng = np.random.default_rng(seed)
    group = rng.integers(0, 2, n).astype(np.int32)
    posterior = rng.dirichlet(np.ones(n_classes), n)
    posterior[:, 0] += 0.4 * group
    return posterior / posterior.sum(axis=1, keepdims=True), group


def matrices(seed: int, number: int, n_classes: int = 3) -> NDArray[np.float64]:
    """Columns are the true class."""
    rng = np.random.default_rng(seed)
    errors = rng.dirichlet(np.ones(n_classes), (number, n_classes)).transpose(0, 2, 1)
    return np.asarray(0.5 * errors + 0.5 * np.eye(n_classes))


def test_simulated_votes_gain_what_is_said() -> None:
    """Draw truths and votes, update by Bayes, decide by the highest score: gains and changes are the averages."""
    posterior, group = crowd(0, n=8)
    errors = matrices(1, 1)
    fair = make_fair(posterior, group, epsilon=0.05)
    value = value_of_votes(posterior, errors, lambda p: fair.rule.scores(p, group))
    rng, repeats = np.random.default_rng(2), 20_000
    for i in range(8):
        here = np.full(repeats, group[i], dtype=np.int32)
        truth = rng.choice(3, repeats, p=posterior[i])
        vote = (rng.random(repeats)[:, None] > np.cumsum(errors[0], axis=0).T[truth]).sum(axis=1)
        after = errors[0][vote] * posterior[i]
        after /= after.sum(axis=1, keepdims=True)
        prices = fair.rule.prices[group[i]]
        before = int(np.argmax(posterior[i] - prices))
        chosen = np.argmax(after - prices, axis=1)
        # What the truth makes of the decision: right or not, minus the price of the label.
        gained = ((chosen == truth) - prices[chosen]) - ((before == truth) - prices[before])
        assert gained.mean() == pytest.approx(value.gain[i], abs=5 * gained.std() / repeats**0.5 + 1e-9)
        assert (chosen != before).mean() == pytest.approx(value.chance[i], abs=0.02)
        assert np.allclose(fair.rule.scores(after, here), after - prices)


@pytest.mark.parametrize("seed", range(5))
def test_rules_of_constraints_and_reviews(seed: int) -> None:
    """Written out task by task and vote by vote."""
    posterior, group = crowd(seed)
    constraints = [DemographicParity(0.05), EqualOpportunity(0.05, label=1), ReviewBudget(0.1)]
    with pytest.warns(match="as this posterior believes"):
        rule = make_fair(posterior, group, constraints=constraints).rule
    codes = np.column_stack([group if table.columns else np.zeros_like(group) for table in rule.tables])
    tables = TaskGroups(codes.astype(np.int32), (None,) * len(rule.tables))
    errors = matrices(seed, group.size)
    value = value_of_votes(posterior, errors, lambda p: rule.scores(p, tables))
    for i in range(group.size):
        now = rule.scores(posterior[i : i + 1], tables.some(slice(i, i + 1)))[0]
        gain, chance = -now.max(), 0.0
        for j in range(3):
            joint = errors[i, j] * posterior[i]
            then = rule.scores(joint[None] / joint.sum(), tables.some(slice(i, i + 1)))[0]
            gain += joint.sum() * then.max()
            chance += joint.sum() * (then.argmax() != now.argmax())
        assert value.gain[i] == pytest.approx(max(gain, 0.0), abs=1e-12)
        assert value.chance[i] == pytest.approx(chance)
    assert (value.gain >= 0).all()
    assert (value.gain > 0).any()
    assert not value.gain[value.chance == 0].any()


def test_votes_that_tell_nothing_or_everything() -> None:
    posterior, _ = crowd(3)
    nothing = value_of_votes(posterior, np.full((1, 3, 3), 1 / 3), lambda p: p)
    assert not nothing.gain.any()
    everything = value_of_votes(posterior, np.eye(3)[None], lambda p: p)
    np.testing.assert_allclose(everything.gain, 1 - posterior.max(axis=1))
    np.testing.assert_allclose(everything.chance, 1 - posterior.max(axis=1))
