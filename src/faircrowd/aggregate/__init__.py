"""Aggregators: from votes to the probability of each class for each task, and the most probable label.

Names, methods and attributes follow crowd-kit. Where things are:

- ``registry``: every aggregator's name, what it learns from, and where it runs;
- ``base``: what all aggregators share; ``posterior``: their results, in memory and in Spark;
- ``majority``, ``skill_vote`` (Wawa, ZeroBasedSkill, GoldMajorityVote), ``bayes``, ``dawid_skene``, ``one_coin``,
  ``glad``, ``jury`` (votes of LLM judges): the models;
- ``confusion``: workers as confusion matrices, shared by ``bayes``, ``dawid_skene`` and ``one_coin``;
  ``initial_error``: confusion matrices given by the user; ``weighted_votes``: sums of weights, agreement with labels;
- ``em``: the one loop of expectation-maximisation; ``checkpoint``: its rounds in a file, to go on from;
- ``calibration/``: ``CalibratedCrowd``, models calibrated on known labels, and accuracy estimated from these;
- ``pooling``: pseudo-counts that draw a worker's confusion matrix toward the crowd's;
- ``saved``: fitted models in a folder;
- ``reliability``: confidence against the share of right labels;
- ``kernels/``: compiled loops over blocks of votes.

Names are imported on first use.
"""

from importlib import import_module
from typing import TYPE_CHECKING

from faircrowd.aggregate.registry import AGGREGATORS

if TYPE_CHECKING:
    from faircrowd.aggregate.bayes import BayesVote
    from faircrowd.aggregate.calibration.accuracy_estimate import AccuracyEstimate
    from faircrowd.aggregate.calibration.calibrate import CalibratedCrowd
    from faircrowd.aggregate.calibration.calibration_quality import Calibration
    from faircrowd.aggregate.dawid_skene import DawidSkene
    from faircrowd.aggregate.glad import GLAD
    from faircrowd.aggregate.jury import JuryVote
    from faircrowd.aggregate.majority import MajorityVote
    from faircrowd.aggregate.one_coin import OneCoinDawidSkene
    from faircrowd.aggregate.saved import load_model, save_model
    from faircrowd.aggregate.skill_vote import GoldMajorityVote, Wawa, ZeroBasedSkill

__all__ = [
    "GLAD",
    "AccuracyEstimate",
    "BayesVote",
    "CalibratedCrowd",
    "Calibration",
    "DawidSkene",
    "GoldMajorityVote",
    "JuryVote",
    "MajorityVote",
    "OneCoinDawidSkene",
    "Wawa",
    "ZeroBasedSkill",
    "load_model",
    "save_model",
]

_HOME = {
    "AccuracyEstimate": "calibration.accuracy_estimate",
    "Calibration": "calibration.calibration_quality",
    "load_model": "saved",
    "save_model": "saved",
}


def __getattr__(name: str) -> object:
    if name in _HOME:
        found: object = getattr(import_module(f"faircrowd.aggregate.{_HOME[name]}"), name)
        return found
    for kind in AGGREGATORS.values():
        if kind.class_name == name:
            return kind.load()
    raise AttributeError(f"module 'faircrowd.aggregate' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*__all__, *(kind.class_name for kind in AGGREGATORS.values())})
