"""The certificate of labels that keep a list of constraints: what was asked, what was reached, and the proof."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from faircrowd._display import Displayed, Tabular
from faircrowd.aggregate.posterior import choose
from faircrowd.errors import InputError
from faircrowd.fair.constraints.constraint_kind import Constraint
from faircrowd.fair.constraints.listed import is_about_all, needed_columns
from faircrowd.fair.constraints.quantities import Difference, Range
from faircrowd.fair.general.cell_atoms import bound_at, gained
from faircrowd.fair.general.constrained_solve import ConstrainedProblem, ConstrainedSolution, outcome_names, pose
from faircrowd.fair.general.uncertain_bounds import uncertain_ranges
from faircrowd.fair.objective import Gain
from faircrowd.fair.tasks.group_columns import read_group_columns
from faircrowd.fair.tasks.read_posterior import label_codes, read_posterior
from faircrowd.fair.tolerances import EQUAL_VALUES, SLACK, WHOLE_COUNT
from faircrowd.votes import Vocabulary
from faircrowd.votes.style import Style
from faircrowd.votes.vocabulary import Codes

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from faircrowd._types import ByTask, FrameLike, ValuesLike

__all__ = [
    "ConstrainedCertificate",
    "KeptConstraint",
    "Measured",
    "certify_constraints",
    "measure",
    "outcome_codes",
]


@dataclass(frozen=True, repr=False)
class KeptConstraint(Displayed):
    """One constraint, and how the labels stand to it.

    Attributes
    ----------
    text : str
        The constraint as ``--require`` reads it.
    limit, allowed : float or None
        Its limit, and what labels of whole tasks may reach; None if there is no single one.
    level, level_before : float
        What the labels, and the aggregator's own labels, reach: the level of the comparison that is nearest to its
        limit or farthest beyond it.
    kept : bool
        Whether the labels are within what is allowed.
    is_believed : bool
        Whether it speaks of the truth, so that levels are what the posterior believes.
    price : float
        By how much the objective would rise per unit by which the limit is relaxed.
    comparisons : list of dict
        ``about``, ``level``, ``level_before``, and ``values`` and ``values_before`` by group.
    left_out : dict
        Groups that it does not speak of, with the reason.
    estimated : dict or None
        The real level as estimated from known labels, with an interval, if it speaks of the truth and there are some.
    uncertain : dict or None
        If groups are known by their probabilities only, so that levels are estimates: ``column``, the ``level`` that
        is possible at worst, and the ``ranges`` of the quantities of each comparison
        (:mod:`faircrowd.fair.general.uncertain_bounds`). None if they are known.
    """

    _in_short = ("text", "level_before", "level", "kept")

    text: str
    limit: float | None
    allowed: float | None
    level: float
    level_before: float
    kept: bool
    is_believed: bool
    price: float
    comparisons: list[dict[str, Any]]
    left_out: dict[str, str] = field(default_factory=dict)
    estimated: dict[str, Any] | None = None
    uncertain: dict[str, Any] | None = None


@dataclass(frozen=True, repr=False)
class ConstrainedCertificate(Tabular):
    """What labels under a list of constraints promise and reach; ``verify`` recomputes it.

    All of it is about the posterior that the labels were made from. Names that :class:`faircrowd.fair.Certificate` has,
    too, mean the same here.

    ``to_frame()`` has one row per constraint, comparison and group: its value before and after, with the limit.

    Attributes
    ----------
    constraints : list of KeptConstraint
    believed_accuracy, believed_accuracy_before : float
        Mean posterior probability of the labels, and of the aggregator's own labels. A reviewed task counts as right.
    objective : str
    value, value_before, bound, dual_bound, optimality_gap : float
    optimal : bool
    multipliers : list of float
        One per row of the linear program; with the posterior they give the dual bound.
    changed, reviewed : int
        How many labels differ from the aggregator's own, and how many tasks are sent to a person.
    changed_share : float
    decision, solver : str
    seconds : float
    tasks, min_group : int
        The number of tasks, and how many a group needs to be compared.
    ties : str
        Which class is the own label where the posterior is tied.
    on_missing_group : str
        What was done with tasks without a group.
    why : str
        Why limits may be exceeded; empty if they may not.
    on_average : dict or None
        For ``decision="randomized"``: ``value`` and ``levels`` of the randomized labels on average.
    calibration : dict or None
        How the posterior was calibrated; None without known labels.
    style : Style
        The kind of frame that the tasks came in, for ``to_frame``; not part of the document.
    """

    _in_short = ("asked", "kept", "changed", "reviewed", "tasks", "believed_accuracy")

    constraints: list[KeptConstraint]
    believed_accuracy: float
    believed_accuracy_before: float
    objective: str
    value: float
    value_before: float
    bound: float
    dual_bound: float
    optimality_gap: float
    optimal: bool
    multipliers: list[float]
    gain_matrix: list[list[float]]
    gain_offset: list[float]
    changed: int
    changed_share: float
    reviewed: int
    decision: str
    solver: str
    seconds: float
    tasks: int
    min_group: int = 1
    ties: str = "first"
    on_missing_group: str = "error"
    why: str = ""
    on_average: dict[str, Any] | None = None
    calibration: dict[str, Any] | None = None
    style: Style = field(default_factory=Style, repr=False, compare=False)

    @property
    def asked(self) -> tuple[str, ...]:
        """The constraints in text."""
        return tuple(constraint.text for constraint in self.constraints)

    @property
    def kept(self) -> bool:
        """Whether the labels are within what is allowed of every constraint."""
        return all(constraint.kept for constraint in self.constraints)

    def to_dict(self) -> dict[str, Any]:
        """Return the certificate as plain values, ready for JSON; without what was not estimated or drawn."""
        found = asdict(self)
        for kept in found["constraints"]:
            if kept["estimated"] is None:
                del kept["estimated"]
        return {name: value for name, value in found.items() if value is not None and name != "style"}

    def verify(
        self,
        posterior: "FrameLike | ArrayLike",
        sensitive_features: "ByTask",
        labels: "ByTask",
        constraints: Sequence[Constraint],
        *,
        sample_weight: "ValuesLike | None" = None,
        tolerance: float = 1e-9,
    ) -> None:
        """Recompute levels, value and dual bound from posterior, groups, labels, constraints and multipliers.

        Raises
        ------
        InputError
            If a number differs from the certificate's by more than ``tolerance``, or the bound is below the value.
        """
        problem = read_posterior(posterior, None, sample_weight=sample_weight, without_groups=True)
        columns = read_group_columns(
            problem.tasks,
            sensitive_features,
            needed_columns(constraints),
            take_all=any(map(is_about_all, constraints)),
            on_missing_group=self.on_missing_group,
        )
        gain = Gain(self.objective, np.asarray(self.gain_matrix), np.asarray(self.gain_offset))
        problem = replace(problem, own=choose(problem.posterior, self.ties))
        posed = pose(problem, constraints, columns, gain, self.min_group)
        if [str(constraint) for constraint in constraints] != [kept.text for kept in self.constraints]:
            raise InputError("The certificate is about other constraints than these.")
        outcomes = outcome_codes(posed, labels)
        fractions, own = posed.fractions_of(outcomes), posed.fractions_of(posed.tasks.own)
        measured = measure(posed, fractions)
        mass, is_label = posed.atoms.mass[:, None], outcomes < posed.tasks.n_classes
        found = {
            "dual_bound": dual_bound(posed, np.asarray(self.multipliers)),
            "value": gained(posed.atoms, fractions),
            "value_before": gained(posed.atoms, own),
            "believed_accuracy": float((mass * fractions * _belief(posed)).sum()),
            "believed_accuracy_before": float((mass * own * _belief(posed)).sum()),
            "changed": float((outcomes != posed.tasks.own)[is_label].sum()),
            "reviewed": float((~is_label).sum()),
            "tasks": float(outcomes.size),
            "optimality_gap": self.bound - self.value,
        }
        stated = {name: float(getattr(self, name)) for name in found}
        for kept, one in zip(self.constraints, measured, strict=True):
            found[f"level of {kept.text}"], stated[f"level of {kept.text}"] = one.level, kept.level
        for name, value in found.items():
            if not abs(value - stated[name]) <= tolerance:
                raise InputError(f"The certificate's {name} is {stated[name]!r}; recomputed it is {value!r}.")
        if all(one.excess <= tolerance for one in measured) and self.bound < self.value - tolerance:
            raise InputError(f"The certificate's bound {self.bound!r} is below its value {self.value!r}.")
        if self.bound > self.dual_bound + tolerance:
            raise InputError(f"The certificate's bound {self.bound!r} is above its dual bound {self.dual_bound!r}.")


def _belief(problem: ConstrainedProblem) -> NDArray[np.float64]:
    """Return the probability that each outcome of each atom is right; a person always is."""
    n_atoms = problem.atoms.mass.size
    return np.column_stack([problem.posterior, np.ones((n_atoms, problem.n_outcomes - problem.tasks.n_classes))])


def outcome_codes(problem: ConstrainedProblem, labels: "ByTask") -> Codes:
    """Return the outcome of each task; with a review budget, what is no label stands for a review."""
    if not problem.has_review:
        return label_codes(problem.tasks, labels)
    names = outcome_names(problem.tasks.classes.to_list())
    wider = replace(problem.tasks, classes=Vocabulary.of(names if not problem.tasks.as_array else [*names[:-1], -1]))
    return label_codes(wider, labels)


def dual_bound(problem: ConstrainedProblem, multipliers: NDArray[np.float64]) -> float:
    """Return the bound that multipliers prove: no outcomes that keep the constraints gain more."""
    if multipliers.shape != (problem.rows.n_rows,):
        raise InputError(f"There are {multipliers.size} multipliers for {problem.rows.n_rows} rows.")
    return bound_at(problem.atoms, problem.rows, problem.rows.balanced(multipliers), problem.n_cells)


class Measured(NamedTuple):
    """How labels stand to one constraint.

    Attributes
    ----------
    values : list of ndarray
        The quantities of each comparison.
    worst : int
        The comparison whose level is farthest beyond its limit, or nearest to it.
    level : float
        The level of that comparison.
    excess : float
        By how much limits are exceeded at most, in units of the quantities.
    """

    values: list[NDArray[np.float64]]
    worst: int
    level: float
    excess: float


def measure(problem: ConstrainedProblem, fractions: NDArray[np.float64]) -> list[Measured]:
    """Return how outcomes stand to each constraint."""
    amounts = problem.amounts(fractions)
    found = []
    for _, partition, comparisons in problem.compared:
        values = [
            np.array([quantity.of(amounts[partition]) for quantity in comparison.quantities])
            for comparison in comparisons
        ]
        pairs = list(zip(comparisons, values, strict=True))
        worst = int(np.argmax([one.miss(of) for one, of in pairs]))
        excess = max(one.excess(of) for one, of in pairs)
        found.append(Measured(values, worst, comparisons[worst].level(values[worst]), excess))
    return found


def certify_constraints(
    solution: ConstrainedSolution, decision: str, min_group: int = 1, on_missing_group: str = "error"
) -> ConstrainedCertificate:
    """Return the certificate of a solution."""
    problem, best = solution.problem, solution.best
    tasks, gain = problem.tasks, problem.gain
    fractions, own = problem.fractions_of(solution.outcomes), problem.fractions_of(tasks.own)
    after, before, average = (measure(problem, found) for found in (fractions, own, best.fractions))
    relief = _relief(problem, solution.excess, best.fractions if decision == "randomized" else None)
    kept = []
    for c, constraint in enumerate(problem.constraints):
        (values, worst, level, excess), (values_before, _, level_before, _) = after[c], before[c]
        _, partition, comparisons = problem.compared[c]
        limit = constraint.level if constraint.level_name else None
        allowed = comparisons[worst].relieved(values[worst], relief[c])
        kept.append(
            KeptConstraint(
                text=str(constraint),
                limit=limit,
                allowed=None if limit is None else allowed,
                level=level,
                level_before=level_before,
                kept=excess <= relief[c] + SLACK + EQUAL_VALUES,
                is_believed=constraint.is_about_truth,
                price=_price(problem, best.multipliers, average, c),
                comparisons=[
                    {
                        "about": comparison.about,
                        "level": comparison.level(now),
                        "level_before": comparison.level(then),
                        "values": {q.name: float(v) for q, v in zip(comparison.quantities, now, strict=True)},
                        "values_before": {q.name: float(v) for q, v in zip(comparison.quantities, then, strict=True)},
                    }
                    for comparison, now, then in zip(comparisons, values, values_before, strict=True)
                ],
                left_out=problem.left_out[partition] | problem.alone(c) | _too_few(constraint, problem, c),
                uncertain=uncertain_ranges(problem, c, fractions),
            )
        )
    mass = problem.atoms.mass
    belief = _belief(problem)
    is_label = solution.outcomes < tasks.n_classes
    changed = int((solution.outcomes[is_label] != tasks.own[is_label]).sum())
    bound = solution.bound
    if abs(bound - solution.value) < EQUAL_VALUES:  # summed in another order
        bound = max(bound, solution.value)
    return ConstrainedCertificate(
        constraints=kept,
        believed_accuracy=float((mass[:, None] * fractions * belief).sum()),
        believed_accuracy_before=float((mass[:, None] * own * belief).sum()),
        objective=gain.name,
        value=solution.value,
        value_before=gained(problem.atoms, own),
        bound=bound,
        dual_bound=max(best.bound, bound),
        optimality_gap=bound - solution.value,
        optimal=solution.optimal,
        multipliers=best.multipliers.tolist(),
        gain_matrix=gain.matrix.tolist(),
        gain_offset=gain.offset.tolist(),
        changed=changed,
        changed_share=changed / tasks.group.size,
        reviewed=int((~is_label).sum()),
        decision=decision,
        solver=solution.solver,
        seconds=solution.seconds,
        tasks=tasks.group.size,
        min_group=min_group,
        ties=tasks.ties,
        on_missing_group=on_missing_group,
        why=_WHY_DRAWN if decision == "randomized" else _why_exceeded(solution.excess),
        on_average=None
        if decision != "randomized"
        else {"value": best.value, "levels": [found.level for found in average]},
    )


def _why_exceeded(excess: float) -> str:
    """Say why limits may be exceeded; nothing if they may not."""
    if excess == 0.0:
        return ""
    what = "less than what one task" if excess < 1 else f"up to what {excess:g} tasks"
    if not np.isfinite(excess):
        return "no labels of whole tasks near the best randomized ones keep every limit, so limits are exceeded"
    return (
        "whole tasks cannot keep every limit to the letter without losing more than rounding explains, so a limit may "
        f"be exceeded by {what} of the smallest group weighs in it"
    )


_WHY_DRAWN = (
    "labels were drawn: on average over draws every limit is kept, and the labels of a draw are within one task per "
    "cell (combination of the groups of all constraints) of that"
)


def _relief(problem: ConstrainedProblem, excess: float, drawn: NDArray[np.float64] | None) -> list[float]:
    """Return by how much each limit may be exceeded, in units of the quantities.

    Labels that were drawn from fractions of atoms may be off by one task in each cell of two groups, or, where tasks
    are weighed, in each atom that was split; others by a part of a task of the smallest group.
    """
    found = []
    n_split = 0
    if drawn is not None:
        expected = problem.atoms.n_tasks[:, None] * drawn
        n_split = int((np.abs(expected - np.rint(expected)).max(axis=1) > WHOLE_COUNT).sum())
    for c, (constraint, (_, partition, comparisons)) in enumerate(
        zip(problem.constraints, problem.compared, strict=True)
    ):
        one_task = float(problem.rows.relief[problem.rows.constraint == c].max(initial=0.0))
        if any(isinstance(comparison, Difference) for comparison in comparisons):
            one_task *= 2.0  # half of it in each row
        if drawn is not None:
            several = any(len(comparison.quantities) > 1 for comparison in comparisons)
            n_off = float(np.bincount(problem.of_cell[partition]).max())
            weighs = constraint.is_about_truth or bool(problem.partitions[partition].uncertain)
            one_task *= (max(n_off, float(n_split)) if weighs else n_off) * (2.0 if several else 1.0)
        found.append(one_task * excess if np.isfinite(excess) else 0.0)
    return found


def _too_few(constraint: Constraint, problem: ConstrainedProblem, number: int) -> dict[str, str]:
    """Return groups that are in a stratum but not in each of its comparisons."""
    _, partition, comparisons = problem.compared[number]
    if not constraint.is_about_truth:
        return {}
    tasks = problem.grouped[partition]
    members = {tasks.groups[a] for _, rows in tasks.strata for a in rows.tolist()} if len(tasks.strata) == 1 else set()
    return {
        f"{name} ({comparison.about})": "too few tasks that are believed to be so"
        for comparison in comparisons
        for name in sorted(members - {quantity.name for quantity in comparison.quantities})
    }


def _price(
    problem: ConstrainedProblem, multipliers: NDArray[np.float64], average: list[Measured], number: int
) -> float:
    """Return by how much the objective rises per unit by which the limit of a constraint is relaxed."""
    constraint, rows = problem.constraints[number], problem.rows
    if not constraint.level_name:
        return float(np.abs(multipliers[rows.constraint == number]).sum())
    step = 1e-6 * (-1 if constraint.is_floor else 1)
    if not 0 <= constraint.level + step <= 1:
        step = -step  # at the end of the range, the slope to the other side
    moved = problem.with_level(number, constraint.level + step).rows
    slope = (moved.upper - rows.upper) * np.maximum(multipliers, 0.0)
    slope += (moved.lower - rows.lower) * np.minimum(multipliers, 0.0)
    centres = [
        comparison.centre(values)
        for (_, _, comparisons), measured in zip(problem.compared, average, strict=True)
        for comparison, values in zip(comparisons, measured.values, strict=True)
        if not isinstance(comparison, Range)
    ]
    has = rows.centre >= 0
    slope[has] -= multipliers[has] * (moved.on_centre - rows.on_centre)[has] * np.array(centres)[rows.centre[has]]
    easier = 1.0 if (step < 0) == constraint.is_floor else -1.0
    return float(easier * slope.sum() / abs(step)) + 0.0
