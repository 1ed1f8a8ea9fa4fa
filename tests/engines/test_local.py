"""Sums over blocks do not depend on how the tasks are cut into blocks."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crowds import simulated
from faircrowd.aggregate.kernels.class_count import classes_token
from faircrowd.aggregate.kernels.confusion_counts import expected_counts, joint_scores
from faircrowd.engines import Block, Engine, LocalEngine, SparkVotes, Votes, engine_of
from faircrowd.engines.local import watch_blocks
from faircrowd.engines.spark.engine import SparkEngine
from faircrowd.errors import OptionError
from faircrowd.votes import Vocabulary, VoteTable, read_votes

VOTES = read_votes(simulated(n_tasks=80, seed=5).votes)


def cut(at: list[int]) -> LocalEngine:
    engine = LocalEngine(VOTES)
    (block,) = engine.blocks
    edges = [0, *sorted(at), VOTES.n_tasks]
    engine.blocks = [
        Block(a, block.offsets[a : b + 1], block.worker, block.label, block.group[a:b], block.gold[a:b])
        for a, b in pairwise(edges)
    ]
    engine.threads = 2
    return engine


@given(st.lists(st.integers(0, VOTES.n_tasks), max_size=6))
@settings(deadline=None)
def test_any_cut_gives_the_same_bits(at: list[int]) -> None:
    n_classes = VOTES.n_classes
    rng = np.random.default_rng(0)
    errors = np.log(rng.dirichlet(np.ones(n_classes), size=VOTES.n_workers * n_classes))
    priors = np.log(rng.dirichlet(np.ones(n_classes), size=1))
    token = classes_token(n_classes)
    at_once, parts = LocalEngine(VOTES), cut(at)
    for a, b in zip(
        at_once.reduce(expected_counts, token, errors, priors, 2.0**50, 2.0**50),
        parts.reduce(expected_counts, token, errors, priors, 2.0**50, 2.0**50),
        strict=True,
    ):
        np.testing.assert_array_equal(a, b)
    np.testing.assert_array_equal(
        at_once.emit(joint_scores, token, errors, priors), parts.emit(joint_scores, token, errors, priors)
    )


def test_many_classes_take_the_other_path_to_the_same_bits() -> None:
    """Beyond a few classes the number of classes is an argument, not a constant; both must agree."""
    errors = np.log(np.full((VOTES.n_workers * 3, 3), 1 / 3))
    priors = np.log(np.array([[0.2, 0.3, 0.5]]))
    engine = LocalEngine(VOTES)
    assert classes_token(9) == 9
    np.testing.assert_array_equal(
        engine.emit(joint_scores, classes_token(3), errors, priors), engine.emit(joint_scores, 3, errors, priors)
    )


@pytest.mark.parametrize("threads", [1, 2])
def test_blocks_are_watched(threads: int) -> None:
    engine, seen = cut([3, 7, 8]), list[tuple[int, int]]()
    engine.threads = threads
    total = len(engine.blocks)
    with watch_blocks(lambda *at: seen.append(at)):
        engine.reduce(lambda block: (np.array(block.offsets.size),))
    assert seen == [(done, total) for done in range(1, total + 1)]
    engine.reduce(lambda block: (np.array(block.offsets.size),))
    assert len(seen) == total


def _ids_and_votes(block: Block, ids: Vocabulary, least: int) -> tuple[np.ndarray, np.ndarray]:
    counts = np.diff(block.offsets)
    return np.array(ids.to_list())[counts >= least], counts[counts >= least]


@pytest.mark.parametrize("at", [[], [3, 7, 8]])
def test_gathered_arrays_come_with_the_ids_of_their_tasks(at: list[int]) -> None:
    tasks, counts = cut(at).gather(_ids_and_votes, 2, ids=True)
    many = VOTES.votes_per_task >= 2
    assert tasks.tolist() == VOTES.tasks.some(np.flatnonzero(many))
    np.testing.assert_array_equal(counts, VOTES.votes_per_task[many])


def test_both_kinds_of_votes_and_engines_have_all_that_models_use() -> None:
    """Static types check the signatures; this checks that no name is missing."""
    for protocol, kinds in ((Votes, (VoteTable, SparkVotes)), (Engine, (LocalEngine, SparkEngine))):
        names = {name for name in vars(protocol) if not name.startswith("_")}
        assert names
        for kind in kinds:
            assert names <= {*dir(kind), *getattr(kind, "__dataclass_fields__", ())}, kind


def test_what_no_engine_serves() -> None:
    assert isinstance(engine_of(VOTES), LocalEngine)
    with pytest.raises(OptionError, match="No engine serves votes of type int"):
        engine_of(5)  # type: ignore[call-overload]
