"""``SmoothedFairCrowd``: the paper's Algorithm 1, as printed and as in its authors' scripts."""

from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from faircrowd._checks import check_choice, check_count, check_number, few
from faircrowd._types import ByTask
from faircrowd.baselines.baseline import Baseline, VotesOrPosterior, check_two
from faircrowd.baselines.smoothed_steps import SIGNS, search_tie_weights, soft_prices, spread_by_rank, spread_by_value
from faircrowd.errors import InputError
from faircrowd.exact.hashing import draw, task_keys, uniforms
from faircrowd.fair.tasks.from_votes import new_problem
from faircrowd.fair.tasks.problem import Problem
from faircrowd.votes.vocabulary import Codes

__all__ = ["SmoothedFairCrowd"]

_TEMPERATURE = {"printed": 1e-4, "published": 1e-3}


@dataclass(eq=False, repr=False)
class SmoothedFairCrowd(Baseline):
    """The paper's Algorithm 1: a softened dual, minimised numerically; two groups.

    Posteriors near 0 and 1 are spread out, the prices of the classes are found, and the tie weights are searched; see
    :mod:`faircrowd.baselines.smoothed_steps`. With more than two classes, uniform noise breaks ties instead. It is here
    for comparison: its gap may be above epsilon.

    Parameters
    ----------
    estimator : aggregator or None
        As in :class:`faircrowd.FairCrowd`.
    epsilon : float
        The gap asked for.
    temperature : float, optional
        The temperature c of the softened maximum; by default 1e-4, and 1e-3 if ``protocol="published"``.
    delta : float
        A posterior this close to its group's threshold is tied.
    width : float
        Posteriors of at least ``1 - width`` are spread out; 0 leaves them as they are.
    noise : float
        Width of the noise.
    n_grid : int
        Number of values tried for each tie weight.
    protocol : {"printed", "published"}
        The algorithm as the paper prints it, or what the authors' scripts do instead: one price per class even with
        two classes, noise when labels are chosen in place of tie weights, and posteriors near 1 ranked within each
        group in the fit but over both groups when labels are chosen.
    random_state : int
        Seed of noise and draws, which depend only on the seed and the tasks' ids.

    Attributes
    ----------
    labels_, probas_
        The label of each task; the aggregator's posterior.
    outcome_ : Outcome
        ``converged`` is whether SLSQP reports success.
    beta_ : ndarray, shape (n_classes,)
        The price of each class in the second group; in the first it is the opposite.
    omega_ : ndarray, shape (2,), or None
        The weight of the second class among the tied tasks of each group, if it was searched.
    estimator_
        The fitted aggregator.

    Examples
    --------
    >>> from faircrowd import DawidSkene, simulate_crowd
    >>> crowd = simulate_crowd(random_state=0)
    >>> rule = SmoothedFairCrowd(DawidSkene(by_group=True), epsilon=0.05)
    >>> rule = rule.fit(crowd.votes, sensitive_features=crowd.sensitive_features)
    >>> print(f"{rule.outcome_.gap:.2f}, before {rule.outcome_.gap_before:.2f}")
    0.05, before 0.21
    """

    estimator: Any = None
    epsilon: float = 0.05
    temperature: float | None = None
    delta: float = 1e-5
    width: float = 0.04
    noise: float = 1e-5
    n_grid: int = 101
    protocol: str = "printed"
    random_state: int = 0

    def fit(self, data: VotesOrPosterior, *args: Any, sensitive_features: ByTask | None = None, **kwargs: Any) -> Self:
        """Aggregate votes (or use a posterior) and find the rule; arguments as in ``FairCrowd.fit``."""
        epsilon = self._begin()
        temperature = self._check()
        problem = self._read(self.estimator, data, sensitive_features, args, kwargs)
        check_two("SmoothedFairCrowd", "groups", problem.groups)
        self._shares = problem.group_weights() / problem.group.size
        by_tie = self.protocol == "printed" and problem.n_classes == 2
        scores = self._spread(problem, problem.group)
        if self.protocol == "printed" and not by_tie:
            scores += self._noise(problem)
        self.beta_, converged = soft_prices(scores, problem.group, epsilon, temperature, one_price=by_tie)
        self.omega_ = self._search(scores[:, 1], problem.group, epsilon) if by_tie else None
        return self._store(problem, self._choose(problem), converged=converged)

    def predict(self, data: VotesOrPosterior, *, sensitive_features: ByTask | None = None) -> Any:
        """Label new tasks by the rule, from their votes (from a posterior, if there is no estimator).

        Posteriors near 1 are spread out by their ranks among the new tasks.
        """
        fitted = self._result().problem
        new = new_problem(self.estimator_, data, sensitive_features)
        new = _recoded(new, fitted)
        return new.labels(self._choose(new))

    def _check(self) -> float:
        """Check the options and return the temperature."""
        check_choice("protocol", self.protocol, tuple(_TEMPERATURE))
        check_count("random_state", self.random_state)
        check_count("n_grid", self.n_grid, least=2)
        check_number("delta", self.delta, low=0)
        check_number("noise", self.noise, low=0)
        check_number("width", self.width, low=0, high=0.5)
        chosen = _TEMPERATURE[self.protocol] if self.temperature is None else self.temperature
        return check_number("temperature", chosen, low=1e-6)

    def _spread(self, problem: Problem, part: Codes) -> NDArray[np.float64]:
        """Spread out posteriors near 1; the authors' scripts rank them within the given parts."""
        if self.protocol == "printed":
            return spread_by_value(problem.posterior, self.width)
        keys = task_keys(problem.tasks, np.arange(problem.group.size), self.random_state)
        return spread_by_rank(problem.posterior, self.width, keys, part)

    def _noise(self, problem: Problem) -> NDArray[np.float64]:
        seeds = np.random.default_rng(self.random_state).integers(2**63, size=problem.n_classes)
        rows = np.arange(problem.group.size)
        return self.noise * np.stack([uniforms(task_keys(problem.tasks, rows, int(seed))) for seed in seeds], axis=1)

    def _thresholds(self) -> NDArray[np.float64]:
        """Return the posterior of the second of two classes at which a group's task is tied."""
        return np.asarray(0.5 + SIGNS * self.beta_[1] / self._shares)

    def _search(self, p: NDArray[np.float64], group: Codes, epsilon: float) -> NDArray[np.float64]:
        away = p - self._thresholds()[group]
        tied = np.abs(away) < self.delta
        sizes = np.bincount(group, minlength=2)
        above_share = np.bincount(group[~tied & (away > 0)], minlength=2) / sizes
        tied_share = np.bincount(group[tied], minlength=2) / sizes
        return search_tie_weights(above_share, tied_share, epsilon, float(self.beta_[1]), self.n_grid)

    def _choose(self, problem: Problem) -> Codes:
        scores = self._spread(problem, np.zeros_like(problem.group))
        if self.omega_ is None:
            prices = np.outer(SIGNS / self._shares, self.beta_)
            scores = scores + self._noise(problem) - prices[problem.group]
            return np.asarray(np.argmax(scores, axis=1), dtype=np.int32)
        away = scores[:, 1] - self._thresholds()[problem.group]
        one = np.where(np.abs(away) < self.delta, self.omega_[problem.group], away > 0)
        probabilities = np.stack([1.0 - one, one], axis=1)
        return draw(probabilities, lambda rows: task_keys(problem.tasks, rows, self.random_state))


def _recoded(new: Problem, fitted: Problem) -> Problem:
    """Return new tasks with classes and groups numbered as in the fit."""
    column = new.classes.code_of(fitted.classes.values)
    group = fitted.groups.code_of(new.groups.values)[new.group]
    if new.n_classes != fitted.n_classes or (column < 0).any():
        raise InputError(
            f"The classes {few(new.classes.to_list())} differ from those of the fit, {few(fitted.classes.to_list())}."
        )
    if (group < 0).any():
        strange = few(new.groups.some(np.unique(new.group[group < 0])[:5]))
        raise InputError(f"Some tasks belong to groups that the fit did not have: {strange}.")
    posterior = np.ascontiguousarray(new.posterior[:, column])
    return replace(new, classes=fitted.classes, groups=fitted.groups, group=group, posterior=posterior)
