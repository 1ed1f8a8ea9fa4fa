"""Fitted models as files: what ``predict`` needs, as JSON and arrays, without pickle."""

import io
import json
import math
import os
from pathlib import Path
from typing import Any

import numpy as np

from faircrowd._checks import check_path
from faircrowd.aggregate.base import Aggregator
from faircrowd.aggregate.bayes import BayesVote
from faircrowd.aggregate.dawid_skene import DawidSkene
from faircrowd.aggregate.glad import GLAD
from faircrowd.aggregate.majority import MajorityVote
from faircrowd.aggregate.one_coin import OneCoinDawidSkene
from faircrowd.aggregate.skill_weighted import GoldMajorityVote, Wawa, ZeroBasedSkill
from faircrowd.errors import FaircrowdError, InputError
from faircrowd.storage.json_values import from_plain, to_plain
from faircrowd.storage.untrusted import FAULTS, read_arrays, read_json
from faircrowd.votes import Vocabulary, VoteTable

__all__ = ["MODEL_FILES", "load_model", "model_files"]

MODEL_FILES = ("model.json", "model.npz")

_SCHEMA = 1
_KIND = "faircrowd.model"
_MODELS: dict[str, type[Aggregator]] = {
    kind.__name__: kind
    for kind in (
        BayesVote,
        DawidSkene,
        GLAD,
        GoldMajorityVote,
        MajorityVote,
        OneCoinDawidSkene,
        Wawa,
        ZeroBasedSkill,
    )
}


def model_files(model: Aggregator) -> dict[str, bytes]:
    """Return a fitted model as the contents of its files: names, options and lists; and arrays.

    Raises
    ------
    InputError
        If an option is not a plain value (priors given by task or worker), or an id is of a type that JSON cannot hold.
    """
    votes, learned = model.votes_, model._learned()
    for name, value in model.get_params().items():
        if value is not None and not isinstance(value, bool | int | float | str):
            raise InputError(f"A {type(model).__name__} with {name} given as a {type(value).__name__} cannot be saved.")
    lists = {name: value for name, value in learned.items() if isinstance(value, Vocabulary)}
    arrays = {name: value for name, value in learned.items() if not isinstance(value, Vocabulary)}
    described = {
        "schema": _SCHEMA,
        "kind": _KIND,
        "model": type(model).__name__,
        "parameters": model.get_params(),
        "classes": to_plain(votes.classes.to_list()),
        "groups": None if votes.groups is None else to_plain(votes.groups.to_list()),
        "workers": to_plain(votes.workers.to_list()),
        "lists": {name: to_plain(value.to_list()) for name, value in lists.items()},
        "arrays": {name: list(value.shape) for name, value in arrays.items()},
    }
    packed = io.BytesIO()
    np.savez_compressed(packed, **arrays)
    # JSON knows no infinity; Python writes and reads it, as tol may be.
    text = json.dumps(described, ensure_ascii=False) + "\n"
    return dict(zip(MODEL_FILES, (text.encode(), packed.getvalue()), strict=True))


def load_model(folder: str | os.PathLike[str]) -> Any:
    """Read a model that ``save_model`` or ``faircrowd aggregate`` wrote into a folder; it predicts new tasks.

    Parameters
    ----------
    folder : path
        With ``model.json`` and ``model.npz``.
    """
    if not isinstance(folder, str | os.PathLike):
        raise InputError(f"A model is in a folder; give its path, not a {type(folder).__name__}.")
    check_path(Path(folder))
    place, packed = (Path(folder) / name for name in MODEL_FILES)
    described = read_json(place, "model", infinite=True)
    try:
        if described["kind"] != _KIND:
            raise KeyError("kind")
        if described["schema"] > _SCHEMA:
            raise InputError(f"{place} has schema {described['schema']}, newer than {_SCHEMA}; update faircrowd.")
        shapes = {name: tuple(shape) for name, shape in described["arrays"].items()}
        _check_sizes(place, described, shapes)
        return _restored(described, read_arrays(packed, "model", shapes))
    except FAULTS as error:
        if isinstance(error, FaircrowdError):
            raise
        raise InputError(f"{folder} holds no model of faircrowd ({type(error).__name__}: {error}).") from None


def _check_sizes(place: Path, described: dict[str, Any], shapes: dict[str, tuple[int, ...]]) -> None:
    """Raise if an array is larger than any that a model with these lists has, before it is read."""
    names = [len(described["workers"]), *map(len, described["lists"].values())]
    most = max(1, *names) * max(1, len(described["groups"] or ())) * max(1, len(described["classes"])) ** 2
    for name, shape in shapes.items():
        if math.prod(shape) > most:
            raise InputError(f"{place} does not hold together: {name} is larger than its lists allow.")


def _restored(described: dict[str, Any], arrays: dict[str, Any]) -> Aggregator:
    def listed(values: list[Any]) -> Vocabulary:
        return Vocabulary.of(from_plain(values))

    model = _MODELS[described["model"]]().set_params(**described["parameters"])
    model._votes = VoteTable(
        tasks=listed([]),
        workers=listed(described["workers"]),
        classes=listed(described["classes"]),
        offsets=np.zeros(1, dtype=np.int64),
        worker=np.empty(0, dtype=np.int32),
        label=np.empty(0, dtype=np.int32),
        groups=None if described["groups"] is None else listed(described["groups"]),
        group=None if described["groups"] is None else np.empty(0, dtype=np.int32),
    )
    model._recall({**arrays, **{name: listed(values) for name, values in described["lists"].items()}})
    return model
