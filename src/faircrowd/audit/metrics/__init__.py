"""Gaps and rates by group: fairlearn's metrics for any number of classes."""
