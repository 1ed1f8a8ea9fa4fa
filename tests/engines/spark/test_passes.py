"""What executors run, called here: kernels over packed blocks give the bits that memory gives. No Java is needed."""

import gc
import weakref
from collections.abc import Callable, Iterator
from typing import Any
from unittest.mock import patch

import numpy as np
import pyarrow as pa
import pytest

from crowds import simulated
from engines.spark.spark_kernels import even_tasks, number_and_group, times
from faircrowd import read_votes
from faircrowd.aggregate.kernels.class_count import classes_token
from faircrowd.aggregate.kernels.vote_counts import count_majority_agreement
from faircrowd.engines.local import LocalEngine
from faircrowd.engines.spark.blocks import Named, View, pack, pieces
from faircrowd.engines.spark.chunks import SEVERAL, cut, from_stream, ids_of, place_keys, split, values_of
from faircrowd.engines.spark.codes import Lookup
from faircrowd.engines.spark.garbage import spare_loaded_objects
from faircrowd.engines.spark.packing import _summarise
from faircrowd.engines.spark.passes import COUNTS, add_sums, gather_rows, join_sums, make_rows, sum_rows
from faircrowd.errors import InputError

CROWD = simulated(n_tasks=60, n_workers=7, seed=5)
TABLE = read_votes(CROWD.votes, sensitive_features=CROWD.groups)
OF_VOTE = np.repeat(np.arange(TABLE.n_tasks), TABLE.votes_per_task)
SIZES = {"worker": TABLE.n_workers, "label": TABLE.n_classes, "group": 2}
VIEW = View(by_group=True, with_gold=True, with_ids=True, votes=40)


def rows(seed: int = 0) -> Any:
    """Votes as they come, in any order; their values are the codes that they get."""
    order = np.random.default_rng(seed).permutation(OF_VOTE.size)
    assert TABLE.group is not None
    codes = {"worker": TABLE.worker, "label": TABLE.label, "group": TABLE.group[OF_VOTE]}
    ids = pa.array([f"t{task}" for task in OF_VOTE[order]])
    return pa.table({"task": ids, **{name: pa.array(values[order]) for name, values in codes.items()}})


def parts(table: Any) -> Iterator[Any]:
    """Cut votes into chunks of 50 rows, and these into parts."""
    sets = {role: [role] for role in ("worker", "label", "group", "truth") if role in table.column_names}
    with patch("faircrowd.engines.spark.chunks._ROWS", 50):
        chunks = list(cut(table.to_batches(max_chunksize=10), sets=sets, needed=("task", "worker", "label")))
    lookups = {}
    for role in sets:
        codes = np.arange({**SIZES, "truth": SIZES["label"]}[role], dtype=np.int32)
        values = pa.array(codes, table.schema.field(role).type)
        lookups[role] = Lookup(pa.table({role: values}), codes, codes.size)
    return split(chunks, sets=sets, lookups=lookups, keys=place_keys(1))


def packed(table: Any) -> list[Any]:
    with patch("faircrowd.engines.spark.blocks._VOTES_PER_ROW", 30):
        return list(pack(parts(table), sizes=SIZES))


def parted() -> list[list[Any]]:
    """Blocks of two partitions."""
    table = rows()
    first = pa.array([int(task[1:]) < 25 for task in table.column("task").to_pylist()])
    return [packed(table.filter(first)), packed(table.filter(pa.compute.invert(first)))]


def test_sums_of_partitions_are_those_of_memory() -> None:
    asked = classes_token(TABLE.n_classes), np.ones(TABLE.n_workers), False
    wanted = LocalEngine(TABLE).reduce(count_majority_agreement, *asked)
    kernel = Named.of(count_majority_agreement)
    view = VIEW._replace(with_ids=False, with_gold=False, by_group=False)
    found = [
        batch
        for blocks in parted()
        for batch in sum_rows(blocks, kernel=kernel, parameters=asked, view=view, n_groups=2)
    ]
    found = list(join_sums(found, sizes=[2, *(part.size for part in wanted)]))
    tasks, total = np.zeros(2, dtype=np.int64), [np.zeros_like(part) for part in wanted]
    for batch in found:
        add_sums(batch, tasks, total)
    np.testing.assert_array_equal(tasks, np.bincount(TABLE.group))
    for here, there in zip(total, wanted, strict=True):
        np.testing.assert_array_equal(here, there)


