"""Gaps within strata: whether groups are treated alike among similar tasks."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from faircrowd._display import Displayed
from faircrowd._types import ColumnsLike, ValuesLike
from faircrowd.audit.metrics.by_group import column_values, style_of
from faircrowd.audit.metrics.sample import pair_codes, read_features, read_sample, tally
from faircrowd.fair.gap import gap_of

__all__ = ["ConditionalGaps", "conditional_gaps"]


@dataclass(frozen=True, eq=False, repr=False)
class ConditionalGaps(Displayed):
    """Gaps between groups within strata, and the gap over all rows.

    Attributes
    ----------
    gap : float
        The demographic-parity gap over all rows.
    mean : float
        Mean of the gaps within strata, weighted by rows. NaN if no stratum has two groups.
    largest : float
        The largest of them.
    compared : int
        Number of rows in strata with two groups or more, which the gaps within strata are about.
    silent : int
        Number of rows in strata with one group only, where groups cannot be compared.
    strata : frame
        One row per stratum: ``stratum``, ``count``, ``groups`` (how many it has), ``smallest`` (rows of its smallest
        group: a gap between few rows is mostly chance), ``gap`` (NaN if it has one group only), and ``note``:
        "compared", or "says nothing" for a stratum with one group.
    """

    _in_short = ("gap", "mean", "largest", "compared", "silent")

    gap: float
    mean: float
    largest: float
    compared: int
    silent: int
    strata: Any


def conditional_gaps(
    y_pred: ValuesLike, *, sensitive_features: ColumnsLike, control_features: ColumnsLike
) -> ConditionalGaps:
    """Return the gap between groups within each stratum of the control features.

    Demographic parity is about all rows together. Labels that treat groups alike in every stratum can have a large
    gap if groups are distributed unevenly over strata, and labels without a gap can treat groups differently in
    every stratum. In a stratum without rows of some group, the other groups are compared.

    Parameters
    ----------
    y_pred : array-like
        Labels of any type.
    sensitive_features, control_features : array-like, Series, frame or dict of columns
        The group and the stratum of each row, in the order of ``y_pred``. Several columns are intersected.

    Examples
    --------
    >>> found = conditional_gaps(
    ...     [1, 1, 0, 1, 0, 0],
    ...     sensitive_features=["a", "a", "a", "b", "b", "b"],
    ...     control_features=["easy", "easy", "hard", "easy", "hard", "hard"],
    ... )
    >>> round(found.gap, 3), found.mean
    (0.333, 0.0)
    >>> found.strata
      stratum  count  groups  smallest  gap      note
    0    easy      3       2         1  0.0  compared
    1    hard      3       2         1  0.0  compared
    """
    sample = read_sample(y_pred, sensitive_features)
    stratum, strata = read_features(control_features, "control_features", sample.label.size, y_pred)
    n_groups, n_classes = len(sample.groups), len(sample.classes)
    overall = tally((sample.group, n_groups), (sample.label, n_classes))

    # Only the pairs of stratum and group that occur are counted; they come sorted, so each stratum is a run.
    cell, home, _ = pair_codes(stratum, sample.group, n_groups)
    mass = tally((cell, home.size), (sample.label, n_classes))
    size = mass.sum(axis=1)
    rates = mass / size[:, None]
    first = np.flatnonzero(np.diff(home, prepend=-1))
    ranges = np.maximum.reduceat(rates, first) - np.minimum.reduceat(rates, first)
    groups = np.bincount(home)
    count = np.bincount(stratum)
    compared = groups > 1
    gap = np.where(compared, ranges.max(axis=1), np.nan)
    columns = {
        "stratum": column_values(strata),
        "count": count,
        "groups": groups,
        "smallest": np.minimum.reduceat(size, first).astype(np.int64),
        "gap": gap,
        "note": np.where(compared, "compared", "says nothing").tolist(),
    }
    return ConditionalGaps(
        gap=gap_of(overall / overall.sum(axis=1, keepdims=True)),
        mean=float(np.average(gap[compared], weights=count[compared])) if compared.any() else float("nan"),
        largest=float(gap[compared].max()) if compared.any() else float("nan"),
        compared=int(count[compared].sum()),
        silent=int(count[~compared].sum()),
        strata=style_of(y_pred, sensitive_features, control_features).columns(columns),
    )
