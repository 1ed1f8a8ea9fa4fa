"""Labelling platforms: one module per platform, each with one ``ExportFormat``."""
