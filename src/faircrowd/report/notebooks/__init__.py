"""Results as notebooks show them: cards, charts and frames.

Each kind of result has a function in ``result_cards``, ``audit_cards``, ``model_cards`` or ``classifier_cards`` that
says what its card has (:class:`~faircrowd.report.notebooks.notebook_card.Card`), one in ``result_charts`` if it can be
drawn, and one in ``result_frames`` if it is a table. Results call these by :mod:`faircrowd._display`.
"""

from faircrowd.report.notebooks import audit_cards, classifier_cards, model_cards, result_cards
from faircrowd.report.notebooks.notebook_card import Card, card_for, html_of
from faircrowd.report.notebooks.notebook_chart import Chart
from faircrowd.report.notebooks.result_charts import plot_of
from faircrowd.report.notebooks.result_frames import table_of

__all__ = [
    "Card",
    "Chart",
    "audit_cards",
    "card_for",
    "classifier_cards",
    "html_of",
    "model_cards",
    "plot_of",
    "result_cards",
    "table_of",
]
