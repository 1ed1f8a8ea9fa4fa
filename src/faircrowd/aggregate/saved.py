"""Fitted models in a folder: what ``predict`` needs, as JSON and arrays, without pickle."""

import io
import json
import math
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from faircrowd._checks import check_path, few
from faircrowd._types import PathOrText
from faircrowd.aggregate.base import Aggregator
from faircrowd.aggregate.registry import AGGREGATORS, kind_of
from faircrowd.errors import FaircrowdError, InputError
from faircrowd.storage.json_values import from_plain, to_plain
from faircrowd.storage.output_folder import OutputFolder
from faircrowd.storage.untrusted import FAULTS, read_arrays, read_json
from faircrowd.votes import Vocabulary, VoteTable

__all__ = ["MODEL_FILES", "load_model", "model_files", "save_model"]

MODEL_FILES = ("model.json", "model.npz")

_SCHEMA = 1
_KIND = "faircrowd.model"
_KEYS = ("schema", "model", "parameters", "classes", "groups", "workers", "lists", "arrays")
_NOT_PLAIN = object()


def save_model(model: Aggregator, folder: PathOrText) -> None:
    """Write what ``predict`` needs of a fitted model into a folder: ``model.json`` and ``model.npz``.

    ``load_model`` reads it back. Both files appear, or neither; there is no pickle in them.

    Parameters
    ----------
    model : aggregator
        A fitted aggregator of a registered class.
    folder : path

    Examples
    --------
    >>> import tempfile
    >>> from faircrowd import DawidSkene, load_model, simulate_crowd
    >>> votes = simulate_crowd(200, 20, random_state=0).votes
    >>> with tempfile.TemporaryDirectory() as place:
    ...     save_model(DawidSkene().fit(votes), place)
    ...     same = load_model(place)
    >>> bool((same.predict(votes) == DawidSkene().fit_predict(votes)).all())
    True
    """
    with OutputFolder(folder) as place:
        for name, content in model_files(model).items():
            place.write_bytes(name, content)


def model_files(model: Aggregator) -> dict[str, bytes]:
    """Return the contents of the files of a fitted model, by file name: its lists and parameters; its arrays.

    Raises
    ------
    InputError
        If the class of the model is not registered, a parameter is not a plain value (priors given by task or worker),
        or an id is of a type that JSON cannot hold.
    """
    if kind_of(model) is None:
        raise InputError(f"A {type(model).__name__} cannot be saved: its class is not registered as an aggregator.")
    votes, learned, parameters = model.votes_, model._state(), _plain_parameters(model)
    lists = {name: value for name, value in learned.items() if isinstance(value, Vocabulary)}
    arrays: dict[str, Any] = {name: value for name, value in learned.items() if not isinstance(value, Vocabulary)}
    described = {
        "schema": _SCHEMA,
        "kind": _KIND,
        "model": type(model).__name__,
        "parameters": parameters,
        "classes": to_plain(votes.classes.to_list()),
        "groups": None if votes.groups is None else to_plain(votes.groups.to_list()),
        "workers": to_plain(votes.workers.to_list()),
        "lists": {name: to_plain(value.to_list()) for name, value in lists.items()},
        "arrays": {name: list(value.shape) for name, value in arrays.items()},
    }
    packed = io.BytesIO()
    np.savez_compressed(packed, **arrays)
    # JSON has no infinity, which tol may be; Python writes and reads it all the same.
    text = json.dumps(described, ensure_ascii=False) + "\n"
    return dict(zip(MODEL_FILES, (text.encode(), packed.getvalue()), strict=True))


def _plain_parameters(model: Aggregator) -> dict[str, Any]:
    """Return the parameters of a model as JSON can hold them; those that are aggregators by class and parameters."""
    found = {name: _plain(value) for name, value in model.get_params(deep=False).items()}
    for name, value in found.items():
        if value is _NOT_PLAIN or (isinstance(value, list) and _NOT_PLAIN in value):
            kind = type(getattr(model, name)).__name__
            raise InputError(f"A {type(model).__name__} with {name} given as a {kind} cannot be saved.")
    return found


