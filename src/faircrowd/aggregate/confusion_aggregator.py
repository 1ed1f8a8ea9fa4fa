"""What the models share whose workers are confusion matrices."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from faircrowd.aggregate.base import Aggregator, by_workers, of_shape
from faircrowd.aggregate.confusion import Confusion, Counter
from faircrowd.aggregate.kernels.vote_counts import weigh
from faircrowd.aggregate.posterior import Posterior
from faircrowd.engines import engine_of, in_spark
from faircrowd.errors import InputError
from faircrowd.votes import Vocabulary, VoteTable

__all__ = ["ConfusionAggregator"]


class ConfusionAggregator(Aggregator):
    """Base of the models whose workers are confusion matrices; ``fit`` of a subclass sets what is declared here."""

    _in_spark = True
    _grouped: bool  # whether there is a matrix a group
    _model: Confusion | None  # of the posterior; None where the posterior is the shares of votes
    _shown: Confusion  # what errors_ and priors_ show
    _average: NDArray[np.float64]  # (n_groups, n_classes, n_classes): stands in for workers that are not known
    _seen: NDArray[np.bool_]  # (n_workers, n_groups): whose matrix is known

    @property
    def errors_(self) -> Any:
        """Confusion matrices: rows (worker, [group,] label given), columns the true class; columns sum to one."""
        votes = self.votes_
        n_workers, n_groups, n_classes, _ = self._shown.errors.shape
        worker, group, label = np.indices((n_workers, n_groups, n_classes)).reshape(3, -1)
        index = {"worker": votes.workers.take(worker)}
        if votes.groups is not None and self._grouped:
            index["group"] = votes.groups.take(group)
        index["label"] = votes.classes.take(label)
        return votes.style.frame(index, votes.classes, self._shown.errors.reshape(worker.size, n_classes))

    @property
    def priors_(self) -> Any:
        """The probability of each class (by group, if the model is): a Series named ``prior``."""
        votes = self.votes_
        n_groups, n_classes = self._shown.priors.shape
        group, label = np.indices((n_groups, n_classes)).reshape(2, -1)
        index = {"group": votes.groups.take(group)} if votes.groups is not None and self._grouped else {}
        index["label"] = votes.classes.take(label)
        return votes.style.series(index, "prior", self._shown.priors.ravel())

    def _predict(self, votes: VoteTable) -> Posterior:
        fitted = self.votes_
        if self._model is None:
            counts = weigh(engine_of(votes), votes, np.ones(votes.n_workers))
            return Posterior.of(votes, counts, is_log=False, ties=self.ties)
        if self._grouped and fitted.groups is not None:
            votes = by_groups(votes, fitted.groups)
        votes = by_workers(votes, fitted.workers)
        errors = np.where(self._seen[:, :, None, None], self._model.errors, self._average)
        model = self._model._replace(errors=np.concatenate([errors, self._average[None]]))
        return Posterior.of(votes, Counter(votes, by_group=self._grouped).scores(model), is_log=True, ties=self.ties)

    def _learned(self) -> dict[str, Any]:
        shown = {f"shown_{name}": table for name, table in self._shown._asdict().items()}
        used = {} if self._model is None else self._model._asdict()
        return {**used, **shown, "average": self._average, "seen": self._seen, "by_group": np.asarray(self._grouped)}

    def _recall(self, learned: dict[str, Any]) -> None:
        votes, self._grouped = self.votes_, bool(learned["by_group"])
        n_groups = len(votes.groups) if self._grouped and votes.groups is not None else 1
        matrices, shares = (n_groups, votes.n_classes, votes.n_classes), (n_groups, votes.n_classes)

        def confusion(prefix: str) -> Confusion:
            errors = of_shape(learned, f"{prefix}errors", votes.n_workers, *matrices)
            return Confusion(errors, of_shape(learned, f"{prefix}priors", *shares))

        self._model, self._shown = confusion("") if "errors" in learned else None, confusion("shown_")
        self._average = of_shape(learned, "average", *matrices)
        self._seen = of_shape(learned, "seen", votes.n_workers, n_groups)

    @property
    def _needs_groups(self) -> bool:
        return self._grouped


def by_groups(votes: Any, groups: Vocabulary) -> Any:
    """Code the tasks of new votes by the groups of a fitted model."""
    place = groups.code_of(votes.groups.values)
    if (place < 0).any():
        unknown = votes.groups.some(np.flatnonzero(place < 0)[:5])
        raise InputError(f"The new tasks have groups that were not seen in fit: {unknown}.")
    if in_spark(votes):
        return votes.recoded("group", groups, place)
    return votes.with_groups(groups, place[votes.group])
