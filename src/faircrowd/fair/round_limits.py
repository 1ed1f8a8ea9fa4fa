"""Limits to try where none are given: round numbers that are evenly spaced."""

import math

__all__ = ["MAX_STOPS", "round_limits"]

MAX_STOPS = 60
_STEPS = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05)


def round_limits(widest: float, chosen: float | None, most: int = MAX_STOPS) -> list[float]:
    """Return round numbers from 0 up to a number or just above it, and the one that was chosen.

    Examples
    --------
    >>> round_limits(0.35, 0.12, most=9)
    [0.0, 0.05, 0.1, 0.12, 0.15, 0.2, 0.25, 0.3, 0.35]
    """
    step = next((step for step in _STEPS if widest / step <= most), math.ceil(1000 * widest / most) / 1000)
    found = {min(round(i * step, 6), 1.0) for i in range(math.ceil(widest / step - 1e-9) + 1)}
    return sorted(found if chosen is None else {*found, chosen})
