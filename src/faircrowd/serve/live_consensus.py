"""Fair consensus of the votes so far."""

import warnings
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from faircrowd.aggregate.base import Aggregator
from faircrowd.errors import FaircrowdError, FaircrowdWarning, OptionError
from faircrowd.fair import FairCrowd
from faircrowd.fair.gap import within
from faircrowd.fair.general.constrained_result import ConstrainedResult
from faircrowd.publish.finished_labels import NAME, version_of
from faircrowd.runs.options import FairOptions, ModelOptions, ReadOptions

__all__ = ["Consensus", "ConsensusOptions", "find_consensus", "warm_up"]


@dataclass(frozen=True)
class ConsensusOptions:
    """How votes become labels.

    Attributes
    ----------
    model : ModelOptions
    fair : FairOptions
        What the labels keep.
    group : tuple of str
        The columns of the votes with the groups.
    min_group : int
        Groups with fewer tasks are left out of the gap.
    """

    model: ModelOptions
    fair: FairOptions
    group: tuple[str, ...] = ()
    min_group: int = 10

    def check(self) -> None:
        """Raise unless votes can be made fair in this way."""
        self.model.make()
        if not self.group:
            raise OptionError("Name where tasks have their groups with group=..., such as data.gender.")

    @property
    def version(self) -> str:
        """What predictions that keep all this are called."""
        return version_of(self.fair.epsilon, self.fair.require)


@dataclass(frozen=True)
class Consensus:
    """Labels of the votes so far.

    Attributes
    ----------
    labels : dict
        The label and its probability, by task.
    version : str
        What they come from; it says whether they are fair.
    why : str
        Why they are not fair, if they are not.
    """

    labels: dict[int, tuple[str, float]]
    version: str
    why: str = ""


def find_consensus(votes: pa.Table, options: ConsensusOptions) -> Consensus:
    """Aggregate votes, and make the labels fair as soon as there are groups to compare.

    While there are not, or while no labels keep what is asked for, the labels are the aggregator's own, and their
    version says so.
    """
    if votes.num_rows == 0:
        return Consensus({}, f"{NAME} without votes")
    read = ReadOptions(None, group=options.group, on_missing_group="drop", min_group=options.min_group)
    model = options.model.make()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FaircrowdWarning)
        why = "no groups are named"
        if options.group:
            try:
                fair = options.fair.estimator(model, read).fit(
                    votes, sensitive_features=list(options.group), read_options={"on_missing_group": "drop"}
                )
            except FaircrowdError as error:
                why = str(error)
            else:
                why = _missed(fair, options)
                version = f"{options.version} missed" if why else options.version
                return Consensus(_labels(fair), version, why)
        try:
            own = options.model.make().fit(votes)
        except FaircrowdError as error:
            return Consensus({}, f"{NAME} without labels", str(error))
    return Consensus(_labels(own), f"{NAME} {options.model.method}, not fair yet", why)


def warm_up(options: ConsensusOptions) -> None:
    """Compile the kernels on a few made-up votes, which takes longer than the first request may wait."""
    tasks = range(max(2 * options.min_group, 20))
    votes = [(t, str(w), "ab"[(t * 7 + w * 3) % 5 % 2], "ab"[t % 2]) for t in tasks for w in range(3)]
    task, worker, label, group = map(list, zip(*votes, strict=True))
    groups = dict.fromkeys(options.group, group)
    find_consensus(pa.table({"task": task, "worker": worker, "label": label, **groups}), options)


def _missed(fair: FairCrowd, options: ConsensusOptions) -> str:
    """Return in what labels miss what was asked for, if they do."""
    certificate: Any = fair.certificate_
    if options.fair.require:
        broken = [one.text for one in certificate.constraints if not one.kept]
        return f"not kept: {'; '.join(broken)}" if broken else ""
    epsilon = options.fair.epsilon
    return "" if epsilon is None or within(certificate.gap, epsilon) else f"the gap is {certificate.gap:.3f}"


def _labels(model: Aggregator | FairCrowd) -> dict[int, tuple[str, float]]:
    """Return the labels of a fitted model with their probabilities, without tasks that are sent to a person."""
    aggregator = model.estimator_ if isinstance(model, FairCrowd) else model
    result = model.result_ if isinstance(model, FairCrowd) else None
    column = {str(label): k for k, label in enumerate(aggregator.posterior_.classes.to_list(), start=1)}  # after task
    posterior = [values.to_pylist() for values in model.probas_.columns]
    tasks, labels = (values.to_pylist() for values in model.labels_.columns)
    reviewed = result.reviewed.tolist() if isinstance(result, ConstrainedResult) else [False] * len(tasks)
    return {
        int(task): (str(label), float(posterior[column[str(label)]][row]))
        for row, (task, label, is_asked) in enumerate(zip(tasks, labels, reviewed, strict=True))
        if not is_asked
    }
