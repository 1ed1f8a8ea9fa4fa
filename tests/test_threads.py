"""Threads: no more than there are processors for."""

import multiprocessing
import os
from pathlib import Path

import pytest

from faircrowd import _threads
from faircrowd._threads import available_threads


@pytest.fixture(autouse=True)
def sixteen_processors(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("FAIRCROWD_THREADS", raising=False)
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(16)), raising=False)
    monkeypatch.setattr(_threads, "_GROUP", tmp_path)


def test_the_environment_decides(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FAIRCROWD_THREADS", "3")
    assert available_threads() == 3
    monkeypatch.setenv("FAIRCROWD_THREADS", "nonsense")
    assert available_threads() == 16


@pytest.mark.parametrize(
    ("quota", "threads"),
    [("max 100000", 16), ("150000 100000", 2), ("50000 100000", 1), ("9900000 100000", 16), ("", 16), ("x 0", 16)],
)
def test_the_quota_of_a_container_is_kept(quota: str, threads: int, tmp_path: Path) -> None:
    (tmp_path / "cpu.max").write_text(quota + "\n")
    assert available_threads() == threads


@pytest.mark.parametrize(("quota", "threads"), [("-1", 16), ("400000", 4)])
def test_control_groups_of_the_first_version_too(quota: str, threads: int, tmp_path: Path) -> None:
    (tmp_path / "cpu").mkdir()
    (tmp_path / "cpu" / "cpu.cfs_quota_us").write_text(quota)
    (tmp_path / "cpu" / "cpu.cfs_period_us").write_text("100000")
    assert available_threads() == threads


def test_a_process_of_a_pool_uses_one(monkeypatch: pytest.MonkeyPatch) -> None:
    with multiprocessing.get_context("fork").Pool(1) as pool:
        assert pool.apply(available_threads) == 1
        monkeypatch.setenv("FAIRCROWD_THREADS", "3")
    with multiprocessing.get_context("fork").Pool(1) as pool:
        assert pool.apply(available_threads) == 3
