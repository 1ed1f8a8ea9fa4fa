"""The run of a ``FairCrowd`` that was fitted in Python: the same object that the command line writes."""

import hashlib
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from faircrowd._types import ByTask
from faircrowd.aggregate.base import Aggregator
from faircrowd.aggregate.calibration.calibrate import CalibratedCrowd
from faircrowd.aggregate.registry import kind_of
from faircrowd.engines import votes_in_memory
from faircrowd.errors import InputError
from faircrowd.fair.constraints.listed import listed_constraints, plain_parity
from faircrowd.fair.estimator import FairCrowd, FitInputs
from faircrowd.fair.make import FairResult
from faircrowd.runs.options import FairOptions, ModelOptions, PageOptions, ReadOptions, RunOptions
from faircrowd.runs.read_inputs import check_truth
from faircrowd.runs.run import Run
from faircrowd.votes import Vocabulary, VoteTable
from faircrowd.votes.exports.answers import GOLDEN
from faircrowd.votes.facts import Table, read_facts
from faircrowd.votes.frames import names_of
from faircrowd.votes.groups import truth_codes
from faircrowd.votes.read import opened_export

__all__ = ["facts_of", "has_run", "run_of"]


def has_run(fair: FairCrowd) -> bool:
    """Return whether a fitted estimator has votes, in memory, that one of faircrowd's aggregators was fitted to."""
    model = fair.estimator_
    return isinstance(model, Aggregator) and kind_of(model) is not None and isinstance(model.votes_, VoteTable)


def run_of(
    fair: FairCrowd, truth: ByTask | None = None, *, with_hashes: bool = True, page: PageOptions | None = None
) -> Run:
    """Return the run of a fitted estimator.

    Parameters
    ----------
    fair : FairCrowd
        Fitted to votes in memory or in a file, with one of faircrowd's aggregators.
    truth : optional
        True labels to score by: a Series indexed by task, a dict, a frame, or the name of a column of the ``tasks``
        given to ``fit``.
    with_hashes : bool
        Whether to describe inputs that are not files by a hash of their content, which the files of a run record.
    page : PageOptions, optional
        What the page says beyond what was computed.
    """
    result, model, given = fair.result_, fair.estimator_, fair.inputs_
    kind = kind_of(model)
    if not isinstance(model, Aggregator) or kind is None:
        raise InputError(
            "Only a FairCrowd with one of faircrowd's aggregators can be written or summarised: the files hold votes "
            "and workers, and a posterior has none. Its labels_, rule_ and certificate_ can be saved on their own."
        )
    if not isinstance(model.votes_, VoteTable):
        raise InputError("The labels of votes in Spark stay there; write the frame labels_ with Spark.")
    is_calibrated = isinstance(model, CalibratedCrowd)
    tasks = result.problem if isinstance(result, FairResult) else result.problem.tasks
    options = RunOptions(
        _read_options(given, truth, is_calibrated, fair),
        _model_options(model, kind.name),
        FairOptions(
            _epsilon(fair),
            fair.objective,
            fair.decision,
            bool(fair.strict),
            int(fair.random_state),
            None if fair.confidence is None else float(fair.confidence),
            None if fair.positive is None or not isinstance(result, FairResult) else result.certificate.positive,
            fair.promise,
            () if isinstance(result, FairResult) else tuple(map(str, result.problem.constraints)),
            bool(fair.believed) and not isinstance(result, FairResult),
        ),
        gold_in_memory=given.true_labels is not None and not isinstance(given.true_labels, str),
        page=PageOptions() if page is None else page,
    )
    found, notes = None, list[str]()
    if truth is not None:
        facts = facts_of(given, truth)
        what = f"column {truth!r} of {given.tasks}" if isinstance(truth, str) else "truth"
        notes = check_truth(model.votes_, facts, what, str(given.votes or "the votes"))
        found = truth_codes(model.votes_, facts)[0]
    in_sample = given.true_labels is not None and _same(truth, given.true_labels)
    memory = _in_memory(given, tasks.group, model, truth, options.model.parameters) if with_hashes else {}
    return Run(options, model, fair, found, in_sample, tuple(notes), memory)


def _epsilon(fair: FairCrowd) -> float | None:
    """Return the gap that was allowed; None if a list of constraints was given instead."""
    return float(fair.epsilon) if fair.constraints is None else plain_parity(listed_constraints(None, fair.constraints))


def _model_options(model: Aggregator, name: str) -> ModelOptions:
    """Return the options of a model; those of a single calibrated aggregator are its own."""
    if isinstance(model, CalibratedCrowd) and isinstance(model.estimator, Aggregator):
        inner, usual = kind_of(model.estimator), CalibratedCrowd(model.estimator, ties=model.estimator.ties)
        if inner is not None and usual.get_params() == model.get_params():
            return ModelOptions(inner.name, model.estimator.get_params(), calibrated=True)
    return ModelOptions(name, model.get_params(deep=False))


