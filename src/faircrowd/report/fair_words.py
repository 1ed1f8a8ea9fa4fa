"""What fair labels reached, in words that follow the numbers: what the page and the terminal both say."""

from faircrowd.aggregate.calibration.accuracy_estimate import AccuracyEstimate
from faircrowd.fair.certificate import Certificate
from faircrowd.fair.gap import within
from faircrowd.fair.tolerances import EQUAL_VALUES

__all__ = ["cost_in_words", "excess_in_words", "gap_in_words", "gap_texts", "optimum_in_words", "percent"]

_FEWEST_DIGITS, _MOST_DIGITS = 3, 9


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
    said = f"at {percent(cost)} of believed accuracy"
    if percent(cost).startswith("-"):
        said = f"with believed accuracy {percent(-cost)} higher"
    if c.objective != "accuracy":
        said += f" (believed {c.objective} {_verb(c.value_before, c.value)} from {c.value_before:.4f} to {c.value:.4f})"
    if estimated is not None:
        said = f"at an estimated price of {estimated.estimate:.1%} of accuracy"
        said += f" ({estimated.low:.1%} to {estimated.high:.1%})"
    if real_price is None:
        return said
    rose = f"; real accuracy rose by {-real_price:.2%}"
    return said + (f" and {real_price:.2%} of real accuracy" if real_price >= 0 else rose)


def optimum_in_words(certificate: Certificate) -> str:
    """Return what is proved about the labels: no more than holds for draws, and for labels above epsilon."""
    c = certificate
    if c.decision == "randomized":
        kind = "no deterministic or randomized labels within epsilon are better under this posterior"
        return kind if c.solver == "nothing to change" else f"these are one draw: on average over draws, {kind}"
    if c.optimal:
        limit = "within epsilon" if within(c.gap_allowed, c.epsilon) else f"with a gap of at most {c.gap_allowed:.4g}"
        return f"no deterministic labels {limit} are better under this posterior"
    if not within(c.gap, c.epsilon):
        return f"labels within epsilon reach at most {c.bound:.6f} under this posterior"
    if c.optimality_gap <= EQUAL_VALUES:
        return "no labels within epsilon are better under this posterior"
    return f"no labels within epsilon are better by more than {c.optimality_gap:.2g} under this posterior"


def excess_in_words(certificate: Certificate) -> str | None:
    """Return why the gap is above epsilon; None if it is not."""
    c = certificate
    if within(c.gap, c.epsilon):
        return None
    over = f"the gap is {c.gap - c.epsilon:.2g} above epsilon: {c.why}"
    return over if c.decision == "randomized" else f"{over}; strict=True keeps epsilon to the letter, at any cost"


def percent(share: float) -> str:
    """Return a share as text with two digits; what rounds to zero has no sign.

    Examples
    --------
    >>> percent(0.0691), percent(-1e-9), percent(-0.001)
    ('6.91%', '0.00%', '-0.10%')
    """
    text = f"{share:.2%}"
    return "0.00%" if text == "-0.00%" else text


def _verb(before: float, after: float) -> str:
    return "fell" if after < before else "rose"
