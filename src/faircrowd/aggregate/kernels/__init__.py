"""Compiled loops over blocks of votes: pure functions of a block (all votes of some tasks) and of parameters."""
