"""Votes on disk, streamed."""
