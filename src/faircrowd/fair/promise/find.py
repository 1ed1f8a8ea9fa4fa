"""Which promise can be made about all tasks like the ones at hand, and which rule it is about."""

from dataclasses import replace

import numpy as np

from faircrowd._checks import check_choice, check_confidence, warn
from faircrowd.errors import DataWarning, OptionError
from faircrowd.fair.objective import Gain
from faircrowd.fair.promise.margin import margin_for
from faircrowd.fair.promise.rank_thresholds import promise_by_ranks
from faircrowd.fair.promise.statement import Promise
from faircrowd.fair.rule import FairRule
from faircrowd.fair.tasks.population import Population, compared_codes
from faircrowd.fair.tasks.problem import Problem
from faircrowd.fair.tasks.tie_precision import TiePrecision
from faircrowd.fair.tolerances import tie_widths

__all__ = ["PROMISES", "find_promise"]

PROMISES = ("required", "best-effort")
"""What to do where there are too few tasks for a promise: raise, or keep epsilon on these tasks without one."""


def find_promise(
    population: Population,
    gain: Gain,
    epsilon: float,
    confidence: float,
    random_state: int,
    *,
    constraint: str = "parity",
    promise: str = "required",
) -> tuple[Promise, FairRule | None]:
    """Return the promise, and the rule that it is about if that is not the one of the labels of all tasks.

    The method is fixed before any task is looked at: ranks of held-out tasks, or for tasks in Spark, which cannot be
    split, the bound for all rules at once.

    Raises
    ------
    OptionError
        If there are too few tasks for a promise, and it is required.
    """
    confidence = check_confidence("confidence", confidence)
    check_choice("promise", promise, PROMISES)
    if population.weights is not None:
        raise OptionError("confidence is for tasks of equal weight; leave sample_weight out.", parameter="confidence")
    if constraint != "parity":
        raise OptionError(f"confidence is for parity, not for constraint={constraint!r}.", parameter="confidence")
    rule: FairRule | None = None
    tasks = population.compared()
    if not isinstance(tasks, Problem):
        found = _uniform(tasks, epsilon, confidence)
    else:
        found, rule = promise_by_ranks(tasks, gain, epsilon, confidence, random_state)
    if not found.enough:
        if promise == "required":
            raise OptionError(
                f"{_sentence(found)}, and the smallest has {tasks.sizes.min():,}. Raise epsilon, lower "
                "confidence, or keep epsilon on these tasks alone, without a promise: promise='best-effort'.",
                parameter=("epsilon", "confidence"),
            )
        warn(
            f"There is NO promise about tasks that were not seen: {found.shortage}. Epsilon is kept on these tasks.",
            DataWarning,
        )
    return found, None if rule is None else _with_left_out(rule, population)


def _with_left_out(rule: FairRule, population: Population) -> FairRule:
    """Return the rule with the groups that the promise does not speak of: their prices are 0."""
    if not population.left_out:
        return rule
    place = compared_codes(population.n_groups, population.left_out)
    codes = np.flatnonzero(place >= 0)
    prices = np.zeros((population.n_groups, population.n_classes))
    prices[codes] = rule.prices
    shares = population.sizes / population.sizes.sum()
    widths, tied = tie_widths(prices, shares), np.zeros(population.n_groups)
    if rule.precision is not None:
        widths[codes], tied[codes] = np.maximum(widths[codes], rule.precision.tie_widths), rule.precision.tied_shares
    return replace(
        rule,
        groups=tuple(population.groups.to_list()),
        prices=prices,
        shares=shares,
        ties={(int(codes[a]), members): weights for (a, members), weights in rule.ties.items()},
        precision=TiePrecision(widths, tied),
        left_out=tuple(population.left_out),
        in_turn=None if rule.in_turn is None else rule.in_turn.placed(codes, population.n_groups),
    )


def _sentence(found: Promise) -> str:
    return found.shortage[0].upper() + found.shortage[1:]


def _uniform(population: Population, epsilon: float, confidence: float) -> Promise:
    margin = margin_for(population.sizes, population.n_classes, epsilon, confidence)
    return Promise(
        method="uniform",
        epsilon=epsilon,
        confidence=confidence,
        tightened=margin.tightened if margin.enough else epsilon,
        enough=margin.enough,
        needed=None if margin.enough else margin.needed,
        learned=int(population.sizes.sum()),
        held_out=0,
        grounds=f"by a bound for all rules at once: {margin.inequality}",
    )
