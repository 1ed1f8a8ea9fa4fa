"""What the slider of the page shows at each of its stops, as text that the script of the page only inserts."""

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from faircrowd.fair.frontier import Frontier
from faircrowd.fair.make import FairResult
from faircrowd.fair.round_limits import MAX_STOPS, round_limits
from faircrowd.fair.tasks.problem import Problem
from faircrowd.fair.tolerances import SLACK
from faircrowd.fair.what_if import Choice, choices, is_strict_elsewhere
from faircrowd.report.safe_names import shorts
from faircrowd.report.shown_groups import not_shown, shown_groups
from faircrowd.report.words.fair_words import in_points
from faircrowd.votes.vocabulary import Codes

__all__ = ["MAX_CLASSES", "slider", "threshold_lines", "whole_tasks_in_words"]

MAX_CLASSES = 6
"""How many classes the page shows."""

_SOME_STOPS, _FEW_STOPS = 20, 9
_STOPS_TIMES_CELLS = 120
"""A linear program takes longer the more groups and classes there are."""
_MANY_TASKS, _MANY_ATOMS = 200_000, 50_000


def slider(
    result: FairResult,
    frontier: Frontier,
    groups: list[str],
    classes: list[str],
    asked: bool,
    truth: Codes | None = None,
) -> dict[str, Any]:
    """Return the stops of the slider and what is shown next to it.

    Parameters
    ----------
    frontier : Frontier
        That of the result.
    groups, classes : list of str
        Their names.
    asked : bool
        Whether an epsilon was asked for; the slider starts there, or else where nothing changes.
    truth : ndarray of int32, optional
        True labels that may score the labels: -1 where they are not known, -2 for none of the classes.
    """
    problem, c = result.problem, result.certificate
    wanted = round_limits(float(frontier.gap[0]), c.epsilon if asked else None, _most_stops(problem))
    found = choices(result, wanted, truth)
    shown = np.argsort(-np.ptp(found[-1].rates, axis=0), kind="stable")[:MAX_CLASSES]
    shown = np.sort(shown) if len(classes) > 2 else np.array([1])  # the other class is its complement
    members = shown_groups(problem.tally(problem.own).rates)
    names, top = shorts([groups[a] for a in members]), float(frontier.gap[0])
    return {
        "stops": [_stop(at, shown, members, c.believed_accuracy_before, top, names) for at in found],
        "start": wanted.index(c.epsilon) if asked else len(wanted) - 1,
        "kind": _kind_of_labels(result),
        "whole": whole_tasks_in_words("epsilon", "gap", [at.epsilon for at in found], [at.gap for at in found]),
        "classes": [classes[k] for k in shown],
        "groups": [groups[a] for a in members],
        "sizes": [f"{n:,}" for n in np.bincount(problem.group, minlength=len(groups))[members]],
        "more_groups": not_shown(len(groups)),
        "has_real": found[0].real_accuracy is not None,
        "has_thresholds": found[0].thresholds is not None,
    }


def whole_tasks_in_words(limit: str, level: str, limits: Sequence[float], levels: Sequence[float]) -> str:
    """Say why a tighter limit may reach a larger level, as a sentence; empty where none does.

    Examples
    --------
    >>> whole_tasks_in_words("epsilon", "gap", [0.01, 0.02, 0.05], [0.012, 0.008, 0.05])
    'A smaller epsilon may reach a larger gap: tasks are whole, and of all labels within what is allowed those of the \
highest believed accuracy are taken, whatever their gap.'
    >>> whole_tasks_in_words("epsilon", "gap", [0.01, 0.05], [0.01, 0.05])
    ''
    """
    by_limit = [level for _, level in sorted(zip(limits, levels, strict=True))]
    if all(first <= second + SLACK for first, second in pairwise(by_limit)):
        return ""
    return (
        f"A smaller {limit} may reach a larger {level}: tasks are whole, and of all labels within what is allowed "
        f"those of the highest believed accuracy are taken, whatever their {level}."
    )


def _kind_of_labels(result: FairResult) -> str:
    """Return which labels the stops are, as a sentence without its full stop."""
    if result.certificate.decision == "randomized":
        return "The slider shows the labels that each epsilon gives, one draw for each"
    if not result.strict:
        return "The slider shows the labels that each epsilon gives"
    if is_strict_elsewhere(result):
        return (
            "The slider shows the labels that each epsilon gives if it is kept to the letter, as in this run (strict)"
        )
    return (
        f"This run keeps epsilon {result.certificate.epsilon:g} to the letter (strict). At every other epsilon the "
        "slider shows labels without strict, which are found sooner: their gap may exceed epsilon by less than one "
        "task of the smallest group"
    )


def _most_stops(problem: Problem) -> int:
    """Return how many epsilons are solved for: as many as take no longer than the rest of the page."""
    compared = problem.compared()
    cells = compared.n_groups * problem.n_classes
    if cells == 4:
        return MAX_STOPS if problem.group.size <= _MANY_TASKS else _SOME_STOPS
    is_large = problem.group.size * problem.n_classes > _MANY_ATOMS
    return _FEW_STOPS if is_large else max(_STOPS_TIMES_CELLS // cells, _FEW_STOPS)


def threshold_lines(
    thresholds: NDArray[np.float64] | None, members: NDArray[np.int64], names: list[str]
) -> list[dict[str, Any]]:
    """Return the thresholds of the groups that are shown, and their names, as rows of a chart."""
    found = [] if thresholds is None else np.clip(thresholds[members], 0.0, 1.0).tolist()
    return [{"group": name, "threshold": at} for name, at in zip(names, found, strict=False)]


def _stop(
    at: Choice,
    shown: NDArray[np.int64],
    members: NDArray[np.int64],
    before: float,
    top: float,
    names: list[str],
) -> dict[str, Any]:
    """Return the numbers of an epsilon as text; ``top`` is where the frontier ends."""
    changed, rows = at.changed_in_groups, []
    for a in members:
        cells = [f"{at.rates[a, k]:.1%}" for k in shown]
        if at.thresholds is not None:
            cells.append(_threshold(at.thresholds[a]))
        rows.append([*cells, f"{changed[a]:,}"])
    real = {} if at.real_accuracy is None else {"real": at.real_accuracy}
    accuracies = [at.believed_accuracy, *real.values()]
    return {
        "epsilon": f"{at.epsilon:.3f}" if round(at.epsilon, 3) == at.epsilon else f"{at.epsilon:.4g}",
        "gap": f"{at.gap:.3f}",
        "believed": f"{at.believed_accuracy:.2%}",
        "given_up": in_points(before - at.believed_accuracy),
        "changed": f"{at.changed:,}",
        "rows": rows,
        **{name: f"{accuracy:.2%}" for name, accuracy in real.items()},
        "point": [{"gap": min(at.epsilon, top), "accuracy": accuracy} for accuracy in accuracies],
        "thresholds": threshold_lines(at.thresholds, members, names),
    }


def _threshold(value: float) -> str:
    """Return a threshold as text; one that is near 0 or 1 is not rounded to it."""
    text = f"{value:.3f}"
    return {"0.000": "< 0.001", "1.000": "> 0.999"}.get(text, text) if 0 < value < 1 else text
