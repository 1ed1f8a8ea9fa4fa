"""Chunks and parts of rows, without Java: what is cut, split and joined is what came, however it is cut."""

from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any
from unittest.mock import patch

import numpy as np
import pyarrow as pa
import pytest

from faircrowd.engines.spark.chunks import cut, ids_of, join_parts, place_keys, split, typed, values_of
from faircrowd.engines.spark.codes import coding_of
from faircrowd.errors import FaircrowdError

SETS = {"worker": ["worker"], "label": ["label"]}
NEEDED = ("task", "worker", "label")
RNG = np.random.default_rng(1)
TASK, WORKER, LABEL = (RNG.integers(n, size=300) for n in (40, 7, 3))
ROWS = pa.table({"task": [f"t{i}" for i in TASK], "worker": WORKER, "label": [f"l{i}" for i in LABEL]})


def chunks(table: Any, rows: int = 70, sets: Any = SETS, needed: Any = NEEDED) -> list[Any]:
    with patch("faircrowd.engines.spark.chunks._ROWS", rows):
        return list(cut(table.to_batches(max_chunksize=10), sets=sets, needed=needed))


def lookups_of(cuts: list[Any], sets: Any = SETS) -> dict[str, Any]:
    found = pa.Table.from_batches(list(values_of(cuts)))
    return {
        role: coding_of(found.filter(pa.compute.equal(found.column("set"), number)).group_by(names).aggregate(
            [("count", "sum")]
        ).rename_columns([*names, "count"]), names).lookup
        for number, (role, names) in enumerate(sets.items())
    }  # fmt: skip


def joined(table: Any, places: int, rows: int = 70) -> list[tuple[Any, Any, Any]]:
    """Return the task, worker and label of each row that comes back, sorted; each task is in one place."""
    cuts = chunks(table, rows)
    lookups = lookups_of(cuts)
    keys = place_keys(places)
    made = pa.Table.from_batches(list(split(cuts, sets=SETS, lookups=lookups, keys=keys)))
    assert set(made.column("place").to_pylist()) <= set(keys.tolist())
    votes, seen = [], []
    for key in keys.tolist():
        part = made.filter(pa.compute.equal(made.column("place"), key))
        found = join_parts(part.to_batches(), {role: lookup.size for role, lookup in lookups.items()})
        if found is None:
            continue
        ids = typed(found.ids, found.id_type).to_pylist()
        seen += ids
        names = {role: lookup.values.column(0).to_pylist() for role, lookup in lookups.items()}
        name = {role: {code: names[role][i] for i, code in enumerate(lookups[role].codes)} for role in names}
        votes += [
            (ids[t], name["worker"][w], name["label"][x])
            for t, w, x in zip(found.task.tolist(), found.worker.tolist(), found.label.tolist(), strict=True)
        ]
    assert len(set(seen)) == len(seen)
    return sorted(votes)


def plain(table: Any) -> list[tuple[Any, ...]]:
    return sorted(zip(*(table.column(name).to_pylist() for name in NEEDED), strict=True))


@pytest.mark.parametrize(("places", "rows"), [(1, 1000), (1, 7), (3, 70), (50, 20)])
def test_every_vote_comes_back_once(places: int, rows: int) -> None:
    assert joined(ROWS, places, rows) == plain(ROWS)


@pytest.mark.parametrize(
    "values",
    [
        [5, 2**62, -7],
        [True, False, True],
        ["é\n", "", "🙂"],
        [b"a", b"\x00", b""],
        [1.5, -2.0, float("inf")],
        [Decimal("1.50"), Decimal("2.25"), Decimal("-3.10")],
        [date(2020, 1, 2), date(1969, 7, 20), date(2030, 5, 5)],
        [datetime(2020, 1, 2, 3, 4, 5, 6, UTC), datetime(1950, 1, 1, tzinfo=UTC), datetime(2000, 1, 1, tzinfo=UTC)],
    ],
    ids=lambda values: type(values[0]).__name__,
)
def test_ids_and_labels_of_every_type_come_back_as_they_were(values: list[Any]) -> None:
    column = pa.array(values)
    codes = dict(zip(NEEDED, (TASK, WORKER, LABEL), strict=True))
    table = pa.table({name: column.take(pa.array(rows % 3)) for name, rows in codes.items()})
    assert joined(table, 2) == plain(table)


