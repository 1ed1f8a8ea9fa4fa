"""Compiled loops over blocks of votes."""
