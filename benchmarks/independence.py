"""The test of independent votes: what it says of real crowds, and how often it is wrong on simulated ones.

FOLDER is searched for crowds: folders with votes.csv (task, worker, label) and tasks.csv (task, groups, truth), and the
downloaded files of the paper's data sets. Simulated crowds have the layout of a real one (who votes on which task) and
votes that are independent given the true class, drawn from the model that was fitted to the real votes or from workers
drawn at random; a model is fitted again, and a rejection is a false alarm.
"""

import argparse
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from faircrowd import BayesVote, DawidSkene, OneCoinDawidSkene, read_votes
from faircrowd.audit import check_independence
from faircrowd.datasets import load_crowd_judgement, load_jigsaw_toxicity
from faircrowd.votes import VoteTable


@dataclass(frozen=True)
class RealCrowd:
    """A crowd with its layout, groups (if any) and truth."""

    name: str
    votes: VoteTable
    truth: Any


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("folder", type=Path, help="folder of real crowds")
    options.add_argument("--simulations", type=int, default=200, help="simulated crowds per line; 0 for none")
    options.add_argument("--first-seed", type=int, default=0, help="seed of the first of them; the next have the next")
    options.add_argument("--only", nargs="*", help="names of crowds")
    given = options.parse_args()
    warnings.simplefilter("ignore")
    crowds = [crowd for crowd in real_crowds(given.folder) if not given.only or crowd.name in given.only]
    print(f"{'crowd':<20}{'model':<20}{'believed':>9}{'real':>7}{'corr.':>7}{'z':>7}{'votes':>7}{'worth':>7}  fires")
    for crowd in crowds:
        for name, model in models(crowd).items():
            show(crowd, name, model(crowd.votes))
    if given.simulations:
        print(f"\nfalse alarms in {given.simulations} simulated crowds")
        print(f"{'layout':<20}{'drawn from':<18}{'fitted':<26}{'alarms':>7}{'mean z':>8}{'sd z':>6}")
    for crowd in crowds if given.simulations else []:
        for drawn, name, draw, fit in simulations(crowd):
            seeds = range(given.first_seed, given.first_seed + given.simulations)
            found = [alarm(crowd.votes, draw, fit, seed) for seed in seeds]
            alarms, z = np.array(found, dtype=np.float64).T
            print(
                f"{crowd.name:<20}{drawn:<18}{name:<26}{alarms.mean():>7.1%}{z.mean():>8.2f}{z.std():>6.2f}", flush=True
            )


def real_crowds(folder: Path) -> Iterator[RealCrowd]:
    for path in sorted(path.parent for path in folder.rglob("votes.csv") if (path.parent / "tasks.csv").exists()):
        tasks = pd.read_csv(path / "tasks.csv").set_index("task")
        if "truth" in tasks:
            group = next((tasks[name] for name in tasks if name != "truth"), None)
            votes = read_votes(path / "votes.csv", sensitive_features=group)
            yield RealCrowd(path.name, votes, tasks["truth"].dropna())
    for name, load in (("crowd-judgement", load_crowd_judgement), ("jigsaw-toxicity", load_jigsaw_toxicity)):
        if (folder / name).exists():
            crowd = load(folder, download=False)
            yield RealCrowd(name, read_votes(crowd.votes, sensitive_features=crowd.groups), crowd.truth)


def models(crowd: RealCrowd) -> dict[str, Callable[[VoteTable], Any]]:
    by_group = {"DawidSkene by group": lambda votes: DawidSkene(by_group=True).fit(votes)}
    return {
        "DawidSkene": lambda votes: DawidSkene().fit(votes),
        "DawidSkene pooled": lambda votes: DawidSkene(pooling="learned").fit(votes),
        **(by_group if crowd.votes.groups is not None else {}),
        "OneCoinDawidSkene": lambda votes: OneCoinDawidSkene().fit(votes),
    }


def show(crowd: RealCrowd, name: str, model: Any) -> None:
    found = check_independence(model)
    real = (model.labels_.reindex(crowd.truth.index) == crowd.truth).mean()
    print(
        f"{crowd.name:<20}{name:<20}{found.believed_accuracy:>9.3f}{real:>7.3f}{found.correlation:>7.3f}"
        f"{found.statistic:>7.1f}{found.votes_per_task:>7.1f}{found.effective_votes:>7.1f}"
        f"  {'yes' if found.rejected else 'no'}",
        flush=True,
    )


