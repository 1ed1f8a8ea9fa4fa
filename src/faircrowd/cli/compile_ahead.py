"""Compile kernels in a second process, while the first run of an installation reads and aggregates its votes.

Compiling is what that run waits for, and numba compiles one kernel at a time. What the second process has compiled, the
first one finds on disk.
"""

import os
import signal
import sys
from pathlib import Path

import faircrowd
from faircrowd._threads import available_threads
from faircrowd.cli.quick_process import begin_quickly

__all__ = ["compile_ahead", "compile_kernels"]

_SEEN = "flip_cost.price_to_close_gap-*.nbi"
"""What numba calls the file of a kernel that every comparison of two groups with two classes needs."""


def compile_ahead() -> None:
    """Start the second process if kernels are not compiled yet and it has a processor; it ends with this one."""
    import multiprocessing

    if _is_command_line() and multiprocessing.parent_process() is None and is_needed() and available_threads() > 1:
        multiprocessing.get_context("spawn").Process(target=_main, name="faircrowd-compile", daemon=True).start()


def _is_command_line() -> bool:
    """Return whether this is a process of the command ``faircrowd``: a new process imports a script that calls it."""
    main = sys.modules["__main__"]
    name = getattr(getattr(main, "__spec__", None), "name", None)
    return name == "faircrowd.__main__" or Path(getattr(main, "__file__", None) or "").stem == "faircrowd"


def is_needed() -> bool:
    """Return whether numba would have to compile, and can keep what it compiles where it is looked for here."""
    if os.environ.get("NUMBA_DISABLE_JIT", "0") != "0":
        return False
    if place := os.environ.get("NUMBA_CACHE_DIR"):
        return not any(Path(place).rglob(_SEEN))
    beside = Path(faircrowd.__file__).parent / "fair" / "thresholds"
    return os.access(beside, os.W_OK) and not any((beside / "__pycache__").glob(_SEEN))


def _main() -> None:
    """Be the second process: nobody hears of it, and Ctrl-C is for the first one, which ends it."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    sys.stdout = sys.stderr = open(os.devnull, "w", encoding="utf-8", newline="\n")  # noqa: SIM115 # until it ends
    begin_quickly()
    compile_kernels()


def compile_kernels() -> None:
    """Use kernels of fair labels and of the audit once, on a crowd of a few tasks.

    First those that fair labels begin with, which are ready when the first process arrives there; it compiles the
    longest of them itself. Then the longest of the audit, and from here on what is needed last comes first, as the
    first process arrives meanwhile: where both come at the same time, each compiles the same kernels.
    """
    import numpy as np
    import pyarrow as pa

    from faircrowd.audit.majority.growing_crowd import majority_curve
    from faircrowd.audit.majority.majority_gap import crowd_gap
    from faircrowd.audit.majority.tie_range import majority_ties
    from faircrowd.audit.workers.influence import worker_influence
    from faircrowd.exact.hashing import task_keys
    from faircrowd.fair.make import make_fair
    from faircrowd.fair.objective import make_gain
    from faircrowd.fair.tasks.read_posterior import read_posterior
    from faircrowd.fair.thresholds.labels import randomized_probabilities
    from faircrowd.fair.thresholds.relaxed import relaxed_thresholds
    from faircrowd.fair.thresholds.sort_keys import costs_of_keys, sort_key_formula
    from faircrowd.fair.thresholds.sorted_group import sort_groups
    from faircrowd.fair.thresholds.window import unconstrained_totals
    from faircrowd.report.reasons import Reasons
    from faircrowd.votes import read_votes

    group = np.arange(80) % 2
    of_second_class = np.linspace(0.05, 0.7, 80) + 0.25 * group
    posterior = np.column_stack([1 - of_second_class, of_second_class])
    problem, gain = read_posterior(posterior, group), make_gain("accuracy", 2)
    formula = sort_key_formula(gain, problem.has_odds)
    unconstrained_totals(problem, formula, by_cost=False)
    costs_of_keys(formula, of_second_class)
    relaxed_thresholds(sort_groups(problem, gain, 0).groups, 0.1)
    result = make_fair(posterior, group, epsilon=1.0)
    task, worker = np.repeat(np.arange(80), 4), np.tile(np.arange(4), 80)
    label = (np.repeat(of_second_class, 4) + 0.1 * worker > 0.5).astype(np.int64)
    votes = read_votes(
        pa.table({"task": task, "worker": worker, "label": label}),
        sensitive_features=pa.table({"task": np.arange(80), "group": group}),
    )
    rates = np.full((4, 2), 0.5)
    worker_influence(votes)
    crowd_gap(votes, rates)
    Reasons.of(result)
    task_keys(votes.tasks, np.arange(80), 0)
    problem.emit(randomized_probabilities, formula, (0.0, 0.0), (0.5, 0.5))
    result.frontier  # noqa: B018 - computed here
    majority_ties(votes)
    majority_curve(rates)
