"""Processes of an experiment in which the methods try fewer rounds, for fewer epsilons.

They import this module, so that it holds no tests.
"""

from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

from faircrowd.experiments import runner
from faircrowd.experiments.comparison import DESIGNS, Design


def quick_workers(jobs: int) -> ProcessPoolExecutor:
    """Return a pool of processes as that of the experiments."""
    return ProcessPoolExecutor(jobs, mp_context=get_context("spawn"), initializer=_start)


def _start() -> None:
    runner._end_with_parent()
    DESIGNS["crowd-judgement"] = Design((0.05, 0.2), 500)