def test_rows_that_lack_something_are_counted_by_what_is_missing_first() -> None:
    table = pa.table({
        "task": pa.array([1.0, float("nan"), 3.0, None, 5.0, 6.0]),
        "worker": ["a", "b", None, None, "e", "f"],
        "label": [0, 1, 0, 1, None, 0],
    })  # fmt: skip
    for rows in (2, 100):
        cuts = chunks(table, rows)
        assert sum(np.array(cut.column("counts").to_pylist()[0]) for cut in cuts).tolist() == [6, 2, 1, 1]
        found = pa.Table.from_batches(list(values_of(cuts))).to_pylist()
        assert sorted((row["worker"], row["count"]) for row in found if row["set"] == 0) == [("a", 1), ("f", 1)]
        assert sum(row["count"] for row in found if row["set"] == 1) == 2
        # The sets are numbered 0 and 1; then all rows, those without a task, a worker, a label.
        assert [sum(row["count"] for row in found if row["set"] == number) for number in (2, 3, 4, 5)] == [6, 2, 1, 1]
        assert pa.Table.from_batches(list(ids_of(cuts))).column("task").to_pylist() == [1.0, 6.0]
        assert joined(table, 2, rows) == [(1.0, "a", 0), (6.0, "f", 0)]


def test_rows_of_large_values_are_cut_sooner() -> None:
    table = pa.table({"task": ["x" * 1000] * 40, "worker": range(40), "label": [0] * 40})
    with patch("faircrowd.engines.spark.chunks._BYTES", 15_000):
        found = list(cut(table.to_batches(max_chunksize=10), sets=SETS, needed=NEEDED))
    assert [chunk.column("counts")[0].as_py()[0] for chunk in found] == [20, 20]


def test_facts_meet_the_votes_of_their_tasks() -> None:
    sets = {"group": ["race", "sex"], "truth": ["truth"]}
    facts = pa.table({
        "task": ["a", "a", "b", "c", "d", "e", "e"],
        "race": ["x", "x", "y", None, "x", "x", "x"],
        "sex": [1, 1, 2, 2, 1, 1, 2],
        "truth": ["no", None, "yes", None, "no", "no", "yes"],
    })  # fmt: skip
    votes = pa.table({"task": list("eabcb"), "worker": [1, 2, 3, 1, 1], "label": ["yes", "no", "no", "yes", "yes"]})
    cuts, known = chunks(votes, 2), chunks(facts, 3, sets, ())
    lookups = lookups_of(cuts) | lookups_of(known, sets)
    rows = (tuple(row.values()) for row in lookups["group"].values.to_pylist())
    groups = dict(zip(rows, lookups["group"].codes, strict=True))
    sizes = {"worker": 3, "label": 2, "group": 3}
    parts = [
        *split(cuts, sets=SETS, lookups=lookups, keys=place_keys(1)),
        *split(known, sets=sets, lookups=lookups, keys=place_keys(1)),
    ]
    for order in (parts, parts[::-1]):
        found = join_parts(order, sizes)
        assert found is not None
        assert found.ids.to_list() == ["a", "b", "c", "e"]  # d has no votes
        assert found.group.tolist() == [groups["x", 1], groups["y", 2], -1, -2]
        assert found.truth.tolist() == [0, 1, -1, -2]
        assert np.bincount(found.task).tolist() == [1, 2, 1, 1]
    assert join_parts(parts[len(list(cuts)) :], sizes) is None  # facts alone
    assert join_parts([], sizes) is None


def test_a_source_that_changes_is_noticed() -> None:
    lookups = lookups_of(chunks(ROWS.slice(0, 5)))
    with pytest.raises(FaircrowdError, match="does the source change"):
        list(split(chunks(ROWS), sets=SETS, lookups=lookups, keys=place_keys(2)))


def test_tasks_are_spread_evenly() -> None:
    table = pa.table({"task": np.arange(20_000), "worker": np.zeros(20_000, int), "label": np.zeros(20_000, int)})
    cuts = chunks(table, 100_000)
    made = pa.Table.from_batches(list(split(cuts, sets=SETS, lookups=lookups_of(cuts), keys=place_keys(8))))
    sizes = [len(tasks) // 4 for tasks in made.column("tasks").to_pylist()]
    assert sum(sizes) == 20_000
    assert max(sizes) - min(sizes) < 8 * np.sqrt(20_000 / 8)