def _read_options(given: FitInputs, truth: ByTask | None, calibrated: bool, fair: FairCrowd) -> ReadOptions:
    group = given.sensitive_features
    names: list[object] = [group] if isinstance(group, str) else list(group) if isinstance(group, list | tuple) else []
    is_named = all(isinstance(name, str) for name in names)
    gold = given.true_labels if isinstance(given.true_labels, str) else None
    reading: dict[str, Any] = {**given.read_options}
    reading |= {"min_group": int(fair.min_group), "small_groups": fair.small_groups}
    return ReadOptions(
        given.votes,
        Path(given.tasks) if isinstance(given.tasks, str | os.PathLike) else None,
        tuple(map(str, names)) if is_named else (),
        truth if isinstance(truth, str) else None,
        None if calibrated else gold,
        **reading,
        calibrate=gold if calibrated else None,
    )


def facts_of(given: FitInputs, truth: ByTask) -> Any:
    """Return true labels as ``truth_codes`` takes them."""
    if isinstance(truth, list | tuple) and len(truth) == 1 and isinstance(truth[0], str) and given.tasks is not None:
        truth = truth[0]  # the name of a column, as a list of one
    if not isinstance(truth, str):
        return truth
    reading = dict(given.read_options)
    tasks: Table | None = given.tasks
    if tasks is None and given.votes is not None:
        tasks = opened_export(given.votes, **{"keep_golden": GOLDEN in (truth, given.true_labels), **reading})
    if tasks is None:
        raise InputError(f"truth={truth!r} names a column of the tasks; give fit the tasks=... it is in.")
    return read_facts(tasks, truth, task=reading.get("task"), delimiter=reading.get("delimiter"))


def _same(truth: object, gold: object) -> bool:
    return truth == gold if isinstance(truth, str) and isinstance(gold, str) else truth is gold


def _in_memory(
    given: FitInputs,
    group: NDArray[np.int32],
    model: Aggregator,
    truth: ByTask | None,
    parameters: Mapping[str, Any],
) -> dict[str, dict[str, Any]]:
    """Describe the inputs that were not files: rows, columns, and a SHA-256 of what was read of them."""
    votes, found = votes_in_memory(model.votes_), {}
    if given.votes is None:
        lists = [votes.tasks, votes.workers, votes.classes]
        arrays: list[NDArray[Any]] = [votes.offsets, votes.worker, votes.label]
        if given.sensitive_features is None and votes.groups is not None and votes.group is not None:
            arrays, lists = [*arrays, votes.group], [*lists, votes.groups]
        if votes.judges is not None:
            beyond = (votes.judges.probability, votes.judges.family, votes.judges.abstained)
            arrays += [values for values in beyond if values is not None]
        content = _hash(lists, arrays)
        columns = list(given.columns) or ["task", "worker", "label"]
        found["votes"] = {"in_memory": True, "rows": votes.report.rows_read, "columns": columns, "sha256": content}
    is_file = given.tasks is None or isinstance(given.tasks, str | os.PathLike)
    in_files = given.votes is not None and is_file
    named = {"sensitive_features": given.sensitive_features, "true_labels": given.true_labels, "truth": truth}
    for role, value in named.items():
        if value is None or (isinstance(value, str | list | tuple) and in_files):
            continue
        if role == "sensitive_features" and votes.groups is not None:
            vocabularies, codes = (votes.tasks, votes.groups), group
        else:
            facts = facts_of(given, value) if isinstance(value, str) else value
            vocabularies, codes = (votes.tasks, votes.classes), truth_codes(votes, facts)[0]
        columns = [value] if isinstance(value, str) else list(map(str, _columns(value)))
        found[role] = {
            "in_memory": True,
            "rows": len(codes),
            "columns": columns,
            "sha256": _hash(vocabularies, [codes]),
        }
    not_plain = {name: part for name, part in parameters.items() if not _is_plain(part)}
    for role, part in {**not_plain, **given.more}.items():
        values: NDArray[Any] = np.asarray(part)
        digest = hashlib.sha256(repr(list(values.ravel())).encode()).hexdigest()
        found[role] = {"in_memory": True, "rows": values.size, "columns": [], "sha256": digest}
    return found


def _is_plain(value: object) -> bool:
    return value is None or isinstance(value, bool | int | float | str | np.generic)


def _columns(value: Any) -> list[Any]:
    """Return the names of the columns of a frame, or of a Series; nothing of what has none."""
    if isinstance(value, list | tuple):
        return list(value)
    if hasattr(value, "columns") or hasattr(value, "column_names"):
        return list(names_of(value))
    name = getattr(value, "name", None)
    return [] if name is None else [name]


def _hash(vocabularies: Iterable[Vocabulary], arrays: Iterable[NDArray[Any]]) -> str:
    digest = hashlib.sha256()
    for vocabulary in vocabularies:
        digest.update(repr(vocabulary.to_list()).encode())
    for array in arrays:
        digest.update(np.ascontiguousarray(array).view(np.uint8).data)
    return digest.hexdigest()
