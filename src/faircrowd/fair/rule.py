"""The fair rule: labels for new tasks from their posterior and group, as JSON for other machines and as SQL."""

import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from faircrowd._checks import LARGEST, check_choice, few, warn
from faircrowd._display import Displayed
from faircrowd.errors import DataWarning, InputError, UnknownGroupError
from faircrowd.exact.hashing import draw, task_keys, uniforms
from faircrowd.fair.rate_constraint import prices_of
from faircrowd.fair.rule_forms.rule_json import EDITED, PARITY, is_tie, read_rule_json
from faircrowd.fair.rule_forms.sql import case_expression
from faircrowd.fair.solution import Solution, TieWeights
from faircrowd.fair.tasks.in_turn import InTurn, tie_weights
from faircrowd.fair.tasks.population import Population, Rows, Tasks
from faircrowd.fair.tasks.problem import Problem
from faircrowd.fair.tasks.read_posterior import read_posterior
from faircrowd.fair.tasks.tie_precision import (
    TiePrecision,
    digits_of,
    learn_tie_precision,
    near_ties,
    sensitivity,
    step_of,
)
from faircrowd.fair.tolerances import SUM_TO_ONE, tie_widths
from faircrowd.storage.json_values import from_plain, to_plain
from faircrowd.votes import Vocabulary
from faircrowd.votes.vocabulary import Codes, shown

if TYPE_CHECKING:
    from faircrowd._types import ByTask, FrameLike

__all__ = ["FairRule", "rule_of", "thresholds_of"]

_SCHEMA = 3
_SCHEMA_OF_PRICES = 2
"""Rules that do not try labels in turn are the same as in the schema before."""
_KEYS = {
    *("schema", "kind", "classes", "groups", "epsilon", "random_state"),
    *("prices", "gain_matrix", "gain_offset", "shares", "ties"),
}
_PRECISION = {"tie_widths", "tied_shares"}
_FEW_BESIDE = 0.005
"""A warning is given if this share of the tasks is beside a tie."""
_FURTHER_KEYS = {"left_out", "merged", "in_turn"}
"""Keys of rules that have small groups, or try labels in turn."""


