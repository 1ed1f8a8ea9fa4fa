"""Labels that keep epsilon exactly, and the rule in a warehouse."""

import duckdb
import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fair import optima
from faircrowd import make_fair
from strategies import examples

pytestmark = pytest.mark.filterwarnings("ignore:strict=True keeps epsilon")


@given(st.integers(0, 2**32 - 1), st.sampled_from([0.0, 0.05, 0.1, 0.25, 0.5]), st.booleans())
@settings(max_examples=examples(25))
def test_strict_labels_are_the_best_of_all(seed: int, epsilon: float, tied: bool) -> None:
    rng = np.random.default_rng(seed)
    n_classes, n_groups = rng.integers(2, 4), 3
    group = rng.permutation(np.concatenate([np.arange(n_groups), rng.integers(0, n_groups, 5)]))
    votes = rng.multinomial(5, np.ones(n_classes) / n_classes, 8) / 5
    posterior = votes if tied else rng.dirichlet(np.ones(n_classes), 8)
    fair = make_fair(posterior, group, epsilon=epsilon, strict=True)
    assert optima.gap(fair.labels, group, n_classes) <= epsilon + 1e-12
    best = optima.best_deterministic(posterior, group, epsilon)
    assert fair.certificate.value == pytest.approx(best, abs=1e-9)
    assert fair.certificate.bound == pytest.approx(best, abs=1e-9)
    assert fair.certificate.optimal


def test_strict_of_many_tasks() -> None:
    rng = np.random.default_rng(1)
    group = rng.integers(0, 3, 3000)
    posterior = rng.dirichlet([1.0, 2.0, 0.8, 1.5], 3000)
    fair = make_fair(posterior, group, epsilon=0.01, strict=True)
    assert fair.certificate.gap <= 0.01 + 1e-12
    assert 0 <= fair.certificate.optimality_gap < 1e-4


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("n_groups", [2, 3])
@pytest.mark.parametrize("tied", [False, True])
def test_a_warehouse_gives_the_same_labels(n_classes: int, n_groups: int, tied: bool) -> None:
    rng = np.random.default_rng(n_classes + 10 * n_groups)
    group = np.array(["it's", 'a "b"', "c"])[rng.integers(0, n_groups, 500)]
    law = rng.dirichlet(np.ones(n_classes), n_groups)
    codes = np.unique(group, return_inverse=True)[1]
    votes = np.stack([rng.multinomial(5, law[a]) for a in codes]) / 5
    posterior = votes if tied else rng.dirichlet(np.ones(n_classes), 500)
    frame = pd.DataFrame(posterior, columns=[f"k'{k}" for k in range(n_classes)]).rename_axis("task")
    fair = make_fair(frame, group, epsilon=0.05, decision="randomized")
    expected = fair.rule.predict(frame, group)
    table = frame.add_prefix("p_").assign(party=group, u=fair.rule.uniforms(frame.index.tolist()))
    sql = fair.rule.to_sql(posterior="p_{}", group="party", uniform="u")
    connection = duckdb.connect()
    connection.register("tasks", table.reset_index())
    found = connection.execute(f"SELECT task, {sql} AS label FROM tasks ORDER BY task").df()  # noqa: S608
    assert found["label"].tolist() == expected.tolist()
    plain = connection.execute(f"SELECT {fair.rule.to_sql(posterior='p_{}', group='party')} FROM tasks").fetchall()  # noqa: S608
    assert len(plain) == 500


@pytest.mark.parametrize("epsilon", [0.02, 0.05, 0.1])
@pytest.mark.parametrize("decision", ["deterministic", "randomized"])
def test_the_rule_keeps_epsilon_where_the_crowd_is_sure(epsilon: float, decision: str) -> None:
    """Posteriors of 1: the prices of a program are exact to its tolerance only, and all such tasks may be tied."""
    rng = np.random.default_rng(5)
    group = rng.integers(0, 2, 1200)
    truth = np.where(rng.random(1200) < 0.4 + 0.3 * group, 1, rng.choice([0, 2], 1200))
    logits = rng.normal(0, 6, (1200, 3)) + 30.0 * np.eye(3)[truth]
    posterior = np.exp(logits - logits.max(axis=1, keepdims=True))
    posterior /= posterior.sum(axis=1, keepdims=True)
    fair = make_fair(posterior, group, epsilon=epsilon, decision=decision)
    rates = [fair.rule.predict_proba(posterior, group)[group == a].mean(axis=0) for a in (0, 1)]
    assert np.ptp(rates, axis=0).max() <= epsilon + 1e-6