def test_sums_of_few_cells_travel_as_cells() -> None:
    sparse = np.zeros(9, dtype=np.int64)
    sparse[[2, 7]] = 5, -1
    kernel = Named(__name__, "_of_one_cell")
    view = VIEW._replace(with_ids=False)
    (batch,) = sum_rows(parted()[0], kernel=kernel, parameters=(9,), view=view, n_groups=2)
    cells = np.frombuffer(batch.column("cells")[1].as_py(), np.int64)
    assert cells.tolist() == [4]
    total = [sparse.copy()]
    add_sums(batch, np.zeros(2, dtype=np.int64), total)
    sparse[4] += 25
    assert total[0].tolist() == sparse.tolist()


def _of_one_cell(block: Any, size: int) -> tuple[Any, ...]:
    made = np.zeros(size, dtype=np.int64)
    made[4] = block.offsets.size - 1
    return (made,)


def test_arrays_are_gathered_block_by_block_up_to_a_size() -> None:
    asked: dict[str, Any] = {"kernel": Named.of(even_tasks), "parameters": (), "view": VIEW, "n_groups": 2}
    found = list(gather_rows(parted()[1], max_bytes=10_000, **asked))
    assert len(found) > 1
    parts = [dict(zip(*(batch.column(name).to_pylist() for name in ("array", "part")), strict=True)) for batch in found]
    numbers = np.concatenate([np.frombuffer(part[0], np.int64) for part in parts])
    votes = np.concatenate([np.frombuffer(part[1], np.int64) for part in parts])
    assert sorted(numbers) == list(range(26, 60, 2))
    np.testing.assert_array_equal(votes, TABLE.votes_per_task[numbers])
    assert sum(np.frombuffer(part[COUNTS], np.int64).sum() for part in parts) == 35
    with pytest.raises(InputError, match="even_tasks returns more than 0 MB to the driver"):
        list(gather_rows(parted()[1], max_bytes=100, **asked))


@pytest.mark.parametrize("names", [("number", "of"), ("both",)])
def test_a_row_a_task(names: tuple[str, ...]) -> None:
    steps = (Named.of(number_and_group), ()), (Named.of(times), (2,))
    made = pa.Table.from_batches(make_rows(parted()[0], steps=steps, view=VIEW, ids=True, names=names))
    assert TABLE.group is not None
    for row in made.to_pylist():
        number = int(row["task"][1:])
        assert row["group"] == TABLE.group[number]
        assert [row[name] for name in names] == (
            [2 * number, 2 * row["group"]] if len(names) == 2 else [[2 * number, 2 * row["group"]]]
        )
    assert made.num_rows == 25


def test_one_number_a_task() -> None:
    made = pa.Table.from_batches(
        make_rows(parted()[0], steps=((Named(__name__, "_votes"), ()),), view=VIEW, ids=False, names=("votes",))
    )
    numbers = [int(task[1:]) for task in made.column("task").to_pylist()]
    np.testing.assert_array_equal(made.column("votes"), TABLE.votes_per_task[numbers])


def _votes(block: Any) -> Any:
    return np.diff(block.offsets)


def test_new_codes_stand_in_for_those_packed() -> None:
    last = TABLE.n_classes - 1, 1, TABLE.n_workers - 1
    label, group, worker = (np.arange(code, -1, -1, dtype=np.int32) for code in last)
    view = VIEW._replace(label=label, group=group, worker=worker)
    plain, other = (list(pieces(packed(rows()), each)) for each in (VIEW, view))
    for a, b in zip(plain, other, strict=True):
        np.testing.assert_array_equal(b.block.label, last[0] - a.block.label)
        np.testing.assert_array_equal(b.block.worker, last[2] - a.block.worker)
        np.testing.assert_array_equal(b.group, last[1] - a.group)
        assert (b.block.gold == -1).all()


