"""Rules in words: thresholds near 0 and 1 are told from these."""

import pytest

from faircrowd import make_fair
from faircrowd.fair.rule_forms.rule_words import threshold_text


@pytest.mark.parametrize("threshold", [0.5, 0.0011, 1e-3, 9e-4, 3.2e-9, 1 - 4e-7, 0.9995])
def test_thresholds_have_as_many_digits_as_they_need(threshold: float) -> None:
    text = threshold_text(threshold)
    value = 1 - float(text.removeprefix("1 - ")) if text.startswith("1 - ") else float(text)
    assert value == pytest.approx(threshold, rel=0.06)
    assert 1 - value == pytest.approx(1 - threshold, rel=0.06)
    assert 0 < value < 1


def test_a_rule_never_asks_for_a_posterior_above_none() -> None:
    small = (2e-6, 3e-6, 4e-6, 5e-6)
    posterior = [[1 - p, p] for p in (*small, *(1 - p for p in small))]
    words = make_fair(posterior, ["a"] * 4 + ["b"] * 4, epsilon=0.5).certificate.thresholds
    assert "above 0.0000" not in words
    assert "above 1.0000" not in words
    assert "e-06" in words
