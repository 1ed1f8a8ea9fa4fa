"""Juries of judges whose errors go together: what copies, families and known labels change.

``python benchmarks/jury.py`` simulates juries and prints accuracy and log loss; ``python benchmarks/jury.py FOLDER``
also measures real tables of votes (``votes.csv``, ``tasks.csv`` with a column truth) to which copies of one worker are
added. No model is called.
"""

import sys
import warnings
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd

from faircrowd import CalibratedCrowd, DawidSkene, JuryVote, MajorityVote

N_TASKS = 2000
DRAWS = 10
GOLD = (25, 50, 100, 200)


def simulate_jury(
    families: tuple[int, ...], seed: int, n_tasks: int = N_TASKS, common: float = 0.3, shared: float = 0.5
) -> tuple[pd.DataFrame, pd.Series]:
    """Return the votes of a jury, with probabilities and families, and the truth.

    A judge sees the truth (-1 or 1, times its skill) plus noise with variance one, and states the log-odds that follow
    from it, more or less surely than they are.

    Parameters
    ----------
    families : tuple of int
        The number of judges of each family.
    common, shared : float
        The part of the variance of the noise that all judges have in common, and the part that a family has.
    """
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, 2, n_tasks)
    hard = rng.normal(size=n_tasks)
    parts = []
    for f, size in enumerate(families):
        together = rng.normal(size=n_tasks)
        skill, sure = rng.uniform(0.4, 1.4), rng.uniform(0.7, 3.0)
        for j in range(size):
            own = rng.normal(size=n_tasks)
            noise = np.sqrt(common) * hard + np.sqrt(shared) * together + np.sqrt(1 - common - shared) * own
            odds = sure * 2 * skill * ((2 * truth - 1) * skill + noise)  # 2 skill x: the log-odds given x
            p = 1 / (1 + np.exp(-odds))
            parts.append(
                pd.DataFrame(
                    {
                        "task": np.arange(n_tasks),
                        "worker": f"judge {f}{'abcdefgh'[j]}",
                        "family": f"family {f}",
                        "label": (p > 0.5).astype(int),
                        "probability": np.maximum(p, 1 - p),
                    }
                )
            )
    return pd.concat(parts, ignore_index=True), pd.Series(truth, name="truth")


def scores(probas: pd.DataFrame, truth: pd.Series, without: pd.Index) -> tuple[float, float]:
    """Return accuracy and log loss over the tasks whose label was not given."""
    probas = probas.drop(index=without)
    known = truth.loc[probas.index]
    p = probas.to_numpy()[np.arange(len(known)), probas.columns.get_indexer(known)]
    right = probas.columns[probas.to_numpy().argmax(axis=1)] == known
    return float(right.mean()), float(-np.log(np.maximum(p, 1e-300)).mean())


def rows(votes: pd.DataFrame, truth: pd.Series, seed: int) -> Iterator[tuple[str, float, float]]:
    """Yield a name, accuracy and log loss for each way to pool a jury."""
    nobody = truth.index[:0]
    plain = votes.drop(columns=["family", "probability"], errors="ignore")
    alone = votes.drop(columns="family")
    yield "majority", *scores(MajorityVote().fit_predict_proba(plain).clip(0.01), truth, nobody)
    yield "Dawid-Skene", *scores(DawidSkene(pooling="learned").fit_predict_proba(plain), truth, nobody)
    yield "as independent", *scores(_independent(votes), truth, nobody)
    yield "jury, no families", *scores(JuryVote().fit_predict_proba(alone), truth, nobody)
    yield "jury", *scores(JuryVote().fit_predict_proba(votes), truth, nobody)
    for n in GOLD:
        gold = truth.sample(n, random_state=seed)
        yield f"jury, no families, {n} known", *scores(JuryVote().fit_predict_proba(alone, gold), truth, gold.index)
        yield f"jury, {n} known", *scores(JuryVote().fit_predict_proba(votes, gold), truth, gold.index)
        other = CalibratedCrowd().fit_predict_proba(plain, gold)
        yield f"calibrated crowd of labels, {n} known", *scores(other, truth, gold.index)


