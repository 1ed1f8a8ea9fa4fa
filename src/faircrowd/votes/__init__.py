"""Votes: read, checked, and encoded once as integer codes.

Read in this order: ``read`` (a file or frame to a table), ``table`` (the votes as codes), ``vocabulary`` (what the
codes stand for), ``readers`` (formats of files), ``exports`` (of labelling platforms), ``frames`` (frames of any
library), ``encode`` and ``lookup`` (values to codes, and when two values are the same), ``layout`` (rows to votes
grouped by task), ``groups`` and ``facts`` (what is known about tasks besides the votes), ``account`` and ``lookalikes``
(what users should know about the rows), ``style`` (results on the way out), ``simulate`` (crowds whose truth is known).

Names are imported on first use, so that the command line's help is quick.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from faircrowd.votes.account import VotesReport
    from faircrowd.votes.read import as_votes, read_votes
    from faircrowd.votes.simulate import SimulatedCrowd, simulate_crowd
    from faircrowd.votes.table import VoteTable
    from faircrowd.votes.vocabulary import Vocabulary

__all__ = [
    "SimulatedCrowd",
    "Vocabulary",
    "VoteTable",
    "VotesReport",
    "as_votes",
    "read_votes",
    "simulate_crowd",
]

_HOME = {
    "SimulatedCrowd": "simulate",
    "Vocabulary": "vocabulary",
    "VoteTable": "table",
    "VotesReport": "account",
    "as_votes": "read",
    "read_votes": "read",
    "simulate_crowd": "simulate",
}


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'faircrowd.votes' has no attribute {name!r}")
    return getattr(import_module(f"faircrowd.votes.{_HOME[name]}"), name)


def __dir__() -> list[str]:
    return __all__
