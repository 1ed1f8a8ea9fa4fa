"""Votes of LLM judges: columns of probabilities, runs, families and abstentions (docs/juries.md)."""