def _plain(value: object) -> Any:
    if isinstance(value, list | tuple):
        return [_plain(part) for part in value]
    if isinstance(value, np.generic):  # a number of NumPy
        return value.item()
    if isinstance(value, Aggregator) and kind_of(value) is not None:
        return {"model": type(value).__name__, "parameters": _plain_parameters(value)}
    return value if value is None or isinstance(value, bool | int | float | str) else _NOT_PLAIN


def _made(described: dict[str, Any]) -> Aggregator:
    """Return the aggregator, not fitted, that a class and its parameters describe."""
    kinds = {kind.class_name: kind for kind in AGGREGATORS.values()}
    parameters = {name: _value(given) for name, given in described["parameters"].items()}
    return kinds[described["model"]].load()().set_params(**parameters)


def _value(given: Any) -> Any:
    if isinstance(given, list):
        return [_value(part) for part in given]
    return _made(given) if isinstance(given, dict) else given


def load_model(folder: PathOrText) -> Aggregator:
    """Read a model that ``save_model`` or ``faircrowd aggregate`` wrote into a folder; it predicts new tasks.

    Parameters
    ----------
    folder : path
        A folder with ``model.json`` and ``model.npz``.
    """
    if not isinstance(folder, str | os.PathLike):
        raise InputError(f"A model is in a folder; give its path, not a {type(folder).__name__}.")
    check_path(Path(folder))
    place, packed = (Path(folder) / name for name in MODEL_FILES)
    described = read_json(place, "model", infinite=True)
    if not isinstance(described, dict) or described.get("kind") != _KIND:
        raise InputError(f"{place} holds no model of faircrowd: its kind is not {_KIND!r}.")
    if lacking := [name for name in _KEYS if name not in described]:
        raise InputError(f"{place} holds no model of faircrowd: {few(lacking)} is missing.")
    try:
        if described["schema"] > _SCHEMA:
            raise InputError(f"{place} has schema {described['schema']}, newer than {_SCHEMA}; update faircrowd.")
        shapes = {name: tuple(shape) for name, shape in described["arrays"].items()}
        _check_sizes(place, described, shapes)
        return _restored(described, read_arrays(packed, "model", shapes))
    except FAULTS as error:
        if isinstance(error, FaircrowdError):
            raise
        raise InputError(
            f"{place} holds no model of faircrowd: a value in it is not what a model has, or does not fit "
            f"{packed.name}; it was edited, or the two files are of different runs."
        ) from None


def _check_sizes(place: Path, described: dict[str, Any], shapes: dict[str, tuple[int, ...]]) -> None:
    """Raise if an array is larger than any array of a model with these lists, before it is read."""
    names = [len(described["workers"]), *map(len, described["lists"].values())]
    most = max(1, *names) * max(1, len(described["groups"] or ())) * max(1, len(described["classes"])) ** 2
    for name, shape in shapes.items():
        if math.prod(shape) > most:
            raise InputError(f"{place} is inconsistent: {name} is larger than its lists allow.")


def _restored(described: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> Aggregator:
    def listed(values: Sequence[object]) -> Vocabulary:
        return Vocabulary.of(from_plain(values))

    model = _made(described)
    votes = VoteTable(
        tasks=listed([]),
        workers=listed(described["workers"]),
        classes=listed(described["classes"]),
        offsets=np.zeros(1, dtype=np.int64),
        worker=np.empty(0, dtype=np.int32),
        label=np.empty(0, dtype=np.int32),
        groups=None if described["groups"] is None else listed(described["groups"]),
        group=None if described["groups"] is None else np.empty(0, dtype=np.int32),
    )
    return model._restore(votes, {**arrays, **{name: listed(values) for name, values in described["lists"].items()}})