@dataclass(frozen=True, eq=False, repr=False)
class FairRule(Displayed):
    r"""A rule that labels tasks by their posterior and group.

    The label is the class k with the highest score :math:`U_k - \lambda_{ak}`, where :math:`U = P M + b` is
    what a label gains (M the identity and b zero for accuracy) and :math:`\lambda_{ak}` the price of class k
    in group a (the multiplier divided by the group's share). Tied classes are drawn with the probabilities of
    theorem recipe_multi.

    Attributes
    ----------
    classes, groups : tuple
        Names, in the order of the columns and rows below.
    prices : ndarray, shape (n_groups, n_classes)
    gain_matrix : ndarray, shape (n_classes, n_classes)
        ``gain_matrix[j, k]`` is the gain of label k where j is true.
    gain_offset : ndarray, shape (n_classes,)
    shares : ndarray, shape (n_groups,)
        The groups' shares when the rule was learned.
    ties : dict
        From (group, tied classes), as codes, to the probabilities of these classes.
    epsilon : float
    random_state : int
        Seed of the choice among tied classes, which depends on it and on the task's id alone.
    precision : TiePrecision, optional
        How near to each other scores must be to be tied, and how many tasks were tied when the rule was learned, per
        group. Rules of earlier versions do not have it.
    left_out : tuple of int
        The codes of groups that the constraint does not speak of; their prices are 0.
    merged : tuple
        Small groups that became the last group when the rule was learned: new tasks of these belong to it.
    in_turn : InTurn, optional
        A rule with a promise for more than two classes tries labels in turn (:mod:`faircrowd.fair.tasks.in_turn`):
        rivals have other prices. It has no ``ties``; their probabilities follow from its splits.
    """

    _in_short = ("epsilon", "classes", "groups")

    classes: tuple[Any, ...]
    groups: tuple[Any, ...]
    prices: NDArray[np.float64]
    gain_matrix: NDArray[np.float64]
    gain_offset: NDArray[np.float64]
    shares: NDArray[np.float64]
    epsilon: float
    random_state: int = 0
    ties: TieWeights = field(default_factory=dict)
    precision: TiePrecision | None = None
    left_out: tuple[int, ...] = ()
    merged: tuple[Any, ...] = ()
    in_turn: InTurn | None = None

    @property
    def tie_widths(self) -> NDArray[np.float64]:
        """How near to each other the scores of a task must be to be tied, per group."""
        return tie_widths(self.prices, self.shares) if self.precision is None else self.precision.tie_widths

    @property
    def digits(self) -> int:
        """With how many digits after the point a posterior has the ties that it had when the rule was learned.

        6, unless other tasks were nearer to a tie than that. A posterior in 32 bits has 7.
        """
        largest = sensitivity(self.gain_matrix) / 2
        split = self._split_groups
        widths = self.tie_widths[split] if split else np.ones(1)
        return max(int(np.ceil(np.log10(max(largest, 1e-300) / float(widths.min())) - 1e-9)), 1)

    @property
    def _split_groups(self) -> list[int]:
        """The codes of the groups in which tied tasks are split."""
        if self.in_turn is not None:
            return [a for a in range(len(self.groups)) if a not in self.left_out]
        return sorted({group for group, _ in self.ties})

    @property
    def multipliers(self) -> NDArray[np.float64]:
        """The multipliers of the rates: prices times the groups' shares."""
        return np.asarray(self.prices * self.shares[:, None])

    @property
    def thresholds(self) -> NDArray[np.float64] | None:
        """Two classes: the posterior of the second above which a task of each group gets it.

        None for more classes, and for gains by which the second class does not gain more the likelier it is.
        """
        if len(self.classes) != 2 or _slope(self.gain_matrix) <= 0:
            return None
        return thresholds_of(self.prices, self.gain_matrix, self.gain_offset)

    def scores(self, posterior: NDArray[np.float64], group: Codes) -> NDArray[np.float64]:
        """Return the score of each task and class."""
        gains = posterior @ self.gain_matrix + self.gain_offset
        if self.in_turn is not None:
            return self.in_turn.scores(gains, self.prices, group)
        return np.asarray(gains - self.prices[group])

    def probabilities(
        self, posterior: NDArray[np.float64], group: Codes, own: Codes | None = None
    ) -> NDArray[np.float64]:
        """Return the probability of each label, one row per task.

        Tied classes have the probabilities of the rule; where it has none for them, ``own`` (or the first) wins.
        """
        scores = self.scores(posterior, group)
        least = scores.max(axis=1, keepdims=True) - tie_widths(self.prices, self.shares)[group, None]
        tied = scores >= least
        first = np.argmax(scores, axis=1) if own is None else np.where(tied[_rows(own), own], own, tied.argmax(axis=1))
        chances = np.zeros(scores.shape)
        chances[_rows(first), first] = 1.0
        self._split(chances, tied, group)
        if self.precision is not None:  # a rounded posterior: only a tie that the rule knows may be as wide
            wide = scores >= scores.max(axis=1, keepdims=True) - self.tie_widths[group, None]
            rows = np.flatnonzero((wide != tied).any(axis=1))
            chances[rows] = self._split(chances[rows], wide[rows], group[rows])
        return chances

    def _split(self, chances: NDArray[np.float64], tied: NDArray[np.bool_], group: Codes) -> NDArray[np.float64]:
        """Give tasks whose tied classes the rule knows the probabilities of these classes."""
        several = np.flatnonzero(tied.sum(axis=1) > 1)
        kinds, kind = np.unique(np.column_stack([group[several], tied[several]]), axis=0, return_inverse=True)
        for number, (a, *is_tied) in enumerate(kinds.tolist()):
            members = np.flatnonzero(is_tied)
            weights = self._weights(a, tuple(members.tolist()))
            if weights is not None:
                chances[several[kind.ravel() == number]] = np.bincount(members, weights, len(is_tied))
        return chances

    def _weights(self, a: int, members: tuple[int, ...]) -> tuple[float, ...] | None:
        """Return the probabilities of tied classes of a group; None if the rule has none."""
        if self.in_turn is None:
            return self.ties.get((a, members))
        return None if a in self.left_out else tie_weights(members, self.in_turn.splits[a])

    def predict(
        self,
        posterior: "FrameLike | ArrayLike",
        sensitive_features: "ByTask",
        *,
        unknown: str = "error",
        on_missing_group: str = "error",
    ) -> Any:
        """Label new tasks from a posterior (a frame or an array, as for ``make_fair``) and their groups.

        A choice among tied classes depends on ``random_state`` and the task's id alone.

        Parameters
        ----------
        unknown : {"error", "own"}
            What to do with tasks of a group the rule does not know: raise, or give them the label of highest
            posterior (and warn how many there are).
        on_missing_group : {"error", "drop", "own"}
            What to do with tasks without a group: as for ``make_fair``, if the rule was learned with the same.
        """
        problem = read_posterior(
            posterior, sensitive_features, one_group_will_do=True, on_missing_group=on_missing_group
        )
        return self.for_posterior(posterior, problem).predict_problem(problem, unknown)

    def predict_proba(
        self,
        posterior: "FrameLike | ArrayLike",
        sensitive_features: "ByTask",
        *,
        unknown: str = "error",
        on_missing_group: str = "error",
    ) -> Any:
        """Return the probability of each label under the rule: 0 or 1, except where classes are tied."""
        problem = read_posterior(
            posterior, sensitive_features, one_group_will_do=True, on_missing_group=on_missing_group
        )
        rule = self.for_posterior(posterior, problem)
        return problem.frame(problem.emit(_probabilities, rule, *self._codes(problem, unknown)))

    def chances(self, problem: Population[Rows]) -> Rows:
        """Return the probability of each label, one row per task of a problem."""
        return problem.emit(_probabilities, self, *self._codes(problem, "error"))

    def for_posterior(self, posterior: object, problem: Problem) -> "FairRule":
        """Return this rule with ties as wide as the numbers of a posterior are apart; warn if that may not do.

        A posterior in 16 or 32 bits is known to be rounded. One whose probabilities all have few digits may be, or may
        be exact; then ties are not widened, and there is a warning where many tasks are beside a tie.
        """
        if self.precision is None or not self._split_groups:
            return self
        scale, digits = sensitivity(self.gain_matrix), digits_of(problem.posterior, self.digits - 1)
        if digits is not None:
            self._check_rounding(problem, digits, scale * 0.5 * 10.0**-digits)
        widths = np.maximum(self.precision.tie_widths, scale * step_of(posterior) / 2)
        return replace(self, precision=self.precision._replace(tie_widths=widths))

    def _check_rounding(self, problem: Problem, digits: int, reach: float) -> None:
        """Warn if many tasks are beside a tie by no more than ``reach``, the rounding to a number of digits."""
        column, group = self._codes_of_classes(problem), self.group_codes(problem)
        if self.precision is None or problem.n_classes != len(self.classes) or (column < 0).any():
            return  # refused where the labels are made
        rows = np.flatnonzero(group >= 0)
        values = np.empty((rows.size, len(self.classes)))
        values[:, column] = problem.posterior[rows]
        scores = np.sort(self.scores(values, group[rows]), axis=1)
        near = near_ties(scores[:, -1] - scores[:, -2], group[rows], self.precision, 1.001 * reach)
        if near.tasks >= max(_FEW_BESIDE * group.size, 1):
            warn(
                f"{near.tasks:,} of {group.size:,} tasks are beside a tie of the rule by no more than the rounding of "
                f"this posterior, whose probabilities have {digits} digit{'s' * (digits > 1)}. Where the rule was "
                f"learned, {near.tied_share:.0%} of the tasks of a group were tied, and it splits them; on these tasks "
                f"it may miss its gap of {self.epsilon:g}. Give the posterior in float64, or with at least "
                f"{self.digits} digits.",
                DataWarning,
            )

    def predict_problem(self, problem: Population, unknown: str = "error") -> Any:
        """Label the tasks of a problem, in memory or in Spark."""
        return problem.labels(self.label_codes(problem, unknown))

    def label_codes(self, problem: Population[Rows], unknown: str = "error") -> Rows:
        """Return the class of each task of a problem."""
        return problem.emit(_labels, self, *self._codes(problem, unknown))

    def group_codes(self, problem: Problem) -> Codes:
        """Return the code of the group of each task in this rule, -1 for a group that it does not know."""
        return self.codes_of_groups(problem)[problem.group]

    def codes_of_groups(self, problem: Population) -> Codes:
        """Return the code in this rule of each group of a problem, -1 for those that it does not know."""
        codes = Vocabulary.of(list(self.groups)).code_of(problem.groups.values)
        if self.merged:
            was_small = Vocabulary.of(list(self.merged)).code_of(problem.groups.values) >= 0
            codes = np.where((codes < 0) & was_small, len(self.groups) - 1, codes).astype(np.int32)
        return codes

    def _codes_of_classes(self, problem: Population) -> Codes:
        return Vocabulary.of(list(self.classes)).code_of(problem.classes.values)

    def _codes(self, problem: Population, unknown: str) -> tuple[Codes, Codes]:
        """Return this rule's codes of the classes and groups of a problem, -1 for a group that it does not know."""
        check_choice("unknown", unknown, ("error", "own"))
        column = self._codes_of_classes(problem)
        if problem.n_classes != len(self.classes) or (column < 0).any():
            raise InputError(
                f"The posterior's classes {few(problem.classes.to_list())} are not the rule's {few(self.classes)}."
            )
        group = self.codes_of_groups(problem)
        strange = np.flatnonzero((group < 0) & (problem.sizes > 0))
        if strange.size:
            names = few(shown(problem.groups.some(strange[:5])), strange.size)
            tasks = int(problem.sizes[strange].sum())
            if unknown == "error":
                raise UnknownGroupError(
                    f"{tasks:,} tasks are of groups that the rule does not know: {names}; "
                    f"it knows {few(shown(self.groups))}"
                )
            warn(f"{tasks:,} tasks of unknown groups ({names}) got the aggregator's own label.", DataWarning)
        return column, group

    def to_json(self) -> str:
        """Return the rule as JSON; ``from_json`` reads it back without loss."""
        return json.dumps(
            {
                "schema": _SCHEMA_OF_PRICES if self.in_turn is None else _SCHEMA,
                "kind": PARITY,
                "classes": to_plain(self.classes),
                "groups": to_plain(self.groups),
                "epsilon": self.epsilon,
                "random_state": self.random_state,
                "prices": self.prices.tolist(),
                "gain_matrix": self.gain_matrix.tolist(),
                "gain_offset": self.gain_offset.tolist(),
                "shares": self.shares.tolist(),
                **({} if self.precision is None else {n: v.tolist() for n, v in self.precision._asdict().items()}),
                "ties": [
                    {"group": group, "classes": list(members), "weights": list(weights)}
                    for (group, members), weights in sorted(self.ties.items())
                ],
                **({"left_out": list(self.left_out)} if self.left_out else {}),
                **({"merged": to_plain(self.merged)} if self.merged else {}),
                **(
                    {}
                    if self.in_turn is None
                    else {"in_turn": {name: table.tolist() for name, table in self.in_turn._asdict().items()}}
                ),
            },
            ensure_ascii=False,
            allow_nan=False,
        )

    def uniforms(self, tasks: Iterable[Any]) -> NDArray[np.float64]:
        """Return, for each task id, the number in [0, 1) that chooses among tied classes."""
        ids = Vocabulary.of(list(tasks))
        return uniforms(task_keys(ids, np.arange(len(ids)), self.random_state))

    def to_sql(self, *, posterior: str = "posterior_{}", group: str = "group", uniform: str | None = None) -> str:
        """Return the rule as a CASE expression for a warehouse.

        Parameters
        ----------
        posterior : str
            Names of the columns with the posterior; ``{}`` stands for the class.
        group : str
            Name of the column with the group.
        uniform : str, optional
            Name of a column with the numbers of ``uniforms``; tied classes are then chosen as in Python.
            Without it, the likeliest of them is chosen.

        Notes
        -----
        Columns of the posterior are cast to DOUBLE. They need at least ``digits`` digits after the point, or 32 bits:
        with fewer, tied tasks are not recognised, and all of them get one label.

        Raises
        ------
        InputError
            If two classes or two groups have the same text, as 1 and '1' do: in SQL they are one.
        """
        last, extra = len(self.groups) - 1, range(len(self.groups), len(self.groups) + len(self.merged))
        known = [*range(len(self.groups)), *(last for _ in extra)]  # a merged group goes by the prices of the last
        ties = self.ties | {(a, members): w for (b, members), w in self.ties.items() if b == last for a in extra}
        return case_expression(
            self.classes,
            (*self.groups, *self.merged),
            self.prices[known],
            self.gain_matrix,
            self.gain_offset,
            ties,
            widths=self.tie_widths[known],
            posterior=posterior,
            group=group,
            uniform=uniform,
            in_turn=None if self.in_turn is None else self.in_turn.take(known),
            left_out=self.left_out,
        )

    @classmethod
    def from_json(cls, text: str) -> "FairRule":
        """Read a rule that ``to_json`` wrote."""
        rule = read_rule_json(text, PARITY, _SCHEMA, _KEYS, _PRECISION | _FURTHER_KEYS, cls._of_json)
        rule._check()
        return rule

    @classmethod
    def _of_json(cls, read: dict[str, Any]) -> "FairRule":
        if ("in_turn" in read) != (read.get("schema", 0) == _SCHEMA):
            raise InputError(f"This is not a rule of faircrowd: in_turn belongs to schema {_SCHEMA}, and to no other.")
        precision = None
        if _PRECISION & read.keys():
            precision = TiePrecision(*(_part(read, name, _numbers) for name in TiePrecision._fields))
        return cls(
            classes=_part(read, "classes", _names),
            groups=_part(read, "groups", _names),
            prices=_part(read, "prices", _numbers),
            gain_matrix=_part(read, "gain_matrix", _numbers),
            gain_offset=_part(read, "gain_offset", _numbers),
            shares=_part(read, "shares", _numbers),
            epsilon=_part(read, "epsilon", float),
            random_state=_part(read, "random_state", int),
            ties=_part(read, "ties", _tie_weights),
            precision=precision,
            left_out=_part(read, "left_out", tuple) if "left_out" in read else (),
            merged=_part(read, "merged", _names) if "merged" in read else (),
            in_turn=_part(read, "in_turn", _in_turn_of) if "in_turn" in read else None,
        )

    def _check(self) -> None:
        n_groups, n_classes = len(self.groups), len(self.classes)
        tables = (self.prices, self.gain_matrix, self.gain_offset, self.shares)
        shapes = [(n_groups, n_classes), (n_classes, n_classes), (n_classes,), (n_groups,)]
        fits = [table.shape for table in tables] == shapes and all((abs(table) <= LARGEST).all() for table in tables)
        fits &= n_classes > 1 and bool((self.shares > 0).all())  # no groups: their prices have no columns
        fits &= abs(self.shares.sum() - 1) <= SUM_TO_ONE
        fits &= all(len({(type(name), name) for name in names}) == len(names) for names in (self.groups, self.classes))
        fits &= 0 <= self.epsilon <= 1 and self.random_state >= 0
        if self.precision is not None:
            widths, shares = self.precision
            fits &= widths.shape == shares.shape == (n_groups,) and bool(
                ((widths > 0) & (widths <= LARGEST) & (shares >= 0) & (shares <= 1)).all()
            )
        fits = fits and all(type(a) is int and 0 <= a < n_groups and not self.prices[a].any() for a in self.left_out)
        fits &= not self.merged or n_groups > 0
        if self.in_turn is not None:
            fits &= all(table.shape == self.prices.shape for table in self.in_turn) and not self.ties and n_classes > 2
            fits = fits and bool((abs(self.in_turn.rivals) <= LARGEST).all())
            fits = fits and bool(((self.in_turn.splits >= 0) & (self.in_turn.splits <= 1)).all())
        for (group, members), weights in self.ties.items():
            fits &= 0 <= group < n_groups and is_tie(members, weights, n_classes)
        if not fits:
            raise InputError("This rule's numbers do not fit its classes and groups; " + EDITED)

    def __str__(self) -> str:
        from faircrowd.fair.rule_forms.rule_words import rule_in_full

        return rule_in_full(self)


