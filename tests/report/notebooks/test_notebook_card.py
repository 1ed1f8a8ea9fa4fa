"""Cards: escaped, without scripts, the same every time, and with what matters."""

import html
import re
from dataclasses import replace
from html.parser import HTMLParser

import numpy as np
import pandas as pd
import pytest

import faircrowd as fc
import notebook_objects
from faircrowd import audit, make_fair
from faircrowd.constraints import parse_constraint
from faircrowd.report.notebooks import Card, card_for
from faircrowd.report.notebooks.notebook_card import BAD, BELIEVED, GOOD, OPEN, CardTable, render

HOSTILE = [
    "</style><script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    '" onmouseover="alert(1)',
    "a & b\u202e",
]


class Reader(HTMLParser):
    """Tags and texts of a page, and whether every element is closed."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: set[str] = set()
        self.open: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.open.append(tag)
        self.attributes |= {name for name, _ in attrs}

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def plain(shown: str) -> str:
    """The text of a card."""
    return html.unescape(re.sub(r"<style>.*?</style>|<[^>]*>", " ", shown, flags=re.S))


def test_cards_are_whole_and_have_no_scripts() -> None:
    tags = {"div", "style", "span", "b", "table", "caption", "thead", "tbody", "tr", "th", "td", "ul", "li", "code"}
    for name, one in notebook_objects.shown().items():
        shown = one._repr_html_()
        found = Reader(shown)
        assert found.open == [], name
        assert set(found.tags) <= tags, name
        assert found.attributes <= {"class"}, name
        assert shown == one._repr_html_(), name
        assert "nan" not in plain(shown).lower().split(), name


def test_styles_apply_to_cards_alone() -> None:
    (style,) = re.findall(r"<style>(.*?)</style>", render(Card("x")), flags=re.S)
    plainly = re.sub(r"@media[^{]*\{(.*?\})\s*\}", r"\1", style, flags=re.S)
    selectors = [one.strip() for rule in re.findall(r"([^{}]+)\{[^{}]*\}", plainly) for one in rule.split(",")]
    assert len(selectors) > 20
    assert all(one.startswith(".faircrowd-card") for one in selectors), selectors
    assert "prefers-color-scheme: dark" in style
    assert "url(" not in style and "@import" not in style  # noqa: PT018


def test_hostile_names_are_shown_as_text() -> None:
    rng = np.random.default_rng(0)
    n = 200
    values = rng.dirichlet(np.ones(2), n)
    posterior = pd.DataFrame(values, index=[f"{HOSTILE[0]}{i}" for i in range(n)], columns=HOSTILE[:2])
    groups = pd.DataFrame({HOSTILE[2]: [HOSTILE[i % 4] for i in range(n)]}, index=posterior.index)
    result = make_fair(posterior, groups[HOSTILE[2]], epsilon=0.05)
    labels = result.labels
    asked = [parse_constraint("parity <= 0.1"), parse_constraint("changed <= 0.5")]
    second = make_fair(posterior, groups, constraints=asked)
    for one in (
        *(result, result.certificate, result.rule, second, second.certificate, second.rule, second.frontier),
        audit.check_labels(labels, groups[HOSTILE[2]], epsilon=0.1),
        audit.impact_table(labels, sensitive_features=groups, selected=HOSTILE[0]),
        *audit.measure_constraints(labels, ["parity <= 0.1"], sensitive_features=groups),
    ):
        shown = one._repr_html_()
        assert "<script" not in shown and "<img" not in shown and 'onmouseover="' not in shown  # noqa: PT018
        assert "\u202e" not in shown
        found = Reader(shown)
        assert found.open == [] and found.attributes <= {"class"}  # noqa: PT018
    assert "<img src=x onerror=alert(1)>" in plain(result._repr_html_())


def test_hostile_workers_are_shown_as_text() -> None:
    crowd = notebook_objects.crowd()
    votes = crowd.votes.assign(worker=[f"{HOSTILE[w % 3]}{w}" for w in crowd.votes["worker"]])
    groups = crowd.sensitive_features.map(dict(enumerate(HOSTILE)))
    table = fc.read_votes(votes, sensitive_features=groups)
    labels = fc.MajorityVote().fit(table).labels_
    for one in (audit.audit_crowd(table, labels), audit.pair_agreement(table, labels)):
        shown = one._repr_html_()
        assert "<script" not in shown and "<img" not in shown  # noqa: PT018
        assert Reader(shown).attributes <= {"class"}


def test_fair_labels_say_what_matters() -> None:
    fair = notebook_objects.fair()
    c, said = fair.certificate_, plain(fair._repr_html_())
    for part in (
        f"gap of at most {c.epsilon:g}",
        f"{c.gap_before:.3f} → {c.gap:.3f}",
        f"{c.changed:,} ({c.changed_share:.1%})",
        f"{c.believed_accuracy:.1%}",
        "believed accuracy",
        *(f"{c.rates_before['0'][name]:.1%} → {c.rates['0'][name]:.1%}" for name in ("0", "1")),
    ):
        assert part in said, part
    assert "estimated" not in said


def test_estimated_accuracy_is_shown_with_its_interval() -> None:
    fair = notebook_objects.calibrated()
    found, said = fair.accuracy_, plain(fair._repr_html_())
    assert f"{found.estimate:.1%}" in said
    assert f"({found.low:.1%} to {found.high:.1%}, 95%)" in said
    assert "estimated from 60 known labels" in said


def test_constraints_say_what_is_kept() -> None:
    fair = notebook_objects.constrained()
    said = plain(fair._repr_html_())
    for kept in fair.certificate_.constraints:
        assert kept.text in said
        assert f"{kept.level_before:.4f}" in said and f"{kept.level:.4f}" in said  # noqa: PT018
    assert "3 of 3" in said


def test_labels_that_were_ruined_are_warned_of() -> None:
    posterior = np.array([[0.1, 0.9]] * 50 + [[0.9, 0.1]] * 50)
    with pytest.warns(fc.errors.DrasticChangeWarning):
        result = make_fair(posterior, [0] * 50 + [1] * 50, epsilon=0.0)
    assert result.alarm
    assert "Warning:" in plain(result._repr_html_())
    assert "Warning:" not in plain(notebook_objects.fair().result_._repr_html_())


def test_doubts_stand_above_the_believed_accuracy() -> None:
    """Votes that go together make the posterior too certain; the card says so before it shows the number."""
    crowd = fc.simulate_crowd(1000, 30, 10, random_state=0)
    guesses = np.random.default_rng(0).integers(0, 2, len(crowd.votes))
    hard = crowd.votes["task"] % 5 == 0  # so hard that workers can only guess
    votes = crowd.votes.assign(label=crowd.votes["label"].where(~hard, guesses))
    fair = fc.FairCrowd(fc.DawidSkene()).fit(votes, sensitive_features=crowd.sensitive_features)
    assert audit.check_independence(fair.estimator_).rejected
    said = plain(fair._repr_html_())
    assert said.index("go together more than the model allows") < said.index("believed accuracy (")


def test_marks_say_whether_it_is_as_asked() -> None:
    crowd, fair = notebook_objects.crowd(), notebook_objects.fair()
    groups = crowd.sensitive_features
    own = fc.MajorityVote().fit(crowd.votes).labels_
    assert card_for(fair.certificate_).mark == BELIEVED
    assert card_for(audit.check_labels(own, groups, epsilon=0.0, these_tasks=True)).mark == BAD
    assert card_for(audit.check_labels(own, groups, epsilon=0.5)).mark == GOOD
    assert card_for(fc.DawidSkene()).mark == OPEN


def test_models_that_are_not_fitted_say_so() -> None:
    for one in (fc.FairCrowd(fc.GLAD(), epsilon=0.2), fc.GLAD(), fc.baselines.FairTD()):
        assert "not fitted" in plain(one._repr_html_()) or "epsilon" in plain(one._repr_html_())
    said = plain(fc.FairCrowd(fc.GLAD(), epsilon=0.2)._repr_html_())
    assert "a gap of at most 0.2, from GLAD()" in said


def test_many_groups_and_labels_are_cut() -> None:
    rng = np.random.default_rng(0)
    values = rng.dirichlet(np.ones(30), 5000)
    result = make_fair(values, [f"g{i % 50}" for i in range(5000)], epsilon=0.5)
    said = plain(result._repr_html_())
    assert "38 are not" in said
    assert "Of 30 labels" in said
    assert len(result._repr_html_()) < 20_000


def test_a_table_has_as_many_cells_as_columns() -> None:
    def check(card: Card) -> None:
        for table in card.tables:
            assert isinstance(table, CardTable)
            assert {len(row) for row in table.rows} <= {len(table.columns)}

    for one in notebook_objects.shown().values():
        if not isinstance(one, fc.FairCrowd):
            check(card_for(one))


@pytest.mark.parametrize("asked", [{"epsilon": 0.02}, {"constraints": [parse_constraint("parity(group) <= 0.02")]}])
def test_what_is_only_bounded_is_shown_as_a_bound(asked: dict[str, object]) -> None:
    rng = np.random.default_rng(0)
    posterior, group = rng.dirichlet([1, 1, 1], 60), pd.DataFrame({"group": rng.integers(0, 3, 60)})
    given = group if "constraints" in asked else group["group"]
    certificate = make_fair(posterior, given, **asked).certificate
    for optimal, heading in ((True, "optimum"), (False, "bound")):
        card = card_for(replace(certificate, optimal=optimal))
        assert [line[0] for line in card.lines if line[0] in ("optimum", "bound")] == [heading]


def test_a_warning_takes_the_tick_away() -> None:
    kept = Card("FairResult", answer="the gap fell", mark=GOOD)
    assert "✓" in render(kept)
    warned = render(replace(kept, alarms=["half of the labels were changed"]))
    assert "✓" not in warned
    assert "As asked for, with a warning." in warned
    assert "✗" in render(replace(kept, mark=BAD, alarms=["too few"]))


def test_a_frontier_says_whose_accuracy_it_has() -> None:
    fair, crowd = notebook_objects.fair(), notebook_objects.crowd()
    assert "Where workers make the same mistakes it is too high" in plain(fair.frontier_._repr_html_())
    codes = np.asarray(crowd.truth, dtype=np.int32)
    known = fair.result_.frontier_against(codes)
    assert "same mistakes" not in plain(known._repr_html_())


def test_the_card_names_the_model_with_its_parameters() -> None:
    crowd = notebook_objects.crowd()
    fair = fc.FairCrowd(fc.DawidSkene(pooling="learned"), epsilon=0.1)
    fair.fit(crowd.votes, sensitive_features=crowd.sensitive_features)
    assert "fair labels of DawidSkene(pooling='learned')" in plain(fair._repr_html_())


def test_a_certificate_is_no_all_clear() -> None:
    """It knows nothing of what speaks against the posterior; a tick is for what was checked, or calibrated."""
    crowd = fc.simulate_crowd(300, 20, random_state=0)
    groups = crowd.sensitive_features
    fair = fc.FairCrowd(fc.MajorityVote()).fit(crowd.votes, sensitive_features=groups)
    assert "✓" in fair._repr_html_()
    constrained = fc.FairCrowd(fc.MajorityVote(), constraints=[parse_constraint("parity <= 0.05")])
    constrained = constrained.fit(crowd.votes, sensitive_features=groups.rename("side").to_frame())
    for one in (fair.certificate_, fair.result_, constrained.certificate_, constrained.result_):
        shown = plain(one._repr_html_())
        assert "✓" not in shown
        assert "As asked for, if the posterior is right." in shown
    for one in (fair.certificate_, constrained.certificate_):
        assert "not that the posterior is right" in one._repr_html_()
    from_posterior = fc.FairCrowd(None).fit(fair.probas_, sensitive_features=groups)
    assert "if the posterior is right" in plain(from_posterior._repr_html_())
    known = crowd.truth.sample(100, random_state=0)
    honest = fc.FairCrowd(fc.CalibratedCrowd(fc.MajorityVote())).fit(crowd.votes, known, sensitive_features=groups)
    assert "✓" in honest.certificate_._repr_html_()
