"""Votes: read, checked, and encoded once as integer codes.

Read in this order: ``read`` (a file or frame to a table), ``table`` (the votes as codes), ``vocabulary`` (what the
codes stand for), ``readers`` (formats of files), ``frames`` (frames of any library), ``encode`` and ``lookup`` (values
to codes, and when two values are the same), ``layout`` (rows to votes grouped by task), ``groups`` and ``facts`` (what
is known about tasks besides the votes), ``account`` and ``lookalikes`` (what users should know about the rows),
``style`` (results on the way out), ``simulate`` (crowds whose truth is known).
"""

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
