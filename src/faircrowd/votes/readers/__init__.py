"""Readers of tables in files."""
