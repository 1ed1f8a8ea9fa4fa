"""The distribution of the number of ones by trying all outcomes, in floating point and exact."""

import itertools
import math
from fractions import Fraction

import numpy as np

__all__ = ["count_probabilities", "exact_count_probabilities"]


def count_probabilities(rates: np.ndarray) -> np.ndarray:
    """The probability of each number of ones, by all 2^R outcomes."""
    found = np.zeros(rates.size + 1)
    for outcome in itertools.product((0, 1), repeat=rates.size):
        found[sum(outcome)] += math.prod(p if y else 1 - p for p, y in zip(rates, outcome, strict=True))
    return found


def exact_count_probabilities(rates: list[float]) -> list[Fraction]:
    """The same as fractions."""
    found = [Fraction(0)] * (len(rates) + 1)
    for outcome in itertools.product((0, 1), repeat=len(rates)):
        chance = (Fraction(p) if y else 1 - Fraction(p) for p, y in zip(rates, outcome, strict=True))
        found[sum(outcome)] += math.prod(chance)
    return found
