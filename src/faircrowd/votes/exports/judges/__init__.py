"""Verdicts of LLM judges, in the files of the tools that ask them."""
