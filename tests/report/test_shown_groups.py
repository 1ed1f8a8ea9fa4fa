"""Many groups: page and terminal show the extremes, and say how many they do not show."""

import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from faircrowd.cli.app import run
from faircrowd.report.shown_groups import MAX_GROUPS, not_shown, shown_groups


@given(st.lists(st.integers(0, 50), min_size=2, max_size=60))
def test_no_group_that_is_not_shown_is_more_extreme(counts: list[int]) -> None:
    rate = np.array(counts) / 50
    shown = shown_groups(np.column_stack([rate, 1 - rate]))
    assert shown.size == min(len(counts), MAX_GROUPS)
    assert shown.tolist() == sorted(set(shown.tolist()))
    hidden = np.delete(rate, shown)
    if hidden.size:
        assert (rate[shown] >= hidden.max()).sum() >= MAX_GROUPS // 2
        assert (rate[shown] <= hidden.min()).sum() >= MAX_GROUPS // 2
    else:
        assert not_shown(len(counts)) == ""


@pytest.fixture(scope="module")
def many(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Sixty groups of 20 tasks each, three votes per task; the share of label 1 rises from group to group."""
    rng = np.random.default_rng(0)
    task = np.arange(1200)
    truth = rng.random(1200) < 0.2 + 0.6 * (task % 60) / 60
    rows = [
        (t, w, int(truth[t] ^ (rng.random() < 0.1)), f"g{t % 60:02}") for t in task for w in rng.choice(9, 3, False)
    ]
    place = tmp_path_factory.mktemp("many")
    pd.DataFrame(rows, columns=["task", "worker", "label", "group"]).to_csv(place / "votes.csv", index=False)
    return place


def test_terminal_and_page_show_the_extremes(many: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["audit", str(many / "votes.csv"), "--group", "group", "--out", str(many / "audit")]) == 0
    said = capsys.readouterr().out
    assert len(re.findall(r"^group g", said, re.MULTILINE)) == MAX_GROUPS
    sentence = not_shown(60).strip()
    assert sentence in " ".join(said.split())
    page = (many / "audit" / "report.html").read_text(encoding="utf-8")
    assert page.count(sentence) >= 3  # the slider's table, and two charts
    groups = pd.read_csv(many / "audit" / "groups.csv").query("label == 1").set_index("group")["rate"]
    shown = set(re.findall(r"^group (g\d\d)", said, re.MULTILINE))
    assert groups.drop(list(shown)).between(*groups[list(shown)].agg(["min", "max"])).all()
    assert groups.idxmax() in shown
    assert groups.idxmin() in shown
