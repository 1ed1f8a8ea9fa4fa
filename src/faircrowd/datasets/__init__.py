"""Data sets: the paper's crowds, and prepared tables of your own.

>>> from faircrowd.datasets import load_synthetic
>>> crowd = load_synthetic()
>>> crowd.votes.columns.tolist()
['task', 'worker', 'label']
"""

from faircrowd.datasets.loaders import (
    Crowd,
    load_crowd_judgement,
    load_jigsaw_toxicity,
    load_measuring_hate_speech,
    load_synthetic,
    load_tables,
)

__all__ = [
    "Crowd",
    "load_crowd_judgement",
    "load_jigsaw_toxicity",
    "load_measuring_hate_speech",
    "load_synthetic",
    "load_tables",
]