Draw = Callable[[np.random.Generator], tuple[NDArray[np.float64], NDArray[np.float64]]]
Fit = Callable[[VoteTable, Any], Any]


def simulations(crowd: RealCrowd) -> Iterator[tuple[str, str, Draw, Fit]]:
    """Yield where votes are drawn from, what is fitted, and both as functions."""
    votes = crowd.votes
    unequal, guessing = partial(workers, votes, 1, "unequal"), partial(workers, votes, 1, "guessing")
    yield "fitted", "DawidSkene", as_fitted(DawidSkene().fit(votes)), fitting(DawidSkene())
    yield "unequal workers", "DawidSkene", unequal, fitting(DawidSkene())
    yield "many who guess", "DawidSkene", guessing, fitting(DawidSkene())
    yield "unequal workers", "DawidSkene smoothing=0.1", unequal, fitting(DawidSkene(smoothing=0.1))
    yield "unequal workers", "DawidSkene smoothing=1", unequal, fitting(DawidSkene(smoothing=1))
    yield "unequal workers", "DawidSkene pooled", unequal, fitting(DawidSkene(pooling="learned"))
    yield "unequal workers", "BayesVote, 10% known", unequal, BayesVote().fit
    yield "fitted", "OneCoinDawidSkene", as_fitted(OneCoinDawidSkene().fit(votes)), fitting(OneCoinDawidSkene())
    if votes.groups is not None:
        model, drawn = DawidSkene(by_group=True), partial(workers, votes, len(votes.groups), "unequal")
        yield "fitted", "DawidSkene by group", as_fitted(DawidSkene(by_group=True).fit(votes)), fitting(model)
        yield "unequal workers", "DawidSkene by group", drawn, fitting(model)


def fitting(model: Any) -> Fit:
    """Return a function that fits a model without the known labels it is given."""
    return lambda votes, gold: model.fit(votes)


def as_fitted(model: Any) -> Draw:
    """Return the matrices (worker, group, label, true class) and class shares of a fitted model."""
    n_classes = model.votes_.n_classes
    errors = model.errors_.to_numpy().reshape(model.votes_.n_workers, -1, n_classes, n_classes)
    priors = model.priors_.to_numpy().reshape(-1, n_classes)
    return lambda rng: (errors, priors)


def workers(votes: VoteTable, n_groups: int, kind: str, rng: np.random.Generator) -> Any:
    """Draw matrices: skills from a beta distribution, or experts, poor workers and guesses; wrong votes at random."""
    shape, n_classes = (votes.n_workers, n_groups), votes.n_classes
    skill = rng.beta(4, 2, shape) if kind == "unequal" else rng.choice([0.95, 0.35, 1 / n_classes], shape)
    errors = np.zeros((*shape, n_classes, n_classes))
    for k in range(n_classes):
        wrong = rng.dirichlet(np.ones(n_classes - 1), shape) * (1 - skill)[..., None]
        errors[..., np.arange(n_classes) != k, k] = wrong
        errors[..., k, k] = skill
    return errors, np.tile(rng.dirichlet(np.full(n_classes, 3.0)), (n_groups, 1))


def alarm(votes: VoteTable, draw: Draw, fit: Fit, seed: int) -> tuple[bool, float]:
    """Simulate a crowd with the layout of votes, fit a model, and return whether the test fires, and its statistic."""
    rng = np.random.default_rng(seed)
    errors, priors = draw(rng)
    by_group = len(priors) > 1 and votes.group is not None
    group = votes.group if by_group else np.zeros(votes.n_tasks, dtype=np.int64)
    task = np.repeat(np.arange(votes.n_tasks), np.diff(votes.offsets))
    truth = draw_codes(rng, priors[group])
    label = draw_codes(rng, errors[votes.worker, group[task], :, truth[task]])
    some = np.sort(rng.permutation(votes.n_tasks)[: max(votes.n_tasks // 10, 20)])
    gold = dict(zip(votes.tasks.some(some), votes.classes.some(truth[some]), strict=True))
    table = replace(votes, label=label.astype(np.int32))
    found = check_independence(fit(table if by_group else replace(table, group=None, groups=None), gold))
    return found.rejected, found.statistic


def draw_codes(rng: np.random.Generator, probabilities: NDArray[np.float64]) -> NDArray[np.int64]:
    """Draw one code per row of probabilities."""
    below = np.cumsum(probabilities, axis=1)[:, :-1]
    return np.asarray((rng.random(len(probabilities))[:, None] > below).sum(axis=1))


if __name__ == "__main__":
    main()
