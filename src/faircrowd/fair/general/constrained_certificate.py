"""The certificate of labels that keep a list of constraints: what was asked, what was reached, and the proof."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from faircrowd.errors import InputError
from faircrowd.fair.constraints.constraint_kind import Constraint
from faircrowd.fair.constraints.listed import needed_columns
from faircrowd.fair.constraints.quantities import Comparison
from faircrowd.fair.general.cell_atoms import highest_scores, prices_at
from faircrowd.fair.general.constrained_solve import ConstrainedProblem, ConstrainedSolution, pose
from faircrowd.fair.objective import Gain
from faircrowd.fair.tasks.group_columns import read_group_columns
from faircrowd.fair.tasks.read_posterior import label_codes, read_posterior
from faircrowd.fair.tolerances import EQUAL_VALUES, SLACK

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from faircrowd._types import ByTask, FrameLike, ValuesLike

__all__ = ["ConstrainedCertificate", "KeptConstraint", "certify_constraints", "measure"]


@dataclass(frozen=True)
class KeptConstraint:
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
    """

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


@dataclass(frozen=True)
class ConstrainedCertificate:
    """What labels under a list of constraints promise and reach; ``verify`` recomputes it.

    All of it is about the posterior that the labels were made from. Names that :class:`faircrowd.fair.Certificate` has,
    too, mean the same here.

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
    on_missing_group : str
        What was done with tasks without a group.
    why : str
        Why limits may be exceeded; empty if they may not.
    on_average : dict or None
        For ``decision="randomized"``: ``value`` and ``levels`` of the randomized labels on average.
    calibration : dict or None
        How the posterior was calibrated; None without known labels.
    """

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
    on_missing_group: str = "error"
    why: str = ""
    on_average: dict[str, Any] | None = None
    calibration: dict[str, Any] | None = None

    @property
    def kept(self) -> bool:
        """Whether the labels are within what is allowed of every constraint."""
        return all(constraint.kept for constraint in self.constraints)

    def to_dict(self) -> dict[str, Any]:
        """Return the certificate as plain values, ready for JSON."""
        return asdict(self)

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
            problem.tasks, sensitive_features, needed_columns(constraints), on_missing_group=self.on_missing_group
        )
        gain = Gain(self.objective, np.asarray(self.gain_matrix), np.asarray(self.gain_offset))
        posed = pose(problem, constraints, columns, gain, self.min_group)
        codes = label_codes(problem, labels)
        if [str(constraint) for constraint in constraints] != [kept.text for kept in self.constraints]:
            raise InputError("The certificate is about other constraints than these.")
        levels = [level for _, level, _ in measure(posed, posed.fractions_of(codes))]
        multipliers = np.asarray(self.multipliers)
        found = {"dual_bound": dual_bound(posed, multipliers)}
        found |= {f"level of {kept.text}": level for kept, level in zip(self.constraints, levels, strict=True)}
        stated = {"dual_bound": self.dual_bound} | {f"level of {kept.text}": kept.level for kept in self.constraints}
        for name, value in found.items():
            if abs(value - stated[name]) > tolerance:
                raise InputError(f"The certificate's {name} is {stated[name]!r}; recomputed it is {value!r}.")
        if self.bound > self.dual_bound + tolerance:
            raise InputError(f"The certificate's bound {self.bound!r} is above its dual bound {self.dual_bound!r}.")


def dual_bound(problem: ConstrainedProblem, multipliers: NDArray[np.float64]) -> float:
    """Return the bound that multipliers prove: no outcomes that keep the constraints gain more."""
    if multipliers.shape != (problem.rows.n_rows,):
        raise InputError(f"There are {multipliers.size} multipliers for {problem.rows.n_rows} rows.")
    shape = (problem.n_cells, problem.atoms.n_features, problem.n_outcomes)
    balanced = problem.rows.balanced(multipliers)
    return highest_scores(problem.atoms, prices_at(problem.rows, balanced, shape)) + problem.rows.dual_cost(balanced)


def measure(
    problem: ConstrainedProblem, fractions: NDArray[np.float64]
) -> list[tuple[list[NDArray[np.float64]], float, float]]:
    """Return for each constraint the values of its comparisons, its level, and by how much its limit is exceeded."""
    amounts = problem.amounts(fractions)
    found = []
    for _, partition, comparisons in problem.compared:
        values = [
            np.array([quantity.of(amounts[partition]) for quantity in comparison.quantities])
            for comparison in comparisons
        ]
        worst = _worst(comparisons, values)
        excess = max(one.excess(at) for one, at in zip(comparisons, values, strict=True))
        found.append((values, comparisons[worst].level(values[worst]), excess))
    return found