_PartT = TypeVar("_PartT")


def _part(read: dict[str, Any], name: str, make: Callable[[Any], _PartT]) -> _PartT:
    """Return one part of a rule that was read from JSON, or say which part is not what it should be."""
    if name not in read:
        raise InputError(f"This is not a rule of faircrowd: {name!r} is missing.")
    try:
        return make(read[name])
    except (KeyError, TypeError, ValueError, OverflowError, RecursionError, InputError):
        raise InputError(f"This is not a rule of faircrowd: its {name!r} is not {_MEANT[make]}.") from None


def _names(value: Any) -> tuple[Any, ...]:
    return tuple(from_plain(value))


def _numbers(value: Any) -> NDArray[np.float64]:
    return np.asarray(value, dtype=np.float64)


def _tie_weights(value: Any) -> TieWeights:
    return {(int(tie["group"]), tuple(tie["classes"])): tuple(tie["weights"]) for tie in value}


def _in_turn_of(tables: object) -> InTurn:
    """Read what a rule that tries labels in turn has besides its prices."""
    if not isinstance(tables, dict) or tables.keys() != set(InTurn._fields):
        raise ValueError(f"in_turn does not consist of {few(InTurn._fields)}")
    return InTurn(*(np.asarray(tables[name], dtype=np.float64) for name in InTurn._fields))


