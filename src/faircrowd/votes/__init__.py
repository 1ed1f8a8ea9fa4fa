"""Votes: read, check, encode once."""

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
