"""What fair labels reached, in words that follow the numbers: what the page and the terminal both say."""

import numpy as np

from faircrowd.aggregate.calibration.accuracy_estimate import AccuracyEstimate
from faircrowd.fair.certificate import Certificate
from faircrowd.fair.gap import within
from faircrowd.fair.general.constrained_certificate import ConstrainedCertificate
from faircrowd.fair.general.constrained_result import ConstrainedResult
from faircrowd.fair.make import FairResult
from faircrowd.fair.tolerances import EQUAL_VALUES

__all__ = [
    "cost_in_words",
    "estimate_texts",
    "estimated_gap_in_words",
    "excess_in_words",
    "gap_in_words",
    "gap_texts",
    "in_points",
    "not_ruled_out",
    "objective_in_words",
    "off_rule_in_words",
    "optimum_in_words",
    "proof_in_words",
]

_FEWEST_DIGITS, _MOST_DIGITS = 3, 9
_WORTH_A_NOTE = 1e-3
"""Of less, what is proved (:func:`proof_in_words`) says enough."""

_MOST_CELLS = 2_000_000
"""Of more tasks times classes, labels are not compared with the rule."""


def gap_texts(before: float, after: float) -> tuple[str, str]:
    """Return two gaps as texts with as many digits as it takes to see that they differ.

    Examples
    --------
    >>> gap_texts(0.0504, 0.0498), gap_texts(0.31, 0.05), gap_texts(0.05, 0.05)
    (('0.0504', '0.0498'), ('0.310', '0.050'), ('0.050', '0.050'))
    """
    texts = f"{before:.{_FEWEST_DIGITS}f}", f"{after:.{_FEWEST_DIGITS}f}"
    for digits in range(_FEWEST_DIGITS, _MOST_DIGITS + 1):
        longer = f"{before:.{digits}f}", f"{after:.{digits}f}"
        if longer[0] != longer[1]:
            return longer
    return texts


def gap_in_words(certificate: Certificate) -> str:
    """Return what became of the gap, as the rest of a sentence that begins with it.

    Examples
    --------
    >>> import numpy as np
    >>> from faircrowd import make_fair
    >>> p = np.array([0.9, 0.8, 0.7, 0.6, 0.4, 0.3, 0.2, 0.1])
    >>> fair = make_fair(np.stack([1 - p, p], axis=1), [1, 1, 1, 1, 0, 0, 0, 0], epsilon=0.5)
    >>> gap_in_words(fair.certificate)
    'fell from 1.000 to 0.500 (epsilon 0.5)'
    """
    c = certificate
    before, after = gap_texts(c.gap_before, c.gap)
    found = f"is {after} as before" if before == after else f"{_verb(c.gap_before, c.gap)} from {before} to {after}"
    if not within(c.gap, c.epsilon):
        return f"{found}, {c.gap - c.epsilon:.2g} above epsilon {c.epsilon:g}"
    already = ", and was already within it" if within(c.gap_before, c.epsilon) else ""
    return f"{found} (epsilon {c.epsilon:g}{already})"


def cost_in_words(certificate: Certificate, real_price: float | None, estimated: AccuracyEstimate | None = None) -> str:
    """Return what fair labels gave up: accuracy as estimated or else believed and, where it is known, real accuracy."""
    c = certificate
    cost = c.believed_accuracy_before - c.believed_accuracy
    said = f"at {in_points(cost)} of believed accuracy"
    if in_points(cost).startswith("-"):
        said = f"with believed accuracy {in_points(-cost)} higher"
    if c.objective != "accuracy":
        said += f" (believed {c.objective} {_verb(c.value_before, c.value)} from {c.value_before:.4f} to {c.value:.4f})"
    if estimated is not None:
        price, low, high = estimate_texts(estimated, "points")
        said = f"at an estimated price of {price} of accuracy ({low} to {high})"
        if estimated.low == estimated.high:  # all tasks are known
            said = f"at a price of {price} of accuracy"
        elif estimated.low < 0 < estimated.high:
            what = f"a gain of {in_points(-estimated.estimate, 1)}" if estimated.estimate < 0 else f"a price of {price}"
            said = f"at {what} of accuracy, as estimated (from a gain of {low.removeprefix('-')} to a loss of {high})"
    if real_price is None:
        return said
    rose = f"; real accuracy rose by {in_points(-real_price)}"
    return said + (f" and {in_points(real_price)} of real accuracy" if real_price >= 0 else rose)


def optimum_in_words(certificate: Certificate) -> str:
    """Return what is proved about the labels: no more than holds for draws, and for labels above epsilon.

    Examples
    --------
    >>> import numpy as np
    >>> from faircrowd import make_fair
    >>> p = np.array([0.9, 0.8, 0.7, 0.6, 0.4, 0.3, 0.2, 0.1])
    >>> fair = make_fair(np.stack([1 - p, p], axis=1), [1, 1, 1, 1, 0, 0, 0, 0], epsilon=0.5)
    >>> optimum_in_words(fair.certificate)
    'no choice of one label per task with a gap of at most 0.5 has a higher believed accuracy'
    """
    c = certificate
    limit, what = f"with a gap of at most {c.epsilon:g}", objective_in_words(c.objective, c.positive)
    if c.decision == "randomized":
        kind = f"no labels {limit}, drawn at random or not, have a higher {what}"
        return kind if c.solver == "nothing to change" else f"these are one draw: on average over draws, {kind}"
    if c.optimal:
        limit = limit if within(c.gap_allowed, c.epsilon) else f"with a gap of at most {c.gap_allowed:.4g}"
        return f"no choice of one label per task {limit} has a higher {what}"
    if not within(c.gap, c.epsilon):
        return f"labels {limit} have a {what} of at most {c.bound:.6f}"
    if c.optimality_gap <= EQUAL_VALUES:
        return f"no labels {limit} have a higher {what}"
    more = f"{100 * c.optimality_gap:.2g} points" if c.objective == "accuracy" else f"{c.optimality_gap:.2g}"
    return f"no labels {limit} have a {what} that is higher by more than {more}"


