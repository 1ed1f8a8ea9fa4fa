"""The fair rule: the best labels whose gap between groups is at most epsilon, with a certificate."""

from faircrowd.fair.certificate import Certificate
from faircrowd.fair.estimator import FairCrowd
from faircrowd.fair.frontier import Frontier
from faircrowd.fair.make import FairResult, make_fair
from faircrowd.fair.rule import FairRule

__all__ = ["Certificate", "FairCrowd", "FairResult", "FairRule", "Frontier", "make_fair"]
