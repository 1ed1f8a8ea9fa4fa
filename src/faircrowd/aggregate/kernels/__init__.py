"""Compiled loops over blocks of votes: pure functions of a block (all votes of some tasks) and of parameters."""

from faircrowd._compiling import listen_to_numba

listen_to_numba()
