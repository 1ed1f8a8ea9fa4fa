"""Consensus labels from crowd votes: exact, fast, and fair to groups.

Names are imported on first use, so that ``import faircrowd`` is quick.
"""

from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from faircrowd import aggregate as aggregate
    from faircrowd import audit as audit
    from faircrowd import baselines as baselines
    from faircrowd import constraints as constraints
    from faircrowd import datasets as datasets
    from faircrowd import engines as engines
    from faircrowd import errors as errors
    from faircrowd import fair as fair
    from faircrowd import votes as votes
    from faircrowd.aggregate import (
        GLAD,
        AccuracyEstimate,
        BayesVote,
        CalibratedCrowd,
        DawidSkene,
        GoldMajorityVote,
        JuryVote,
        MajorityVote,
        OneCoinDawidSkene,
        Wawa,
        ZeroBasedSkill,
        load_model,
        save_model,
    )
    from faircrowd.errors import FaircrowdError, FaircrowdWarning
    from faircrowd.fair import FairClassifier, FairCrowd, FairRule, make_fair
    from faircrowd.publish.mlflow_log import log_mlflow
    from faircrowd.runs.dossiers.write_dossier import write_dossier
    from faircrowd.votes import SimulatedCrowd, VoteTable, read_votes, simulate_crowd

__version__ = "0.1.0"

_SUBPACKAGES = ("aggregate", "audit", "baselines", "constraints", "datasets", "engines", "errors", "fair", "votes")

_HOME = {
    "AccuracyEstimate": "aggregate",
    "load_model": "aggregate",
    "save_model": "aggregate",
    "FairClassifier": "fair",
    "FairCrowd": "fair",
    "FairRule": "fair",
    "make_fair": "fair",
    "log_mlflow": "publish.mlflow_log",
    "write_dossier": "runs.dossiers.write_dossier",
    "FaircrowdError": "errors",
    "FaircrowdWarning": "errors",
    "SimulatedCrowd": "votes",
    "VoteTable": "votes",
    "read_votes": "votes",
    "simulate_crowd": "votes",
}
"""Where names are; aggregators are in the registry of ``faircrowd.aggregate``."""

__all__ = [
    "GLAD",
    "AccuracyEstimate",
    "BayesVote",
    "CalibratedCrowd",
    "DawidSkene",
    "FairClassifier",
    "FairCrowd",
    "FairRule",
    "FaircrowdError",
    "FaircrowdWarning",
    "GoldMajorityVote",
    "JuryVote",
    "MajorityVote",
    "OneCoinDawidSkene",
    "SimulatedCrowd",
    "VoteTable",
    "Wawa",
    "ZeroBasedSkill",
    "load_model",
    "log_mlflow",
    "make_fair",
    "read_votes",
    "save_model",
    "simulate_crowd",
    "write_dossier",
]


if find_spec("sklearn") is None:  # then it cannot be imported: "from faircrowd import *" leaves it out
    __all__.remove("FairClassifier")


def __getattr__(name: str) -> Any:
    if name in _SUBPACKAGES:
        return import_module(f"faircrowd.{name}")
    if name in _HOME:
        return getattr(import_module(f"faircrowd.{_HOME[name]}"), name)
    if not name.startswith("_"):
        from faircrowd.aggregate.registry import AGGREGATORS

        for kind in AGGREGATORS.values():
            if kind.class_name == name:
                return kind.load()
    raise AttributeError(f"module 'faircrowd' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*__all__, *_SUBPACKAGES, "__version__"])