def proof_in_words(certificate: Certificate) -> str:
    """Return what is proved about the labels, with the numbers: what they reach, and what none can exceed."""
    c = certificate
    ours, bound, of_draws = (f"{value:.6f}" for value in (c.value, c.bound, c.dual_bound))
    found = f"theirs is {ours}"
    if c.decision == "randomized" or (c.optimal and ours in (bound, of_draws)):
        pass
    elif c.bound < c.value:  # the gap of whole tasks is above epsilon
        found += f"; with a gap of at most {c.epsilon:g} it is at most {bound}"
    elif c.optimal:
        found += f"; that of labels drawn at random is at most {of_draws} on average"
    else:
        found += f", that of such labels at most {bound}"
    return f"proved: {optimum_in_words(c)} ({found})"


def objective_in_words(objective: str, positive: str | None = None) -> str:
    """Return what labels were chosen for.

    Examples
    --------
    >>> objective_in_words("accuracy"), objective_in_words("f1", "yes")
    ('believed accuracy', 'believed f1 of yes')
    """
    return f"believed {objective}" + ("" if positive is None else f" of {positive}")


def off_rule_in_words(result: FairResult | ConstrainedResult) -> str:
    """Return how many labels are not among those that the rule gives, and why; empty if all are.

    The rule is that of the best randomized labels. Labels of whole tasks follow it but for the few that make them keep
    their limits; with ``strict``, which keeps these to the letter, there may be more.
    """
    if result.certificate.decision == "randomized":
        return ""
    if isinstance(result, ConstrainedResult):
        labels, n_classes, limit = result.solved.outcomes, result.problem.tasks.n_classes, "every limit"
    else:
        labels, n_classes, limit = result.solved.labels, result.problem.n_classes, "epsilon"
    why = "a task cannot be split between two labels, so some labels depart from the rule to keep "
    why += f"{limit} to the letter (strict)" if result.strict else limit
    if labels.size * n_classes > _MOST_CELLS:
        return f"some labels of these tasks may not be what the rule gives: {why}" if result.strict else ""
    chance = result.solved.probabilities[np.arange(labels.size), labels]
    off = int((chance <= 0).sum())
    if not off:
        return ""
    what = "label of these tasks is" if off == 1 else "labels of these tasks are"
    return f"{off:,} {what} not what the rule gives: {why}"


def not_ruled_out(certificate: Certificate | ConstrainedCertificate, *, strict: bool) -> list[str]:
    """Return by how much other labels may be better, and what searches for them, where the proof leaves some room."""
    c = certificate
    if c.optimal or strict or c.decision == "randomized" or c.optimality_gap <= _WORTH_A_NOTE:
        return []
    better = f"labels that are better by up to {c.optimality_gap:.2g} are not ruled out"
    return [f"{better}; strict=True searches all choices of whole tasks for the best"]


def excess_in_words(certificate: Certificate) -> str | None:
    """Return why the gap is above epsilon; None if it is not."""
    c = certificate
    if within(c.gap, c.epsilon):
        return None
    over = f"the gap is {c.gap - c.epsilon:.2g} above epsilon: {c.why}"
    return over if c.decision == "randomized" else f"{over}; strict=True keeps epsilon to the letter, at any cost"


def in_points(difference: float, digits: int = 2) -> str:
    """Return a difference of two shares as text, in percentage points; what rounds to zero has no sign.

    Examples
    --------
    >>> in_points(0.0691), in_points(-1e-9), in_points(-0.001, 1)
    ('6.91 points', '0.00 points', '-0.1 points')
    """
    number = f"{100 * difference:.{digits}f}"
    return f"{number if float(number) else number.removeprefix('-')} points"


def estimate_texts(found: AccuracyEstimate, unit: str = "share") -> tuple[str, str, str]:
    """Return an estimate and the ends of its interval as texts.

    Parameters
    ----------
    unit : {"share", "points", "gap"}
        What it is: a share, a difference of two shares, or a gap between groups.

    Examples
    --------
    >>> estimate_texts(AccuracyEstimate(0.02, -0.0001, 0.041, 0.95, 50), "points")
    ('2.0 points', '0.0', '4.1')
    >>> estimate_texts(AccuracyEstimate(0.81, 0.73, 0.87, 0.95, 50))
    ('81.0%', '73.0%', '87.0%')
    """
    texts = {"share": "{:.1%}".format, "points": lambda value: in_points(value, 1), "gap": "{:.3f}".format}
    low, high = (texts[unit](value).removesuffix(" points") for value in (found.low, found.high))
    return texts[unit](found.estimate), low, high


def estimated_gap_in_words(gap: AccuracyEstimate, unit: str = "gap") -> str:
    """Return the gap of true labels as estimated; where it may be 0, only its interval: an estimate would be too high.

    Examples
    --------
    >>> estimated_gap_in_words(AccuracyEstimate(0.2, 0.0, 0.37, 0.95, 100))
    'from 0 to 0.370'
    >>> estimated_gap_in_words(AccuracyEstimate(0.2, 0.05, 0.37, 0.95, 100), "points")
    '20.0 points (5.0 to 37.0)'
    """
    value, low, high = estimate_texts(gap, unit)
    if gap.low > 0:
        return f"{value} ({low} to {high})"
    return f"from 0 to {high}{' points' if unit == 'points' else ''}"


def _verb(before: float, after: float) -> str:
    return "fell" if after < before else "rose"
