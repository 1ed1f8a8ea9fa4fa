"""Cards of audits and gates: what they ask and answer, in words."""

import html
import re

import pytest

import notebook_objects


@pytest.mark.parametrize(
    ("name", "question"),
    [
        ("Verdict", "is the gap of all tasks like these at most 0.1 (95% confidence)?"),
        ("RequirementsVerdict", "do the labels of all tasks like these keep the constraints (95% confidence)?"),
    ],
)
def test_a_gate_says_what_it_asks(name: str, question: str) -> None:
    found = notebook_objects.shown()[name]
    words = " ".join(re.sub("<[^>]+>", " ", found._repr_html_()).split())
    assert question in words
    assert found.reason in html.unescape(words)
