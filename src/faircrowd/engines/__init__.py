"""Engines: where the blocks of votes lie, and how sums over them are made."""

from faircrowd.engines.local import Block, LocalEngine

__all__ = ["Block", "LocalEngine"]
