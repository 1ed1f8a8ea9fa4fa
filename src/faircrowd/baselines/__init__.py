"""Other methods to compare the exact fair rule with: the paper's Algorithm 1, and the two methods of Li et al. (2020).

Only experiments use them; no other part of faircrowd imports them.
"""

from faircrowd.baselines.baseline import Outcome
from faircrowd.baselines.fair_td import FairTD
from faircrowd.baselines.post_td import PostTD
from faircrowd.baselines.smoothed import SmoothedFairCrowd

__all__ = ["FairTD", "Outcome", "PostTD", "SmoothedFairCrowd"]
