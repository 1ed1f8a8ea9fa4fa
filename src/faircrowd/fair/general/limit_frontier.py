"""What other limits of one constraint give, the other constraints fixed: the labels of each, and the best on average.

Labels of a limit are those that ``make_fair`` returns for it, so that page, terminal, table and certificate agree.
"""

from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import NamedTuple, Self

from faircrowd._checks import check_number, few
from faircrowd._display import Drawn, Tabular
from faircrowd._steps import count_steps
from faircrowd.errors import InfeasibleError, OptionError
from faircrowd.fair.constraints.constraint_kind import Constraint
from faircrowd.fair.general.best_fractions import find_best_fractions
from faircrowd.fair.general.constrained_certificate import certify_constraints, measure
from faircrowd.fair.general.constrained_solve import ConstrainedProblem, ConstrainedSolution, solve_constraints
from faircrowd.fair.general.least_relaxation import find_clash, tightest_limit
from faircrowd.fair.round_limits import MAX_STOPS, round_limits
from faircrowd.votes.style import Style

__all__ = [
    "LevelPoint",
    "LimitFrontier",
    "check_limits",
    "limits_to_try",
    "point_of",
    "solve_limits",
    "varied",
    "without_limit",
]

_LIMITS = 21


class LevelPoint(NamedTuple):
    """The labels of one limit of a constraint, in numbers; None where the constraints cannot hold together.

    Attributes
    ----------
    limit : float
        The limit.
    level : float or None
        What the labels reach of the constraint.
    value, bound : float or None
        The objective of the labels, and what no labels that keep the constraints exceed.
    randomized : float or None
        The best objective that labels drawn at random reach on average. It never falls as the limit is relaxed.
    believed_accuracy : float or None
        Mean posterior probability of the labels; a reviewed task counts as right.
    changed, reviewed : int or None
        How many labels differ from the aggregator's own, and how many tasks are sent to a person.
    kept : bool
        Whether the labels are within what whole tasks allow of every constraint.
    """

    limit: float
    level: float | None = None
    value: float | None = None
    bound: float | None = None
    randomized: float | None = None
    believed_accuracy: float | None = None
    changed: int | None = None
    reviewed: int | None = None
    kept: bool = False

    @property
    def can_hold(self) -> bool:
        """Whether there are labels that keep this limit together with the other constraints."""
        return self.value is not None


class LimitFrontier(Drawn, Tabular, tuple[LevelPoint, ...]):
    """What other limits of one constraint give, the others fixed: a tuple of :class:`LevelPoint`, by rising limit.

    ``to_frame()`` has one row per limit; ``plot()`` shows the best believed value against the limit.

    Attributes
    ----------
    constraint : Constraint
        The one whose limit is varied, with the limit that was asked for.
    objective : str
        What ``value`` is.
    style : Style
        The kind of frame that the tasks came in, for ``to_frame``.
    """

    _in_short = ("text", "limits", "impossible")

    constraint: Constraint
    objective: str
    style: Style

    def __new__(
        cls, points: Iterable[LevelPoint], constraint: Constraint, objective: str, style: Style | None = None
    ) -> Self:
        """Make a frontier of points."""
        made = super().__new__(cls, points)
        made.constraint, made.objective, made.style = constraint, objective, style or Style()
        return made

    def __getnewargs__(self) -> tuple[tuple[LevelPoint, ...], Constraint, str, Style]:
        return tuple(self), self.constraint, self.objective, self.style

    @property
    def text(self) -> str:
        """The constraint, with the limit that was asked for."""
        return str(self.constraint)

    @property
    def limits(self) -> tuple[float, ...]:
        """The limits."""
        return tuple(point.limit for point in self)

    @property
    def impossible(self) -> tuple[float, ...]:
        """The limits that cannot be kept together with the other constraints."""
        return tuple(point.limit for point in self if not point.can_hold)