def _independent(votes: pd.DataFrame) -> pd.DataFrame:
    """Multiply what all judges say, as if they were independent."""
    p = np.where(votes["label"] == 1, votes["probability"], 1 - votes["probability"]).clip(1e-4, 1 - 1e-4)
    total = pd.Series(np.log(p) - np.log1p(-p)).groupby(votes["task"].to_numpy()).sum()
    one = 1 / (1 + np.exp(-total))
    return pd.DataFrame({0: 1 - one, 1: one})


def copied(votes: pd.DataFrame, worker: object, n: int) -> pd.DataFrame:
    """Return votes with n further copies of one worker, in one family with it."""
    own = votes[votes["worker"] == worker]
    more = [own.assign(worker=f"{worker} copy {i}") for i in range(n)]
    every = pd.concat([votes.assign(worker=votes["worker"].astype(str)), *more], ignore_index=True)
    is_copy = every["worker"].str.startswith(f"{worker} copy") | (every["worker"] == str(worker))
    return every.assign(family=np.where(is_copy, "copies", "alone " + every["worker"]))


def simulated() -> None:
    """Print means over draws of simulated juries."""
    for families in ((1, 1, 1, 1, 1), (3, 1, 1), (4, 2, 2, 1), (6, 1, 1)):
        found: dict[str, list[tuple[float, float]]] = {}
        for seed in range(DRAWS):
            votes, truth = simulate_jury(families, seed)
            for name, accuracy, loss in rows(votes, truth, seed):
                found.setdefault(name, []).append((accuracy, loss))
        print(f"\nfamilies of {families}: {DRAWS} draws of {N_TASKS:,} tasks\n")
        print("| pool | accuracy | log loss |\n|---|---|---|")
        for name, values in found.items():
            accuracy, loss = np.mean(values, axis=0)
            print(f"| {name} | {accuracy:.3f} | {loss:.3f} |")


def real(folder: Path) -> None:
    """Print what copies of the worker with the most votes change on a real crowd."""
    votes, tasks = pd.read_csv(folder / "votes.csv"), pd.read_csv(folder / "tasks.csv")
    votes = votes.drop_duplicates(["task", "worker"], keep="last")
    truth = tasks.set_index("task")["truth"].dropna()
    truth = truth[truth.index.isin(votes["task"])]
    worker = votes["worker"].value_counts().index[0]
    every = copied(votes, worker, 10)
    print(f"\n{folder.name}: ten copies of worker {worker}\n\n| pool | accuracy | log loss | labels changed |")
    print("|---|---|---|---|")
    gold = truth.sample(min(100, len(truth) // 2), random_state=0)
    for name, model, known in (
        ("majority", MajorityVote(), None),
        ("Dawid-Skene", DawidSkene(pooling="learned"), None),
        ("jury", JuryVote(), None),
        (f"jury, {len(gold)} known", JuryVote(), gold),
    ):
        more = () if known is None else (known,)
        before = model.fit_predict_proba(every[~every["worker"].str.contains(" copy ")].drop(columns="family"), *more)
        if isinstance(model, JuryVote):
            _line(f"{name}, copies as family", model.fit_predict_proba(every, *more), before, truth, known)
        after = model.fit_predict_proba(every.drop(columns="family"), *more)
        _line(f"{name}, copies as others", after, before, truth, known)
        _line(f"{name}, no copies", before, before, truth, known)


def _line(name: str, probas: pd.DataFrame, before: pd.DataFrame, truth: pd.Series, known: pd.Series | None) -> None:
    rest = truth if known is None else truth.drop(known.index)
    accuracy, loss = scores(probas.loc[rest.index].clip(1e-3), rest, rest.index[:0])
    changed = (probas.to_numpy().argmax(axis=1) != before.to_numpy().argmax(axis=1)).mean()
    print(f"| {name} | {accuracy:.3f} | {loss:.3f} | {changed:.1%} |")


if __name__ == "__main__":
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        simulated()
        for name in sys.argv[1:]:
            real(Path(name))
