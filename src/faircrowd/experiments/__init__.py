"""The paper's experiments, and what it could not run: every figure by one command."""

from faircrowd.experiments.run import EXPERIMENTS, reproduce

__all__ = ["EXPERIMENTS", "reproduce"]
