"""Votes in Spark."""
