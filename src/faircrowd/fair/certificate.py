"""The certificate of fair labels: what was promised, what was reached, and the numbers to check it with."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from faircrowd._checks import few
from faircrowd._display import Tabular
from faircrowd.errors import InputError
from faircrowd.fair.gap import gap_of
from faircrowd.fair.objective import Gain, f1_bound
from faircrowd.fair.program.atoms import Atoms
from faircrowd.fair.program.dual import dual_value
from faircrowd.fair.rate_constraint import RateParity
from faircrowd.fair.tasks.problem import Problem
from faircrowd.fair.tasks.read_posterior import label_codes, read_posterior
from faircrowd.fair.tasks.tally import Tally
from faircrowd.fair.tolerances import EQUAL_VALUES
from faircrowd.votes import Vocabulary
from faircrowd.votes.style import Style
from faircrowd.votes.vocabulary import value_name

if TYPE_CHECKING:
    from faircrowd._types import ByTask, FrameLike, ValuesLike

__all__ = ["EARLIER_NAMES", "Certificate", "certify"]

EARLIER_NAMES = {
    "expected_accuracy": "believed_accuracy",
    "expected_accuracy_before": "believed_accuracy_before",
}
"""Names that fields have in files of earlier versions."""


@dataclass(frozen=True, repr=False)
class Certificate(Tabular):
    """What fair labels promise and reach; ``verify`` recomputes it.

    All of it is about the posterior that the labels were made from. Where that is wrong, labels that are optimal under
    it are not the most accurate ones: ``believed_accuracy`` is what the posterior says, and the share of labels that
    are right may be far from it.

    ``to_frame()`` has one row per group and label: its rate before and after, and whether the group is compared.

    Attributes
    ----------
    epsilon : float
    gap, gap_before : float
        The demographic-parity gap of the labels, and of the aggregator's own labels, between the groups that are
        compared.
    rates, rates_before : dict
        Share of each class in each group, also in those that are left out.
    believed_accuracy, believed_accuracy_before : float
        Mean posterior probability of the labels, and of the aggregator's own labels: their accuracy if the posterior
        is right.
    objective : str
    positive : str or None
        The class whose F1 is the objective; None for other objectives.
    value, value_before : float
        The objective of the labels under this posterior, and of the aggregator's own labels.
    bound : float
        No labelling within epsilon has a higher objective under this posterior (with ``strict``, no deterministic one).
    dual_bound : float
        The bound that the multipliers prove for all labels, randomized or not; above ``bound`` only with ``strict``,
        where an integer program proves more.
    optimality_gap : float
        ``bound - value``: how much better labels within epsilon could be at most. Negative only where the gap of whole
        tasks exceeds epsilon (see ``gap_allowed``), or where labels were drawn (see ``on_average``).
    optimal : bool
        Whether it is proved that no labels of this kind are better under this posterior: no deterministic labels whose
        gap is at most ``gap_allowed``, or no randomized labels whose gap is on average at most ``epsilon``.
    multipliers : list
        One row per group, one column per class; with the posterior they give the bound.
    changed, changed_share
        How many labels differ from the aggregator's own labels.
    changes : list of dict
        The changes by group, label before and label after.
    thresholds : str
        The rule in words.
    decision, solver : str
    seconds : float
    tasks : int
    promise : dict or None
        With ``confidence``: what is promised about all tasks like these (``epsilon``, ``confidence``), by which
        ``method``, and whether there are enough tasks for it (:class:`faircrowd.fair.Promise`). ``epsilon`` above is
        then the tightened one.
    calibration : dict or None
        How the posterior was calibrated, and the accuracy that known labels estimate; None without known labels.
    left_out : dict
        The groups that the constraint does not speak of, with the reason.
    merged_groups : list of str
        Small groups that became the last group.
    gap_allowed : float
        What the gap of these labels may be: ``epsilon``; or, because tasks are whole, a little more. For deterministic
        labels, less than one task of the smallest group more, and only where epsilon to the letter would cost more than
        rounding explains; for labels that were drawn, one task of each of two groups more.
    why : str
        Why the gap may exceed epsilon; empty if it may not.
    on_average : dict or None
        For ``decision="randomized"``: ``gap``, ``rates``, ``believed_accuracy`` and ``value`` of the randomized labels
        on average over draws, to which ``optimal`` refers. The numbers above are those of the labels that were drawn.
    style : Style
        The kind of frame that the tasks came in, for ``to_frame``; not part of the document.
    """

    _in_short = ("epsilon", "gap_before", "gap", "changed", "tasks", "believed_accuracy", "optimal")

    epsilon: float
    gap: float
    gap_before: float
    rates: dict[str, dict[str, float]]
    rates_before: dict[str, dict[str, float]]
    believed_accuracy: float
    believed_accuracy_before: float
    objective: str
    value: float
    value_before: float
    bound: float
    dual_bound: float
    optimality_gap: float
    optimal: bool
    multipliers: list[list[float]]
    gain_matrix: list[list[float]]
    gain_offset: list[float]
    changed: int
    changed_share: float
    changes: list[dict[str, Any]]
    thresholds: str
    decision: str
    solver: str
    seconds: float
    tasks: int
    promise: dict[str, Any] | None = None
    calibration: dict[str, Any] | None = None
    left_out: dict[str, str] = field(default_factory=dict)
    merged_groups: list[str] = field(default_factory=list)
    gap_allowed: float = math.nan
    why: str = ""
    on_average: dict[str, Any] | None = None
    positive: str | None = None
    style: Style = field(default_factory=Style, repr=False, compare=False)

    @property
    def expected_accuracy(self) -> float:
        """``believed_accuracy``: the same number under its earlier name."""
        return self.believed_accuracy

    @property
    def expected_accuracy_before(self) -> float:
        """``believed_accuracy_before``: the same number under its earlier name."""
        return self.believed_accuracy_before

    def to_dict(self) -> dict[str, Any]:
        """Return the certificate as plain values, ready for JSON."""
        return {name: value for name, value in asdict(self).items() if name != "style"}

    def verify(
        self,
        posterior: "FrameLike | ArrayLike",
        sensitive_features: "ByTask",
        labels: "ByTask",
        *,
        sample_weight: "ValuesLike | None" = None,
        tolerance: float = 1e-9,
    ) -> None:
        """Recompute gap, believed accuracy, value and dual bound from posterior, groups, labels and multipliers.

        Raises
        ------
        InputError
            If a number differs from the certificate's by more than ``tolerance``, or the bound is below the value.
        """
        problem = read_posterior(
            posterior, sensitive_features, sample_weight=sample_weight, on_missing_group="own", one_group_will_do=True
        )
        problem = self._in_its_groups(problem)
        codes = label_codes(problem, labels)
        gain = Gain(self.objective, np.asarray(self.gain_matrix), np.asarray(self.gain_offset))
        mass = np.ones(codes.size) if problem.weights is None else problem.weights
        atoms = Atoms(gain.of(problem.posterior), mass, problem.group, None)
        bound = dual_value(atoms, problem.group_weights(), np.asarray(self.multipliers), RateParity(self.epsilon))
        tally = problem.tally(codes, gain)
        if gain.name == "f1":
            bound = f1_bound(float(tally.beliefs[gain.positive] / tally.mass.sum()), -gain.offset[gain.positive], bound)
        compared = [a for a, name in enumerate(problem.groups.names) if name not in self.left_out]
        found = {
            "gap": gap_of(tally.rates[compared]),
            "believed_accuracy": tally.accuracies[1],
            "value": tally.values(gain)[1],
            "dual_bound": bound,
        }
        for name, value in found.items():
            if abs(value - getattr(self, name)) > tolerance:
                raise InputError(f"The certificate's {name} is {getattr(self, name)!r}; recomputed it is {value!r}.")
        if self.bound > self.dual_bound + tolerance:
            raise InputError(f"The certificate's bound {self.bound!r} is above its dual bound {self.dual_bound!r}.")
        if self.gap <= self.epsilon + tolerance and self.bound < self.value - tolerance:
            raise InputError(f"The certificate's bound {self.bound!r} is below its value {self.value!r}.")

    def _in_its_groups(self, problem: Problem) -> Problem:
        """Return a problem whose groups have the codes that they have here; those that were merged are the last."""
        own = {name: code for code, name in enumerate(self.rates)}
        codes = [own.get(name, len(own) - 1 if name in self.merged_groups else -1) for name in problem.groups.names]
        if -1 in codes:
            strange = [name for name, code in zip(problem.groups.names, codes, strict=True) if code < 0]
            raise InputError(f"The certificate speaks of the groups {few(list(own))}, and not of {few(strange)}.")
        place = np.array(codes, dtype=np.int32)
        return replace(problem, groups=Vocabulary.of(list(own)), group=place[problem.group])


def certify(
    classes: Vocabulary,
    groups: Vocabulary,
    tally: Tally,
    gain: Gain,
    multipliers: NDArray[np.float64],
    *,
    epsilon: float,
    bound: float,
    dual_bound: float,
    optimal: bool,
    thresholds: str,
    decision: str,
    solver: str,
    seconds: float,
    promise: dict[str, Any] | None = None,
    gap_allowed: float,
    why: str = "",
    average: Tally | None = None,
    left_out: Mapping[int, str] | None = None,
    merged_groups: Sequence[object] = (),
) -> Certificate:
    """Return the certificate of labels; ``average`` is the tally of randomized labels on average."""
    group_names, class_names = groups.names, classes.names
    reasons = {group_names[a]: reason for a, reason in (left_out or {}).items()}
    compared = [a for a, name in enumerate(group_names) if name not in reasons]
    tasks = int(tally.tasks.sum())
    moved = tally.tasks * ~np.eye(len(classes), dtype=bool)
    changes = [
        {"group": group_names[a], "before": class_names[j], "after": class_names[k], "tasks": int(moved[a, j, k])}
        for a, j, k in np.argwhere(moved)
    ]
    accuracy_before, accuracy = tally.accuracies
    value_before, value = tally.values(gain)
    if abs(bound - value) < EQUAL_VALUES:  # summed in another order
        bound, dual_bound = max(bound, value), max(dual_bound, value)
    return Certificate(
        epsilon=epsilon,
        gap=gap_of(tally.rates[compared]),
        gap_before=gap_of(tally.rates_before[compared]),
        rates=_named(group_names, class_names, tally.rates),
        rates_before=_named(group_names, class_names, tally.rates_before),
        believed_accuracy=accuracy,
        believed_accuracy_before=accuracy_before,
        objective=gain.name,
        positive=class_names[gain.positive] if gain.name == "f1" else None,
        value=value,
        value_before=value_before,
        bound=bound,
        dual_bound=dual_bound,
        optimality_gap=bound - value,
        optimal=optimal,
        multipliers=multipliers.tolist(),
        gain_matrix=gain.matrix.tolist(),
        gain_offset=gain.offset.tolist(),
        changed=int(moved.sum()),
        changed_share=float(moved.sum() / tasks),
        changes=changes,
        thresholds=thresholds,
        decision=decision,
        solver=solver,
        seconds=seconds,
        tasks=tasks,
        promise=promise,
        left_out=reasons,
        merged_groups=[value_name(value) for value in merged_groups],
        gap_allowed=gap_allowed,
        why=why,
        on_average=None if average is None else _on_average(average, gain, group_names, class_names, compared),
    )


def _on_average(tally: Tally, gain: Gain, groups: list[str], classes: list[str], compared: list[int]) -> dict[str, Any]:
    return {
        "gap": gap_of(tally.rates[compared]),
        "rates": _named(groups, classes, tally.rates),
        "believed_accuracy": tally.accuracies[1],
        "value": tally.values(gain)[1],
    }


def _named(groups: list[str], classes: list[str], rates: NDArray[np.float64]) -> dict[str, dict[str, float]]:
    return {g: dict(zip(classes, map(float, row), strict=True)) for g, row in zip(groups, rates, strict=True)}
