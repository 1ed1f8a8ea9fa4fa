"""Checkpoints: an interrupted fit goes on from its last round, to the same bits."""

from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import faircrowd as fc
from crowds import simulated
from faircrowd.aggregate.checkpoint import Checkpoint, fingerprint
from faircrowd.errors import InputError

CROWD = simulated()
VOTES = fc.read_votes(CROWD.votes, sensitive_features=CROWD.groups)
ROUNDS = {"n_iter": 6, "tol": -1.0}


class StoppedError(Exception):
    pass


def interrupt(number: int, n_iter: int, value: float) -> None:
    if number == 3:
        raise StoppedError


@pytest.mark.parametrize(
    "kind", [fc.DawidSkene, partial(fc.DawidSkene, pooling="learned", by_group=True), fc.OneCoinDawidSkene, fc.GLAD]
)
@pytest.mark.parametrize("fair", [False, True])
def test_an_interrupted_fit_goes_on_to_the_same_bits(kind: Any, fair: bool, tmp_path: Path) -> None:
    path, seen = tmp_path / "rounds.npz", list[int]()

    def model() -> Any:
        return fc.FairCrowd(kind(**ROUNDS)) if fair else kind(**ROUNDS)

    uninterrupted = model().fit(VOTES)
    with pytest.raises(StoppedError):
        model().fit(VOTES, checkpoint=Checkpoint(path, "this run", resume=False), on_round=interrupt)
    kept = Checkpoint(path, "this run", resume=True)
    resumed = model().fit(VOTES, checkpoint=kept, on_round=lambda number, *_: seen.append(number))
    assert seen == [3, 4, 5, 6]
    if fair:
        assert resumed.labels_.equals(uninterrupted.labels_)
        uninterrupted, resumed = uninterrupted.estimator_, resumed.estimator_
    assert resumed.loss_history_ == uninterrupted.loss_history_
    np.testing.assert_array_equal(resumed.posterior_.values, uninterrupted.posterior_.values)


def test_a_checkpoint_of_another_run_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "rounds.npz"
    fc.DawidSkene(**ROUNDS).fit(VOTES, checkpoint=Checkpoint(path, fingerprint(VOTES, 1), resume=False))
    assert fingerprint(VOTES, 1) == fingerprint(VOTES, 1)
    assert len({fingerprint(VOTES, 1), fingerprint(VOTES, 2), fingerprint(fc.read_votes(CROWD.votes), 1)}) == 3
    with pytest.raises(InputError, match=r"is of other votes or options; .* leave resume=True out"):
        fc.DawidSkene(**ROUNDS).fit(VOTES, checkpoint=Checkpoint(path, fingerprint(VOTES, 2), resume=True))
    fc.DawidSkene(**ROUNDS).fit(VOTES, checkpoint=Checkpoint(path, fingerprint(VOTES, 2), resume=False))


def test_rounds_are_shown_and_reported(capsys: pytest.CaptureFixture[str]) -> None:
    seen = list[tuple[int, int, float]]()
    model = fc.GLAD(**ROUNDS, silent=False).fit(VOTES, on_round=lambda *given: seen.append(given))
    assert seen == [(number, 6, value) for number, value in enumerate(model.loss_history_, 1)]
    assert "round 6 of at most 6" in capsys.readouterr().err
