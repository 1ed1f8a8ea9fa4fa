"""The paper's experiments, and others that the paper could not run; ``faircrowd reproduce`` runs them."""

from faircrowd.experiments.runner import EXPERIMENTS, reproduce

__all__ = ["EXPERIMENTS", "reproduce"]
