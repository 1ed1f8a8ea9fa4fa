"""From a solution to its rule: prices by constraint and group, and how tied outcomes are split."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from faircrowd.fair.general.cell_atoms import amounts_of, best_outcomes, prices_at, scores_at
from faircrowd.fair.general.constrained_rule import ConstrainedRule, TieSplit
from faircrowd.fair.general.constrained_solve import ConstrainedProblem, ConstrainedSolution
from faircrowd.fair.rule_forms.price_table import PriceTable
from faircrowd.fair.tasks.tie_precision import ROOM, sensitivity
from faircrowd.fair.tolerances import HIGHS_FEASIBILITY, TIE, WHOLE_COUNT

__all__ = ["constrained_rule_of"]

_WIDEST = 1e-6
"""Outcomes of a split atom that are farther from each other are not tied, whatever the linear program says."""

_MATCHED = 1e-10
"""Rows that are this near to the solution's are the solution's."""


def constrained_rule_of(solution: ConstrainedSolution, random_state: int) -> ConstrainedRule:
    """Return the rule of a solution."""
    problem, multipliers = solution.problem, solution.best.multipliers
    tables = []
    for number, partition, _ in problem.compared:
        own = np.where(problem.rows.constraint == number, multipliers, 0.0)
        key, shape = problem.partitions[partition].key, problem.grouped[partition].shape
        tables.append(
            PriceTable(
                constraint=str(problem.constraints[number]),
                columns=(*key.group, *key.within),
                by_own_label=key.by_own_label,
                groups=tuple(problem.partitions[partition].groups.to_list()),
                prices=np.asarray(problem.rows.by_partition[partition].T @ own).reshape(shape),
                uncertain=problem.partitions[partition].uncertain,
            )
        )
    smallest = min(float(tasks.mass[tasks.mass > 0].min()) for tasks in problem.grouped)
    width = TIE + (10 * HIGHS_FEASIBILITY / smallest if multipliers.any() else 0.0)
    return ConstrainedRule(
        classes=tuple(problem.tasks.classes.to_list()),
        tables=tuple(tables),
        gain_matrix=problem.gain.matrix,
        gain_offset=problem.gain.offset,
        has_review=problem.has_review,
        ties=_splits(solution, width),
        tie_width=width,
        random_state=random_state,
    )


def _splits(solution: ConstrainedSolution, least: float) -> dict[tuple[tuple[int, ...], tuple[int, ...]], TieSplit]:
    """Average the solution over the atoms of a cell whose best outcomes are the same set.

    A tie is as wide as the room that other atoms of the cell leave, so that a rounded posterior has it, too: see
    :mod:`faircrowd.fair.tasks.tie_precision`.
    """
    problem, best, atoms = solution.problem, solution.best, solution.problem.atoms
    prices = prices_at(problem.rows, best.multipliers, atoms.shape(problem.n_cells))
    matrix = problem.gain.matrix
    if problem.has_review:
        matrix = np.column_stack([matrix, np.diag(matrix)])
    room = np.array([ROOM * max(map(sensitivity, matrix - of_cell)) for of_cell in _by_posterior(problem, prices)])
    margin, _ = best_outcomes(atoms, prices)
    part = (best.fractions > WHOLE_COUNT) & (best.fractions < 1 - WHOLE_COUNT)
    is_split = np.asarray(np.any(part, axis=1))
    near = np.flatnonzero((margin <= np.maximum(room[atoms.cell], least)) | is_split)
    cell = atoms.cell[near]
    scores = scores_at(atoms.some(near), prices)
    below = scores.max(axis=1, keepdims=True) - scores
    # An atom that the program splits is tied, also where that is seen only to the tolerance of the program.
    used = np.where((best.fractions[near] > WHOLE_COUNT) & is_split[near, None], below, 0.0).max(axis=1, initial=0.0)
    narrow = np.full(problem.n_cells, least)
    np.maximum.at(narrow, cell, np.where(used <= _WIDEST, used * (1 + 1e-9), 0.0))
    tied = below <= narrow[cell, None]
    free = room.copy()
    np.minimum.at(free, cell, np.where(tied, np.inf, below).min(axis=1))
    width = np.maximum(narrow, free / 2)
    several = tied.sum(axis=1) > 1
    ties = _Tied(solution, near[several], tied[several])
    place = [problem.of_cell[partition] for _, partition, _ in problem.compared]
    return {
        (tuple(int(codes[c]) for codes in place), members): TieSplit(weights, float(width[c]))
        for (c, members), weights in ties.weights().items()
    }


def _by_posterior(problem: ConstrainedProblem, prices: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return how prices grow with the posterior, shape (n_cells, n_cases, n_classes, n_outcomes).

    With uncertain groups, that depends on their probabilities; the cases are then those of a task that is surely of
    one of them.
    """
    n_classes = problem.tasks.n_classes
    full = np.zeros((problem.n_cells, 1 + problem.features.shape[1], problem.n_outcomes))
    full[:, [0, *problem.rows.features.tolist()]] = prices
    certain = full[:, 1 : 1 + n_classes]
    uncertain = {
        partition.uncertain: by.feature
        for partition, by in zip(problem.partitions, problem.counted, strict=True)
        if partition.uncertain
    }
    cases = [certain + full[:, numbers[1:]] for feature in uncertain.values() for numbers in feature]
    return np.stack(cases or [certain], axis=1)