def varied(constraints: Sequence[Constraint], which: int | str | None = None) -> int:
    """Return the number of the constraint whose limit is varied.

    Parameters
    ----------
    which : int or str, optional
        Its number, from 0; its text, with or without the limit; or its word alone. By default the first that has a
        single limit.

    Examples
    --------
    >>> from faircrowd.constraints import ChangeBudget, RateRange, RateRatio
    >>> listed = [RateRange(0.1, 0.4, label="hire"), RateRatio(0.8, group="race", label="hire"), ChangeBudget(0.1)]
    >>> varied(listed), varied(listed, "changed"), varied(listed, "ratio(race, label=hire)")
    (1, 2, 1)
    """
    movable = [c for c, one in enumerate(constraints) if one.level_name]
    if which is None:
        if not movable:
            raise OptionError(
                f"A frontier varies the limit of one constraint, and {few(list(map(str, constraints)))} has no single "
                "limit.",
                parameter="vary",
            )
        return movable[0]
    found = [which] if isinstance(which, int) else [c for c, one in enumerate(constraints) if which in _names(one)]
    if len(found) != 1 or not 0 <= found[0] < len(constraints):
        listed = "; ".join(map(str, constraints))
        what = f"{which!r} is {'more than one of' if len(found) > 1 else 'not one of'} the constraints"
        raise OptionError(f"{what}: {listed}.", parameter="vary")
    if found[0] not in movable:
        raise OptionError(
            f"A frontier varies a single limit, and {constraints[found[0]]} has two; give two constraints, one for "
            "each limit.",
            parameter="vary",
        )
    return found[0]


def _names(constraint: Constraint) -> tuple[str, ...]:
    return str(constraint), without_limit(constraint), constraint.word


def without_limit(constraint: Constraint) -> str:
    """Return the text of a constraint without its limit.

    Examples
    --------
    >>> from faircrowd.constraints import RateRatio
    >>> without_limit(RateRatio(0.8, group="race", label="hire"))
    'ratio(race, label=hire)'
    """
    return str(constraint).removesuffix(constraint.limit_text).strip()


def check_limits(limits: Sequence[float]) -> list[float]:
    """Return limits as they are; raise unless they are numbers from 0 to 1."""
    return [check_number("levels", limit, low=0, high=1) for limit in limits]


def limits_to_try(problem: ConstrainedProblem, number: int, most: int = _LIMITS) -> list[float]:
    """Return round limits of a constraint, from the tightest to the first that asks for nothing, and its own.

    Where the tightest cannot be kept together with the others, they begin with the tightest that can be; of those that
    cannot, the tightest and its own stand for all.

    Raises
    ------
    InfeasibleError
        If the other constraints cannot hold whatever the limit is.
    """
    constraint = problem.constraints[number]
    loosest, tightest = (0.0, 1.0) if constraint.is_floor else (1.0, 0.0)
    free = problem.with_level(number, loosest)
    best = find_best_fractions(free.atoms, free.rows, free.n_cells)
    if not best.is_feasible:
        raise InfeasibleError(find_clash(free).message, parameter="constraints")
    widest = min(abs(tightest - measure(free, best.fractions)[number].level), 1.0)
    limits, first = {constraint.level, tightest}, tightest_limit(problem, number)
    least = 0.0 if first is None else abs(tightest - first)
    if first is not None:
        limits.add(first)
        most = round(min(most * widest / max(widest - least, 1e-9), MAX_STOPS))
    steps = round_limits(widest, None, most)
    return sorted(limits | {round(abs(tightest - step), 6) for step in steps if step >= least})


def solve_limits(
    problem: ConstrainedProblem,
    number: int,
    limits: Collection[float],
    decision: str,
    random_state: int,
    own: ConstrainedSolution | None = None,
) -> Iterator[tuple[float, ConstrainedSolution | None]]:
    """Solve for each limit of a constraint, the others fixed; None where they cannot hold together.

    Parameters
    ----------
    own : ConstrainedSolution, optional
        The solution at the limit that the constraint has.
    """
    for limit in count_steps(limits, "limit"):
        if own is not None and limit == problem.constraints[number].level:
            yield limit, own
            continue
        found = solve_constraints(problem.with_level(number, limit), decision, random_state)
        yield limit, found if isinstance(found, ConstrainedSolution) else None


def point_of(limit: float, solution: ConstrainedSolution | None, number: int, decision: str) -> LevelPoint:
    """Return the labels of a limit in numbers, which are those of their certificate."""
    if solution is None:
        return LevelPoint(limit)
    found = certify_constraints(solution, decision)
    return LevelPoint(
        limit,
        found.constraints[number].level,
        found.value,
        found.bound,
        solution.best.value,
        found.believed_accuracy,
        found.changed,
        found.reviewed,
        found.kept,
    )
