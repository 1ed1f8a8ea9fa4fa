"""The registry of what a dossier consists of: one line per file, each made from the same facts."""

import json
from collections.abc import Callable
from dataclasses import dataclass

import pyarrow as pa

from faircrowd.report.dossier.croissant import croissant
from faircrowd.report.dossier.dataset_card import dataset_card
from faircrowd.report.dossier.dossier_page import render_dossier
from faircrowd.report.dossier.run_facts import RunFacts

__all__ = ["DOCUMENTS", "DossierDocument", "register"]


@dataclass(frozen=True)
class DossierDocument:
    """A file of a dossier.

    Attributes
    ----------
    name : str
    make : callable
        Returns its text, or a table for CSV; None if there is nothing to say.
    """

    name: str
    make: Callable[[RunFacts], str | pa.Table | None]


DOCUMENTS: dict[str, DossierDocument] = {}
"""The documents by name, in the order in which they are made."""


def register(document: DossierDocument) -> None:
    """Add a document."""
    DOCUMENTS[document.name] = document


def _croissant(facts: RunFacts) -> str:
    return json.dumps(croissant(facts), ensure_ascii=False, allow_nan=False, indent=2) + "\n"


def _impact(facts: RunFacts) -> pa.Table | None:
    return None if facts.impact is None else facts.impact.table()


for _document in (
    DossierDocument("dossier.html", render_dossier),
    DossierDocument("README.md", dataset_card),
    DossierDocument("croissant.json", _croissant),
    DossierDocument("ll144.csv", _impact),
):
    register(_document)
