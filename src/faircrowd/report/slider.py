"""What the slider of the page shows at each of its stops, as text that the script of the page only inserts."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from faircrowd.fair.frontier import Frontier
from faircrowd.fair.make import FairResult
from faircrowd.fair.objective import make_gain
from faircrowd.fair.tasks.left_out import compared_gap
from faircrowd.fair.what_if import Choice, choices
from faircrowd.report.accuracy_curves import AccuracyCurve, accuracy_curves
from faircrowd.report.safe_names import shorts
from faircrowd.report.shown_groups import not_shown, shown_groups

__all__ = ["MAX_CLASSES", "slider", "stops", "threshold_lines"]

MAX_CLASSES = 6
"""How many classes the page shows."""

_STEPS = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05)
_MAX_STOPS = 60
_FEW_STOPS = 9
_MANY_ATOMS = 100_000
_MANY_RATES = 100


def slider(
    result: FairResult, frontier: Frontier, groups: list[str], classes: list[str], asked: bool
) -> dict[str, Any]:
    """Return the stops of the slider and what is shown next to it.

    Parameters
    ----------
    frontier : Frontier
        That of the result, with the real accuracy where the truth is known.
    groups, classes : list of str
        Their names.
    asked : bool
        Whether an epsilon was asked for; the slider starts there, or else where nothing changes.
    """
    problem, c = result.problem, result.certificate
    exact = frontier.exact
    large = problem.group.size * problem.n_classes > _MANY_ATOMS or problem.n_groups * problem.n_classes > _MANY_RATES
    most = _FEW_STOPS if large and not exact else _MAX_STOPS
    wanted = stops(float(frontier.gap[0]), c.epsilon if asked else None, most)
    gain = result.solved.gain
    if c.objective in ("accuracy", "f1"):
        gain = make_gain(c.objective, problem.n_classes, gain.positive)
    # An epsilon that the labels keep already changes nothing; a linear program might move tied tasks.
    kept = [] if exact or c.objective != "accuracy" else [epsilon for epsilon in wanted if epsilon >= c.gap_before]
    solved = choices(problem, gain, wanted[: len(wanted) - len(kept)], result.rule.random_state)
    found = [*solved[::-1], *(_unchanged(result, epsilon) for epsilon in kept)]
    shown = np.argsort(-np.ptp(found[-1].rates, axis=0), kind="stable")[:MAX_CLASSES]
    shown = np.sort(shown) if len(classes) > 2 else np.array([1])  # the other class is its complement
    members = shown_groups(problem.tally(problem.own).rates)
    names = shorts([groups[a] for a in members])
    curves = accuracy_curves(frontier)
    return {
        "stops": [_stop(at, shown, members, result, curves, names) for at in found],
        "start": wanted.index(c.epsilon) if asked else len(wanted) - 1,
        "randomized": not exact,
        "classes": [classes[k] for k in shown],
        "groups": [groups[a] for a in members],
        "sizes": [f"{n:,}" for n in np.bincount(problem.group, minlength=len(groups))[members]],
        "more_groups": not_shown(len(groups)),
        "has_real": len(curves) > 1,
        "has_thresholds": found[0].thresholds is not None,
    }


def stops(gap: float, chosen: float | None, most: int = _MAX_STOPS) -> list[float]:
    """Return the epsilons of the slider: round numbers up to the gap or just above, and the one that was chosen.

    Examples
    --------
    >>> stops(0.35, 0.12, most=9)
    [0.0, 0.05, 0.1, 0.12, 0.15, 0.2, 0.25, 0.3, 0.35]
    """
    step = next((step for step in _STEPS if gap / step <= most), float(np.ceil(1000 * gap / most)) / 1000)
    found = {min(round(i * step, 6), 1.0) for i in range(int(np.ceil(gap / step - 1e-9)) + 1)}
    return sorted(found if chosen is None else {*found, chosen})


def threshold_lines(
    thresholds: NDArray[np.float64] | None, members: NDArray[np.int64], names: list[str]
) -> list[dict[str, Any]]:
    """Return the thresholds of the groups that are shown, and their names, as rows of a chart."""
    found = [] if thresholds is None else np.clip(thresholds[members], 0.0, 1.0).tolist()
    return [{"group": name, "threshold": at} for name, at in zip(names, found, strict=False)]


def _unchanged(result: FairResult, epsilon: float) -> Choice:
    problem = result.problem
    tally = problem.tally(problem.own)
    thresholds = np.full(problem.n_groups, 0.5) if problem.n_classes == 2 else None
    moved = tally.tasks.astype(np.float64)
    return Choice(epsilon, compared_gap(problem, tally.rates), tally.accuracies[0], tally.rates, moved, thresholds)


def _stop(
    at: Choice,
    shown: NDArray[np.int64],
    members: NDArray[np.int64],
    result: FairResult,
    curves: list[AccuracyCurve],
    names: list[str],
) -> dict[str, Any]:
    gap = min(at.epsilon, float(curves[0].gap[0]))
    changed = at.moved.sum(axis=(1, 2)) - np.einsum("akk->a", at.moved)
    rows = []
    for a in members:
        cells = [f"{at.rates[a, k]:.1%}" for k in shown]
        if at.thresholds is not None:
            cells.append(_threshold(at.thresholds[a]))
        rows.append([*cells, f"{changed[a]:,.0f}"])
    return {
        "epsilon": f"{at.epsilon:.3f}" if round(at.epsilon, 3) == at.epsilon else f"{at.epsilon:.4g}",
        "gap": f"{at.gap:.3f}",
        "believed": f"{at.believed_accuracy:.2%}",
        "given_up": f"{max(result.certificate.believed_accuracy_before - at.believed_accuracy, 0):.2%}",
        "changed": f"{at.changed:,.0f}",
        "rows": rows,
        **{curve.name: f"{curve.at(gap):.2%}" for curve in curves[1:]},
        "point": [{"gap": gap, "accuracy": curve.at(gap)} for curve in curves],
        "thresholds": threshold_lines(at.thresholds, members, names),
    }


def _threshold(value: float) -> str:
    """Return a threshold as text; one that is near 0 or 1 is not rounded to it."""
    text = f"{value:.3f}"
    return {"0.000": "< 0.001", "1.000": "> 0.999"}.get(text, text) if 0 < value < 1 else text
