"""Saved models: loaded again, they predict the same to the last bit."""

import datetime
import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import faircrowd as fc
from faircrowd.errors import InputError, NotFittedError

CROWD = fc.simulate_crowd(300, 25, random_state=3)
NEW = fc.simulate_crowd(80, 40, random_state=4)  # workers 25 to 39 are not known to the models
GROUPS = {"sensitive_features": CROWD.sensitive_features}
MODELS = {
    "majority": fc.MajorityVote().fit(CROWD.votes),
    "weighted": fc.MajorityVote(on_missing_skill="value", default_skill=0.3).fit(
        CROWD.votes, skills={w: 0.1 + w / 30 for w in range(30)}
    ),
    "wawa": fc.Wawa().fit(CROWD.votes),
    "zero-based": fc.ZeroBasedSkill().fit(CROWD.votes),
    "gold": fc.GoldMajorityVote().fit(CROWD.votes, CROWD.truth[:100]),
    "ds": fc.DawidSkene().fit(CROWD.votes),
    "ds by group": fc.DawidSkene(by_group=True, ties="last").fit(CROWD.votes, **GROUPS),
    "ds, pooled": fc.DawidSkene(by_group=True, pooling="learned").fit(CROWD.votes, **GROUPS),
    "ds of no rounds": fc.DawidSkene(n_iter=0).fit(CROWD.votes),
    "one-coin": fc.OneCoinDawidSkene(tol=float("inf")).fit(CROWD.votes),
    "glad": fc.GLAD().fit(CROWD.votes),
    "bayes": fc.BayesVote().fit(CROWD.votes, CROWD.truth[:150], **GROUPS),
}


@pytest.mark.parametrize("name", MODELS)
def test_a_loaded_model_predicts_the_same(name: str, tmp_path: Path) -> None:
    model = MODELS[name]
    fc.save_model(model, tmp_path)
    same = fc.load_model(tmp_path)
    assert type(same) is type(model)
    assert same.get_params() == model.get_params()
    with pytest.raises(NotFittedError, match="read from a file"):
        same.labels_  # noqa: B018
    for votes, groups in ((NEW.votes, NEW.sensitive_features), (CROWD.votes, CROWD.sensitive_features)):
        expected = model.predict_proba(votes, sensitive_features=groups)
        pd.testing.assert_frame_equal(
            same.predict_proba(votes, sensitive_features=groups), expected, check_exact=True, check_column_type=False
        )
    if hasattr(model, "loss_history_"):
        with pytest.raises(NotFittedError, match="read from a file"):
            same.loss_history_  # noqa: B018
    if hasattr(model, "errors_"):
        pd.testing.assert_frame_equal(same.errors_, model.errors_, check_names=False, check_column_type=False)
    fc.save_model(same, tmp_path / "again")
    for file in ("model.json", "model.npz"):
        assert (tmp_path / "again" / file).read_bytes() == (tmp_path / file).read_bytes()


def test_ids_keep_their_types(tmp_path: Path) -> None:
    workers = [1, "1", True, 2.5, ("a", 1), b"x", datetime.date(2020, 1, 2), "é\u202e😀"]
    rows = [(t, w, f"label {(t + i) % 3}") for t in range(30) for i, w in enumerate(workers)]
    votes = pd.DataFrame(rows, columns=["task", "worker", "label"])
    model = fc.Wawa().fit(votes)
    fc.save_model(model, tmp_path)
    pd.testing.assert_series_equal(fc.load_model(tmp_path).skills_, model.skills_, check_index=False)
    assert fc.load_model(tmp_path).votes_.workers.to_list() == model.votes_.workers.to_list()


def test_what_cannot_be_saved_is_refused(tmp_path: Path) -> None:
    votes = pd.DataFrame([(0, frozenset("ab"), 0), (0, frozenset("c"), 1)], columns=["task", "worker", "label"])
    with pytest.raises(InputError, match="Values of type frozenset"):
        fc.save_model(fc.MajorityVote().fit(votes), tmp_path / "no")
    with pytest.raises(InputError, match="betas_priors_mean given as a dict cannot be saved"):
        fc.save_model(fc.GLAD(n_iter=2, tol=-1, betas_priors_mean={1: 2.0}).fit(CROWD.votes), tmp_path / "no")
    with pytest.raises(NotFittedError):
        fc.save_model(fc.Wawa(), tmp_path / "no")
    assert not (tmp_path / "no").exists()


def test_damaged_files_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"model\.json cannot be read"):
        fc.load_model(tmp_path)
    fc.save_model(MODELS["ds"], tmp_path)
    intact = json.loads((tmp_path / "model.json").read_text())
    damages = [
        ({"kind": "else"}, "no model of faircrowd"),
        ({"schema": 99}, "newer than 1; update"),
        ({"model": "Nonsense"}, "no model of faircrowd"),
        ({"workers": intact["workers"][:-1]}, "is inconsistent"),
        ({"parameters": {"n_itre": 3}}, "Invalid parameter 'n_itre'"),
        ({"arrays": {**intact["arrays"], "errors": [1, 1, 2, 2]}}, "not of one model"),
    ]
    for change, message in damages:
        (tmp_path / "model.json").write_text(json.dumps({**intact, **change}))
        with pytest.raises((InputError, fc.FaircrowdError), match=message):
            fc.load_model(tmp_path)
    (tmp_path / "model.json").write_text(json.dumps(intact)[:-30])
    with pytest.raises(InputError, match="no model of faircrowd"):
        fc.load_model(tmp_path)
    (tmp_path / "model.json").write_text(json.dumps(intact))
    (tmp_path / "model.npz").write_bytes((tmp_path / "model.npz").read_bytes()[:500])
    with pytest.raises(InputError, match="no model of faircrowd"):
        fc.load_model(tmp_path)
    np.savez(tmp_path / "model.npz", errors=np.array([{}], dtype=object))
    with pytest.raises(InputError, match="no model of faircrowd"):
        fc.load_model(tmp_path)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"kind": "something"}, "its kind is not 'faircrowd.model'"),
        ({"workers": None, "arrays": None}, "'workers', 'arrays' is missing"),
        ({"model": "NoSuchModel"}, "it was edited, or the two files are of different runs"),
        ({"parameters": [1, 2]}, "it was edited, or the two files are of different runs"),
        ({"classes": 7}, "it was edited, or the two files are of different runs"),
        ({"arrays": {"nothing": [2]}}, "it is not an .npz file with the arrays of one"),
    ],
)
def test_an_edited_model_is_refused_in_plain_words(change: dict[str, Any], message: str, tmp_path: Path) -> None:
    fc.save_model(fc.DawidSkene().fit(CROWD.votes), tmp_path)
    described = json.loads((tmp_path / "model.json").read_text())
    kept = {name: value for name, value in (described | change).items() if value is not None or name == "groups"}
    (tmp_path / "model.json").write_text(json.dumps(kept))
    with pytest.raises(InputError) as caught:
        fc.load_model(tmp_path)
    assert message in str(caught.value)
    assert re.search(r"[a-z](Error|File)\b|object|NoneType|subscript", str(caught.value)) is None
