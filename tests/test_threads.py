"""Threads: no more than there are processors for."""

import multiprocessing
import os
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from faircrowd import _threads
from faircrowd._threads import available_threads, for_rows_in_threads, map_in_threads


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


def test_a_process_of_joblib_uses_one() -> None:
    joblib = pytest.importorskip("joblib")
    assert joblib.Parallel(n_jobs=2)(joblib.delayed(available_threads)() for _ in range(2)) == [1, 1]


# Work in threads.


@pytest.mark.parametrize("threads", ["1", "2", "5"])
def test_results_are_in_the_order_of_items(threads: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FAIRCROWD_THREADS", threads)
    assert map_in_threads(lambda i: i * i, range(50)) == [i * i for i in range(50)]
    assert map_in_threads(str, []) == []


@pytest.mark.parametrize(("asked", "used"), [("1", 1), ("3", 3), ("9", 4)])
def test_no_more_threads_than_asked_for_or_than_items(asked: str, used: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FAIRCROWD_THREADS", asked)
    monkeypatch.setattr(_threads, "_pool", lambda: pool)
    together = threading.Barrier(used)

    def meet(_: int) -> int:
        together.wait(60)  # all of them at once, or none ever
        return threading.get_ident()

    with ThreadPoolExecutor(16) as pool:
        assert len(set(map_in_threads(meet, range(4 if used == 4 else used)))) == used


@pytest.mark.parametrize("threads", ["1", "4"])
def test_an_error_ends_all_and_is_raised(threads: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FAIRCROWD_THREADS", threads)

    def fail(i: int) -> None:
        raise ValueError(f"item {i}")

    with pytest.raises(ValueError, match="item"):
        map_in_threads(fail, range(20))
    assert map_in_threads(str, range(3)) == ["0", "1", "2"]


def test_others_end_before_an_error_is_raised(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FAIRCROWD_THREADS", "2")
    begun, ended = threading.Barrier(2), []

    def run(i: int) -> None:
        begun.wait(60)
        if threading.current_thread() is threading.main_thread():
            raise KeyboardInterrupt
        time.sleep(0.2)
        ended.append(i)
        raise ValueError("of another thread")

    with pytest.raises(KeyboardInterrupt):
        map_in_threads(run, range(9))
    assert len(ended) == 1  # and nobody began another item


def test_where_no_thread_can_be_started_one_does_all(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FAIRCROWD_THREADS", "3")
    pool = ThreadPoolExecutor(2)
    pool.shutdown()
    monkeypatch.setattr(_threads, "_pool", lambda: pool)
    assert map_in_threads(abs, range(-4, 0)) == [4, 3, 2, 1]


def test_threads_that_all_ask_for_threads_do_not_wait_for_each_other(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FAIRCROWD_THREADS", "64")
    sums = map_in_threads(lambda i: sum(map_in_threads(lambda j: i * j, range(100))), range(100))
    assert sums == [i * 4950 for i in range(100)]


def test_ranges_of_rows_make_up_all(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_threads, "_ROWS_AT_A_TIME", 7)
    seen = [0] * 30

    def count(at: slice) -> None:
        for i in range(*at.indices(30)):
            seen[i] += 1

    for_rows_in_threads(count, 30)
    assert seen == [1] * 30


def _summed() -> list[int]:
    return map_in_threads(abs, range(-5, 5))


def test_a_forked_process_has_threads_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FAIRCROWD_THREADS", "3")
    expected = _summed()
    with multiprocessing.get_context("fork").Pool(2) as pool:
        assert pool.apply_async(_summed).get(60) == expected