_MEANT: dict[Callable[[Any], Any], str] = {
    _names: "a list of names",
    _numbers: "a list or table of numbers",
    _tie_weights: "a list of ties, each with group, classes and weights",
    float: "a number",
    int: "a whole number",
    tuple: "a list",
    _in_turn_of: f"a set of tables of numbers, {few(InTurn._fields)}",
}
"""What each part of a rule should be, by what reads it."""


def _probabilities(tasks: Tasks, rule: FairRule, column: Codes, places: Codes) -> NDArray[np.float64]:
    """Return the probability of each label of some tasks, in the order of their own classes."""
    posterior = np.empty_like(tasks.posterior)
    posterior[:, column] = tasks.posterior
    group, own = places[tasks.group], column[tasks.own]
    strange = group < 0
    chances = rule.probabilities(posterior, np.where(strange, 0, group).astype(np.int32), own)
    chances[strange] = np.eye(len(rule.classes))[own[strange]]
    return np.asarray(chances[:, column])


def _labels(tasks: Tasks, rule: FairRule, column: Codes, places: Codes) -> Codes:
    """Label some tasks; a draw goes by the hash of the task and by the order of the classes in the rule."""
    chances = np.empty((tasks.group.size, len(rule.classes)))
    chances[:, column] = _probabilities(tasks, rule, column, places)
    drawn = draw(chances, lambda rows: tasks.hashes(rows, rule.random_state))
    return np.asarray(np.argsort(column).astype(np.int32)[drawn])


