"""Tables of votes for hypothesis: ids and labels of any type, missing values, repeated pairs."""

import os
from collections.abc import Sequence
from typing import Any

import pandas as pd
from hypothesis import strategies as st

from faircrowd.votes.lookalikes import looks

__all__ = ["KINDS", "examples", "pools", "shuffles", "vote_frames"]


def examples(number: int) -> int:
    """Return how many examples to draw: all where FAIRCROWD_SLOW is set, else a third, for a run of some minutes."""
    return number if os.environ.get("FAIRCROWD_SLOW") else max(number // 3, 1)


_PLAIN = st.text("abcdefgh0123456789_", min_size=1, max_size=4).map(lambda text: f"x{text}")
# A fixed alphabet: hypothesis builds its table of all of Unicode on first use, which takes seconds.
_UNICODE = st.text("aZ7é中🙂ß\u0301\u200dñИ א,;\"'=-+@\n|", min_size=1, max_size=5).filter(
    lambda text: text.strip() != ""
)
_INT = st.integers(-(2**63), 2**63 - 1)
_BY_KIND: dict[str, st.SearchStrategy[Any]] = {
    "str": _PLAIN,
    "unicode": _UNICODE,
    "int": st.integers(-50, 50) | _INT,
    "bool": st.booleans(),
    "float": st.floats(allow_nan=False, allow_infinity=False, width=32).map(lambda x: x + 0.0),
    "mixed": st.one_of(_PLAIN, st.integers(-9, 9), st.booleans(), st.floats(0.25, 0.75)),
}
KINDS = tuple(_BY_KIND)
"""The kinds of values a column may be drawn from."""


@st.composite
def pools(draw: st.DrawFn, kind: str, size: int) -> list[Any]:
    """Draw up to ``size`` values (at least one) of a kind, different as values, as texts and to the eye."""
    most = min(size, 2) if kind == "bool" else size
    # 1, True and 1.0 are one key of a dict and of a pandas index: a pool holds one of them.
    return draw(st.lists(_BY_KIND[kind], min_size=most, max_size=most, unique_by=(str, lambda value: value, looks)))


@st.composite
def vote_frames(
    draw: st.DrawFn,
    *,
    n_tasks: int = 6,
    n_workers: int = 5,
    n_classes: int = 3,
    min_rows: int = 1,
    max_rows: int = 30,
    ids: Sequence[str] = ("str", "int", "unicode", "mixed"),
    labels: Sequence[str] = ("str", "int", "bool", "unicode", "mixed"),
    allow_missing: bool = False,
    allow_repeats: bool = False,
) -> pd.DataFrame:
    """Draw votes: a pandas frame with columns task, worker, label.

    Parameters
    ----------
    n_tasks, n_workers, n_classes
        The most different values a column has.
    min_rows, max_rows
        How many rows. Without repeats there are at most ``n_tasks * n_workers``.
    ids, labels
        Kinds (of ``KINDS``) that the ids and the labels are drawn from, one kind a column.
    allow_missing
        Whether cells may be missing: None, NaN or ``pd.NA`` among objects.
    allow_repeats
        Whether a worker may vote on a task more than once.
    """
    task, worker, label = (
        draw(st.sampled_from(kinds).flatmap(lambda kind, size=size: pools(kind, size)))
        for kinds, size in ((ids, n_tasks), (ids, n_workers), (labels, n_classes))
    )
    cells = st.tuples(*(st.integers(0, len(pool) - 1) for pool in (task, worker, label)))
    rows = draw(
        st.lists(
            cells,
            min_size=min(min_rows, len(task) * len(worker)),
            max_size=max_rows,
            unique_by=None if allow_repeats else (lambda row: row[:2]),
        )
    )
    values = {
        name: [pool[row[place]] for row in rows]
        for place, (name, pool) in enumerate((("task", task), ("worker", worker), ("label", label)))
    }
    if allow_missing and rows:
        absent = st.sampled_from([None, float("nan"), pd.NA])
        for place, name, cell in draw(
            st.lists(st.tuples(st.integers(0, len(rows) - 1), st.sampled_from(list(values)), absent), max_size=4)
        ):
            values[name][place] = cell
    return pd.DataFrame({name: _column(column) for name, column in values.items()})


def _column(values: list[Any]) -> pd.Series:
    kinds = {type(value) for value in values}
    return pd.Series(values, dtype=kinds.pop() if len(kinds) == 1 and kinds <= {int, bool, float} else object)


def shuffles(frame: pd.DataFrame) -> st.SearchStrategy[pd.DataFrame]:
    """Draw the same rows in another order."""
    return st.permutations(range(len(frame))).map(lambda order: frame.iloc[order].reset_index(drop=True))
