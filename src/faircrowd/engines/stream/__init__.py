"""Votes beyond memory: sorted once on disk, then mapped into memory.

Read in this order: ``read_stream`` (the reader), ``staging`` (files of any format as Parquet), ``regroup`` (the sort by
task, by DuckDB).
"""