def test_facts_that_lack_or_clash_are_counted_and_named() -> None:
    table = pa.table({
        "task": ["a", "a", "b", "b", "c", "c", "d"],
        "worker": [0, 1, 0, 0, 1, 2, 2],
        "label": [0, 1, 1, 0, 1, 1, 0],
        "group": pa.array([0, 1, 1, 1, None, None, 0], pa.int32()),
        "truth": pa.array([1, None, 0, 1, None, None, None], pa.int32()),
    })  # fmt: skip
    blocks = list(pack(parts(table), sizes=SIZES))
    (piece,) = pieces(blocks, VIEW)
    assert piece.ids is not None
    assert piece.ids.to_list() == ["a", "b", "c", "d"]
    assert piece.group.tolist() == [SEVERAL, 1, -1, 0]
    assert piece.block.gold.tolist() == [1, SEVERAL, -1, -1]
    assert piece.block.label.tolist() == [0, 1, 0, 1, 1, 1, 0]  # the votes of b's one worker are in order
    (row,) = (batch.to_pylist()[0] for batch in _summarise(blocks, n_groups=2))
    # Tasks a group, several groups, no group, several truths, repeated votes, the most votes of a task.
    assert np.frombuffer(row["counts"], np.int64).tolist() == [1, 1, 1, 1, 1, 1, 2]
    assert from_stream(row["no_group"]).to_pylist() == ["a"]
    assert from_stream(row["no_truth"]).to_pylist() == ["b"]


def test_nothing_is_packed_of_an_empty_partition_and_a_task_is_never_cut() -> None:
    assert packed(rows().slice(0, 0)) == []
    table = pa.table({
        "task": ["a"] * 100 + ["b"],
        "worker": [*[0, 1, 2, 3, 4] * 20, 0],
        "label": [*[0, 1] * 50, 1],
    })  # fmt: skip
    found = [np.diff(piece.block.offsets).tolist() for piece in pieces(packed(table), VIEW)]
    assert found == [[100], [1]]


PASSES: dict[str, Callable[[], Iterator[Any]]] = {
    "cut": lambda: cut(rows().to_batches(), sets={}, needed=("task",)),
    "values": lambda: values_of(list(cut(rows().to_batches(), sets={"group": ["group"]}, needed=("task",)))),
    "ids": lambda: ids_of(list(cut(rows().to_batches(), sets={}, needed=("task",)))),
    "split": lambda: parts(rows()),
    "pack": lambda: pack(list(parts(rows())), sizes=SIZES),
    "summarise": lambda: _summarise(parted()[0], n_groups=2),
    "sum": lambda: sum_rows(
        parted()[0],
        kernel=Named(__name__, "_of_one_cell"),
        parameters=(9,),
        view=VIEW._replace(with_ids=False),
        n_groups=2,
    ),
    "join": lambda: join_sums([], sizes=[2, 9]),
    "gather": lambda: gather_rows(
        parted()[0], kernel=Named.of(even_tasks), parameters=(), view=VIEW, n_groups=2, max_bytes=10_000
    ),
    "make": lambda: make_rows(
        parted()[0], steps=((Named(__name__, "_votes"), ()),), view=VIEW, ids=False, names=("votes",)
    ),
}


@pytest.mark.parametrize("name", PASSES)
def test_after_each_pass_what_is_loaded_is_left_to_itself(name: str) -> None:
    with patch("gc.freeze") as freeze:
        made = PASSES[name]()
        freeze.reset_mock()  # other passes made its blocks
        with patch("faircrowd.engines.spark.garbage._MANY_OBJECTS", 0):
            next(made)
            assert not freeze.called
            list(made)
    assert freeze.call_count == 1


def test_what_stays_loaded_is_not_visited_again_and_garbage_goes() -> None:
    class Node:
        me: Any = None

    def run() -> Iterator[int]:
        node = Node()
        node.me = node  # a cycle, which only a collection finds
        seen.append(weakref.ref(node))
        yield 1

    seen: list[Any] = []
    loaded: list[list[int]] = [[] for _ in range(30_000)]
    gc.disable()
    try:
        assert list(spare_loaded_objects(run)()) == [1]
        assert seen[0]() is None
        assert len(gc.get_objects()) < 20_000
        frozen = gc.get_freeze_count()
        assert frozen > len(loaded)
        list(spare_loaded_objects(run)())  # little is new: nothing to do
        assert gc.get_freeze_count() <= frozen
        assert seen[1]() is not None
        loaded.clear()
        assert gc.get_freeze_count() <= frozen - 30_000  # freed as always
    finally:
        gc.unfreeze()
        gc.enable()
