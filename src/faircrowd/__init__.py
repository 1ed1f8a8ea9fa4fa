"""Consensus labels from crowd votes: exact, fast, and fair to groups.

Names are imported on first use, so that ``import faircrowd`` is quick.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from faircrowd.aggregate import (
        GLAD,
        BayesVote,
        DawidSkene,
        GoldMajorityVote,
        MajorityVote,
        OneCoinDawidSkene,
        Wawa,
        ZeroBasedSkill,
        load_model,
    )
    from faircrowd.errors import FaircrowdError, FaircrowdWarning
    from faircrowd.fair import FairCrowd, FairRule, make_fair
    from faircrowd.report import save_model
    from faircrowd.votes import SimulatedCrowd, VoteTable, read_votes, simulate_crowd

__version__ = "0.1.0"

_HOME = {
    "BayesVote": "aggregate",
    "DawidSkene": "aggregate",
    "GLAD": "aggregate",
    "GoldMajorityVote": "aggregate",
    "MajorityVote": "aggregate",
    "OneCoinDawidSkene": "aggregate",
    "Wawa": "aggregate",
    "ZeroBasedSkill": "aggregate",
    "load_model": "aggregate",
    "save_model": "report",
    "FairCrowd": "fair",
    "FairRule": "fair",
    "make_fair": "fair",
    "FaircrowdError": "errors",
    "FaircrowdWarning": "errors",
    "SimulatedCrowd": "votes",
    "VoteTable": "votes",
    "read_votes": "votes",
    "simulate_crowd": "votes",
}

__all__ = [
    "GLAD",
    "BayesVote",
    "DawidSkene",
    "FairCrowd",
    "FairRule",
    "FaircrowdError",
    "FaircrowdWarning",
    "GoldMajorityVote",
    "MajorityVote",
    "OneCoinDawidSkene",
    "SimulatedCrowd",
    "VoteTable",
    "Wawa",
    "ZeroBasedSkill",
    "load_model",
    "make_fair",
    "read_votes",
    "save_model",
    "simulate_crowd",
]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'faircrowd' has no attribute {name!r}")
    return getattr(import_module(f"faircrowd.{_HOME[name]}"), name)


def __dir__() -> list[str]:
    return sorted([*__all__, "__version__"])
