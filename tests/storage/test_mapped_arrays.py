"""Mapped arrays: their pages go back to the system, their values stay."""

import sys
from pathlib import Path

import numpy as np
import pytest

from faircrowd.storage.mapped_arrays import release
from faircrowd.votes.table import VoteTable
from faircrowd.votes.vocabulary import Vocabulary

linux = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="memory is counted by /proc")


def mapped_bytes() -> int:
    lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("RssFile"))


@linux
def test_pages_go_and_values_stay(tmp_path: Path) -> None:
    values = np.arange(8 << 20, dtype=np.int32)
    values.tofile(tmp_path / "values")
    mapped = np.asarray(np.memmap(tmp_path / "values", dtype=np.int32, mode="r"))
    total, before = int(mapped.sum(dtype=np.int64)), mapped_bytes()
    release(mapped[5_000:-5_000])  # from inside a page to inside another
    assert mapped_bytes() < before - values.nbytes // 2
    assert int(mapped.sum(dtype=np.int64)) == total
    np.testing.assert_array_equal(mapped, values)


def test_other_arrays_are_left_alone(tmp_path: Path) -> None:
    np.zeros(4096, dtype=np.int32).tofile(tmp_path / "values")
    private = np.memmap(tmp_path / "values", dtype=np.int32, mode="c")
    private[:] = 7
    plain = np.arange(4096)
    release(np.asarray(private), plain, plain[:0], np.frombuffer(b"text", dtype=np.uint8))
    assert (private == 7).all()
    np.testing.assert_array_equal(plain, np.arange(4096))


@linux
def test_counts_of_a_table_hold_no_pages(tmp_path: Path) -> None:
    n_votes = 4 << 20
    (np.arange(n_votes, dtype=np.int32) % 10).tofile(tmp_path / "worker")
    np.arange(0, n_votes + 1, 4, dtype=np.int64).tofile(tmp_path / "offsets")
    worker = np.asarray(np.memmap(tmp_path / "worker", dtype=np.int32, mode="r"))
    offsets = np.asarray(np.memmap(tmp_path / "offsets", dtype=np.int64, mode="r"))
    names = Vocabulary.of(range(10))
    table = VoteTable(Vocabulary.of(range(n_votes // 4)), names, names, offsets, worker, worker)
    before = mapped_bytes()
    assert table.most_votes == 4
    assert table.votes_per_worker.tolist() == np.bincount(np.arange(n_votes) % 10).tolist()
    assert (table.votes_per_task == 4).all()
    assert mapped_bytes() < before + (2 << 20)
