"""Consensus: votes to a posterior a task and class. Names, methods and attributes follow crowd-kit."""

from faircrowd.aggregate.bayes import BayesVote
from faircrowd.aggregate.dawid_skene import DawidSkene
from faircrowd.aggregate.glad import GLAD
from faircrowd.aggregate.majority import MajorityVote
from faircrowd.aggregate.one_coin import OneCoinDawidSkene
from faircrowd.aggregate.saved import load_model
from faircrowd.aggregate.skill_weighted import GoldMajorityVote, Wawa, ZeroBasedSkill

__all__ = [
    "GLAD",
    "BayesVote",
    "DawidSkene",
    "GoldMajorityVote",
    "MajorityVote",
    "OneCoinDawidSkene",
    "Wawa",
    "ZeroBasedSkill",
    "load_model",
]
