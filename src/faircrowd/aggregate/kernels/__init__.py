"""Compiled loops over blocks of votes; each is a pure function of a block of whole tasks and of parameters."""