def _worst(comparisons: Sequence[Comparison], values: Sequence[NDArray[np.float64]]) -> int:
    return int(np.argmax([comparison.miss(found) for comparison, found in zip(comparisons, values, strict=True)]))


def certify_constraints(solution: ConstrainedSolution, decision: str, min_group: int = 1) -> ConstrainedCertificate:
    """Return the certificate of a solution."""
    problem, best = solution.problem, solution.best
    tasks, gain = problem.tasks, problem.gain
    n_outcomes = problem.n_outcomes
    fractions, own = problem.fractions_of(solution.outcomes), problem.fractions_of(tasks.own)
    after, before, average = (measure(problem, found) for found in (fractions, own, best.fractions))
    relief = _relief(problem, solution.excess)
    kept = []
    for c, constraint in enumerate(problem.constraints):
        (values, level, excess), (values_before, level_before, _) = after[c], before[c]
        _, partition, comparisons = problem.compared[c]
        limit = constraint.level if constraint.level_name else None
        kept.append(
            KeptConstraint(
                text=str(constraint),
                limit=limit,
                allowed=None if limit is None else limit + relief[c] * (-1 if constraint.is_floor else 1),
                level=level,
                level_before=level_before,
                kept=excess <= relief[c] + SLACK + EQUAL_VALUES,
                is_believed=constraint.is_about_truth,
                price=_price(problem, best.multipliers, c),
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
                left_out=problem.left_out[partition] if constraint.compares_groups else {},
            )
        )
    mass = problem.atoms.mass
    belief = np.column_stack([problem.posterior, np.ones((mass.size, n_outcomes - tasks.n_classes))])
    is_label = solution.outcomes < tasks.n_classes
    changed = int((solution.outcomes[is_label] != tasks.own[is_label]).sum())
    exceeds = decision == "deterministic" and solution.excess > 0
    bound = (
        max(solution.bound, solution.value) if abs(solution.bound - solution.value) < EQUAL_VALUES else solution.bound
    )
    return ConstrainedCertificate(
        constraints=kept,
        believed_accuracy=float((mass[:, None] * fractions * belief).sum()),
        believed_accuracy_before=float((mass[:, None] * own * belief).sum()),
        objective=gain.name,
        value=solution.value,
        value_before=float((mass[:, None] * own * problem.atoms.gains).sum()),
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
        why=_WHY_DRAWN if decision == "randomized" else _WHY_EXCEEDED if exceeds else "",
        on_average=None
        if decision != "randomized"
        else {"value": best.value, "levels": [level for _, level, _ in average]},
    )


_WHY_EXCEEDED = (
    "whole tasks cannot keep every limit to the letter without losing more than rounding explains, so a limit may be "
    "exceeded by less than what one task of the smallest group weighs in it"
)
_WHY_DRAWN = (
    "labels were drawn: on average over draws every limit is kept, and the labels of a draw are within one task per "
    "cell (combination of the groups of all constraints) of that"
)


def _relief(problem: ConstrainedProblem, excess: float) -> list[float]:
    """Return by how much the level of each constraint may exceed its limit."""
    found = []
    for c, (_, partition, comparisons) in enumerate(problem.compared):
        rows = problem.rows.relief[problem.rows.constraint == c]
        cells = np.bincount(problem.of_cell[partition]).max() if excess >= 1.0 else 1
        twice = 2.0 if any(len(comparison.quantities) > 1 for comparison in comparisons) else 1.0
        found.append(float(rows.max(initial=0.0)) * twice * excess * float(cells))
    return found


def _price(problem: ConstrainedProblem, multipliers: NDArray[np.float64], number: int) -> float:
    """Return by how much the objective rises if the limit of a constraint is relaxed by one."""
    constraint = problem.constraints[number]
    if not constraint.level_name:
        return float(np.abs(multipliers[problem.rows.constraint == number]).sum())
    step = 1e-6 * (-1 if constraint.is_floor else 1)
    level = constraint.level
    if not 0 <= level + step <= 1:
        return 0.0
    moved = problem.with_level(number, level + step).rows
    slope = (moved.upper - problem.rows.upper) * np.maximum(multipliers, 0.0)
    slope += (moved.lower - problem.rows.lower) * np.minimum(multipliers, 0.0)
    return float(slope.sum() / abs(step))
