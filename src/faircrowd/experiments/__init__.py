"""The paper's experiments, and what it could not run: every figure by one command."""

from faircrowd.experiments.runner import EXPERIMENTS, reproduce

__all__ = ["EXPERIMENTS", "reproduce"]