_Kind = tuple[int, tuple[int, ...]]
"""A cell and the outcomes that are tied."""

_Weights = tuple[tuple[float, ...], ...]
"""The probabilities of tied outcomes: one row, or one per own label."""


class _Tied:
    """Atoms with tied outcomes, and the probabilities of these that are as good as the solution.

    Among tied outcomes every choice is worth the same, so what counts is that the rows come out as in the solution. The
    average over the atoms of a kind does that where rows do not weigh tasks by their posterior. Where they do, a small
    linear program finds probabilities that do it; if there are none, by own label, too.
    """

    def __init__(self, solution: ConstrainedSolution, atoms: NDArray[np.int64], tied: NDArray[np.bool_]) -> None:
        self.problem = problem = solution.problem
        self.some = problem.atoms.some(atoms)
        chosen = np.where(tied, solution.best.fractions[atoms], 0.0)
        total = chosen.sum(axis=1, keepdims=True)
        self.chosen = np.where(total > 0, chosen / np.where(total > 0, total, 1.0), tied / tied.sum(axis=1)[:, None])
        self.own = np.argmax(problem.posterior[atoms], axis=1)
        kinds: dict[_Kind, int] = {}
        members = [tuple(np.flatnonzero(row).tolist()) for row in tied]
        self.kind = np.array(
            [kinds.setdefault(key, len(kinds)) for key in zip(self.some.cell.tolist(), members, strict=True)],
            dtype=np.int64,
        )
        self.kinds = list(kinds)
        self.target = self._rows_of(self.chosen)

    def _rows_of(self, fractions: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return what the outcomes of the tied atoms add to the rows."""
        return np.asarray(self.problem.rows.on_amounts @ amounts_of(self.some, fractions, self.problem.n_cells).ravel())

    def weights(self) -> dict[_Kind, _Weights]:
        """Return the probabilities of the tied outcomes of each kind."""
        if not self.kinds:
            return {}
        n_classes = self.problem.tasks.n_classes
        average = self._average()
        found, miss = average[:, None], self._miss(average[self.kind])
        for part, n_parts in ((np.zeros_like(self.own), 1), (self.own, n_classes)):
            if miss <= _MATCHED:
                break
            fitted = self._fitted(part, n_parts, average)
            again = self._miss(fitted[self.kind, part])
            if again < miss:
                found, miss = fitted, again
        return {
            (cell, members): tuple(tuple(row[list(members)].tolist()) for row in found[number])
            for number, (cell, members) in enumerate(self.kinds)
        }

    def _miss(self, fractions: NDArray[np.float64]) -> float:
        return float(np.abs(self._rows_of(fractions) - self.target).max(initial=0.0))

    def _average(self) -> NDArray[np.float64]:
        sums = np.zeros((len(self.kinds), self.chosen.shape[1]))
        np.add.at(sums, self.kind, self.some.mass[:, None] * self.chosen)
        return np.asarray(sums / sums.sum(axis=1, keepdims=True))

    def _fitted(self, part: NDArray[np.int64], n_parts: int, average: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the probabilities by kind and part whose rows are nearest to the solution's."""
        from scipy.optimize import linprog
        from scipy.sparse import csr_array, eye_array, hstack, vstack

        outcomes = np.arange(self.chosen.shape[1])
        unknown = [
            (number, of, k)
            for number, of in np.unique(np.column_stack([self.kind, part]), axis=0).tolist()
            for k in self.kinds[number][1]
        ]
        columns = [
            self._rows_of(((self.kind == number) & (part == of))[:, None] * (outcomes == k)[None, :].astype(float))
            for number, of, k in unknown
        ]
        n_rows, n = self.target.size, len(unknown)
        place = {key: i for i, key in enumerate(dict.fromkeys((number, of) for number, of, _ in unknown))}
        one_each = csr_array(
            (np.ones(n), ([place[number, of] for number, of, _ in unknown], np.arange(n))),
            shape=(len(place), n + 2 * n_rows),
        )
        off = hstack([csr_array(np.column_stack(columns)), eye_array(n_rows), -eye_array(n_rows)], format="csr")
        program: Any = linprog
        solved = program(
            np.concatenate([np.zeros(n), np.ones(2 * n_rows)]),
            A_eq=vstack([off, one_each], format="csr"),
            b_eq=np.concatenate([self.target, np.ones(len(place))]),
            bounds=(0, None),
            method="highs",
        )
        found = np.repeat(average[:, None], n_parts, axis=1)
        if solved.status == 0:
            for number, of in place:
                found[number, of] = 0.0
            for (number, of, k), chance in zip(unknown, np.asarray(solved.x)[:n].tolist(), strict=True):
                found[number, of, k] = max(chance, 0.0)
        return np.asarray(found / found.sum(axis=2, keepdims=True))
