"""Small posteriors, and the two real crowds of the paper that are available, as plain frames."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

import faircrowd as fc

__all__ = ["Crowd", "crowd_judgement", "jigsaw", "simulated", "two"]


@dataclass(frozen=True)
class Crowd:
    """Votes, the group of each task, and the true labels."""

    votes: pd.DataFrame
    groups: pd.Series
    truth: pd.Series


def two(p: np.ndarray) -> np.ndarray:
    """Posteriors of class 1 as a posterior of both classes."""
    return np.stack([1 - p, p], axis=1)


def simulated(n_tasks: int = 400, *, n_classes: int = 2, seed: int = 0, votes: int = 5) -> Crowd:
    rising = np.arange(1, n_classes + 1) / np.arange(1, n_classes + 1).sum()
    crowd = fc.simulate_crowd(n_tasks, 30, votes, class_shares=[rising, rising[::-1]], random_state=seed)
    return Crowd(crowd.votes, crowd.sensitive_features, crowd.truth)


def crowd_judgement(folder: Path) -> Crowd:
    people = pd.read_csv(folder / "crowd-judgement" / "BROWARD_CLEAN_SUBSET.csv").set_index("id")
    right = pd.read_csv(folder / "crowd-judgement" / "MTURK_RACE.csv").iloc[1:].rename(columns={"mTurk_code": "task"})
    votes = right.melt("task", var_name="worker", value_name="right").dropna()
    votes["task"] = votes["task"].astype(int)
    truth = people.loc[votes["task"], "two_year_recid"].to_numpy()
    votes["label"] = np.where(votes.pop("right") == 1, truth, 1 - truth)
    return Crowd(votes, (people["race"] == 2).astype(int), people["two_year_recid"])


def jigsaw(folder: Path) -> Crowd:
    folder = folder / "jigsaw-toxicity"
    votes = pd.read_csv(folder / "responses_td_format.csv").drop_duplicates(["question", "worker"], keep="last")
    about = pd.read_csv(folder / "features_for_ml.csv").set_index("id").loc[:, "asian":"white"]
    truth = pd.read_csv(folder / "ground_truth_label.csv").set_index("question")["result"]
    return Crowd(votes, (about > 0).any(axis=1).astype(int), truth)


def smooth_crowd(n_tasks: int = 2000, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Posteriors without ties, higher in group 1."""
    rng = np.random.default_rng(seed)
    group = (rng.random(n_tasks) < 0.6).astype(int)
    return rng.beta(np.where(group == 1, 3, 2), np.where(group == 1, 2, 3)), group
