"""Fitted models into a folder."""

import os

from faircrowd.aggregate.base import Aggregator
from faircrowd.aggregate.saved import model_files
from faircrowd.storage.output_folder import OutputFolder

__all__ = ["save_model"]


def save_model(model: Aggregator, folder: str | os.PathLike[str]) -> None:
    """Write what ``predict`` needs of a fitted model into a folder: ``model.json`` and ``model.npz``.

    ``load_model`` reads it back. Both files appear, or neither; there is no pickle in them.

    Parameters
    ----------
    model : aggregator
        Fitted, one of faircrowd's.
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
