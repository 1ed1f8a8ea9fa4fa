"""FairTD (Li et al. 2020): estimate truths, biases and weights of workers, and keep biases that narrow the gap."""

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from faircrowd._checks import check_count, check_number, warn
from faircrowd._types import ByTask
from faircrowd.aggregate import MajorityVote
from faircrowd.baselines.baseline import Baseline, VotesOrPosterior, check_two
from faircrowd.baselines.fair_td_rounds import Votes, run_rounds
from faircrowd.errors import ConvergenceWarning, DataWarning, InputError
from faircrowd.fair.tasks.problem import Problem
from faircrowd.fair.tolerances import SLACK
from faircrowd.votes import VoteTable

__all__ = ["FairTD"]


@dataclass(eq=False, repr=False)
class FairTD(Baseline):
    """Estimate truths and biases in turn, and keep random biases that narrow the gap; two classes, two groups.

    Only workers who voted in both groups take part: the bias of others is unknown in one group. A task that none of
    them voted on gets the majority's label. :mod:`faircrowd.baselines.fair_td_rounds` states the model and the rounds.
    They need not converge.

    Parameters
    ----------
    epsilon : float
        The largest gap allowed.
    n_iter : int
        Largest number of rounds.
    tol : float
        Truths have settled if a round changes none of them by more than this.
    random_state : int
        Seed of the start and of the biases that are kept.

    Attributes
    ----------
    labels_
        The label of each task: the second class where the truth is above 1/2.
    probas_
        The truths, clipped to [0, 1], as the probability of the second class. (Shares of votes, for tasks that got
        the majority's label.)
    outcome_ : Outcome
        Compared with the majority vote: its labels are "before", and its shares of votes are the posterior.
    converged_ : bool
        Whether the gap is within epsilon and the truths have settled. If not, the labels are those of the round with
        the smallest gap.
    n_iter_ : int
        Number of rounds that were run.
    votes_aside_, tasks_by_majority_ : int
        Number of votes of workers who voted in one group only, and of tasks with no other votes.

    Examples
    --------
    >>> from faircrowd import simulate_crowd
    >>> crowd = simulate_crowd(random_state=0)
    >>> fair = FairTD(epsilon=0.1).fit(crowd.votes, sensitive_features=crowd.sensitive_features)
    >>> fair.converged_, fair.outcome_.gap <= 0.1 < fair.outcome_.gap_before
    (True, True)
    """

    epsilon: float = 0.05
    n_iter: int = 20_000
    tol: float = 1e-4
    random_state: int = 0

    def fit(self, data: VotesOrPosterior, *, sensitive_features: ByTask | None = None) -> Self:
        """Run the rounds.

        Parameters
        ----------
        data : frame, path or VoteTable
            Votes with columns task, worker, label.
        sensitive_features
            The group of each task, as in :func:`faircrowd.read_votes`.

        Warns
        -----
        ConvergenceWarning
            If the rounds ran out first; the message gives the gap reached.
        DataWarning
            If workers voted in one group only, so that their votes were set aside.
        """
        epsilon = self._begin()
        n_iter, tol = check_count("n_iter", self.n_iter, least=1), check_number("tol", self.tol, low=0)
        rng = np.random.default_rng(check_count("random_state", self.random_state))
        problem = self._read(MajorityVote(), data, sensitive_features, (), {})
        check_two("FairTD", "groups", problem.groups)
        check_two("FairTD", "classes", problem.classes)
        table = self.estimator_.votes_
        votes, inside = _taking_part(table, problem)
        self.votes_aside_ = table.n_votes - votes.label.size
        self.tasks_by_majority_ = int((~inside).sum())
        self._warn_of_votes_set_aside(table)
        state = run_rounds(votes, epsilon + SLACK, n_iter=n_iter, tol=tol, rng=rng)
        self.converged_, self.n_iter_ = state.converged, state.rounds
        labels = problem.own.copy()
        labels[inside] = state.truth > 0.5
        self._truth = problem.posterior.copy()
        self._truth[inside, 1] = np.clip(state.truth, 0.0, 1.0)
        self._truth[inside, 0] = 1.0 - self._truth[inside, 1]
        self._store(problem, labels, converged=state.converged)
        self._warn_of_convergence(epsilon)
        return self

    @property
    def probas_(self) -> Any:
        """The truths, clipped to [0, 1], as the probability of the second class."""
        return self._result().problem.frame(self._truth)

    def _warn_of_votes_set_aside(self, table: VoteTable) -> None:
        if self.votes_aside_:
            warn(
                f"{self.votes_aside_:,} of {table.n_votes:,} votes set aside: their workers voted in one group only; "
                f"{self.tasks_by_majority_:,} tasks left with no other vote get the majority's label.",
                DataWarning,
            )

    def _warn_of_convergence(self, epsilon: float) -> None:
        if self.converged_:
            return
        gap = self.outcome_.gap
        where = f"above epsilon {epsilon:g}" if gap > epsilon + SLACK else "within epsilon, but the truths still change"
        warn(
            f"Not converged: the rounds ran out (n_iter={self.n_iter_:,}); the smallest gap reached is {gap:.4f}, "
            f"{where}. Raise epsilon, or n_iter if more rounds still narrow it.",
            ConvergenceWarning,
        )


def _taking_part(table: VoteTable, problem: Problem) -> tuple[Votes, NDArray[np.bool_]]:
    """Return the votes of workers who voted in both groups, and which tasks have any."""
    group = np.repeat(problem.group, table.votes_per_task)
    cells = np.bincount(2 * table.worker.astype(np.int64) + group, minlength=2 * table.n_workers).reshape(-1, 2)
    both = cells.min(axis=1) > 0
    if not both.any():
        raise InputError("No worker voted in both groups, so FairTD cannot tell bias from truth; use FairCrowd.")
    kept = both[table.worker]
    running = np.concatenate([[0], np.cumsum(kept)])[table.offsets]
    inside = running[1:] > running[:-1]
    outside = ~inside & (problem.own == 1)
    votes = Votes(
        offsets=np.append(running[:-1][inside], running[-1]).astype(np.int64),
        worker=(np.cumsum(both) - 1)[table.worker[kept]],
        label=table.label[kept].astype(np.float64),
        group=problem.group[inside],
        counts=cells[both].astype(np.float64),
        fixed=np.bincount(problem.group[outside], minlength=2).astype(np.float64),
        sizes=np.bincount(problem.group, minlength=2).astype(np.float64),
    )
    return votes, inside