def rule_of(
    problem: Population[Rows],
    solved: Solution[Rows],
    mass: NDArray[np.float64] | NDArray[np.int64],
    epsilon: float,
    random_state: int,
) -> FairRule:
    """Return the rule of a solution; ``mass`` is the weight of each group."""
    weights = np.asarray(mass, dtype=np.float64)
    prices, shares = prices_of(solved.multipliers, weights), weights / weights.sum()
    return FairRule(
        classes=tuple(problem.classes.to_list()),
        groups=tuple(problem.groups.to_list()),
        prices=prices,
        gain_matrix=solved.gain.matrix,
        gain_offset=solved.gain.offset,
        shares=shares,
        epsilon=epsilon,
        random_state=random_state,
        ties=solved.ties,
        precision=learn_tie_precision(problem, solved.gain, prices, shares, solved.ties),
        left_out=tuple(problem.left_out),
        merged=problem.merged_groups,
    )


def thresholds_of(
    prices: NDArray[np.float64], gain_matrix: NDArray[np.float64], gain_offset: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Two classes: return the posterior of the second above which a task of each group gets it."""
    # Label 1 wins where p (M11 - M10) + (1 - p)(M01 - M00) + b1 - b0 > price1 - price0.
    least = gain_matrix[0, 1] - gain_matrix[0, 0]
    away = prices[:, 1] - prices[:, 0] - (gain_offset[1] - gain_offset[0]) - least
    return np.asarray(away / _slope(gain_matrix))


def _slope(gain_matrix: NDArray[np.float64]) -> float:
    """Return how fast the gain of label 1 over label 0 rises with the posterior."""
    return float((gain_matrix[1, 1] - gain_matrix[1, 0]) - (gain_matrix[0, 1] - gain_matrix[0, 0]))


def _rows(codes: Codes | NDArray[np.int64]) -> NDArray[np.int64]:
    return np.arange(codes.size)
