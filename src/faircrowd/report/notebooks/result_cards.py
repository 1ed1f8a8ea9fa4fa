"""The cards of fair labels: results, certificates, frontiers, rules and estimates."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from faircrowd.aggregate.calibration.accuracy_estimate import AccuracyEstimate
from faircrowd.fair.certificate import Certificate
from faircrowd.fair.constraints.constraint_kind import Constraint
from faircrowd.fair.frontier import Frontier
from faircrowd.fair.gap import within
from faircrowd.fair.general.constrained_certificate import ConstrainedCertificate, KeptConstraint
from faircrowd.fair.general.constrained_result import ConstrainedResult, uncertain_words
from faircrowd.fair.general.constrained_rule import ConstrainedRule
from faircrowd.fair.general.limit_frontier import LimitFrontier
from faircrowd.fair.known_labels import GoldEstimates
from faircrowd.fair.make import FairResult
from faircrowd.fair.promise.statement import Promise
from faircrowd.fair.round_limits import round_limits
from faircrowd.fair.rule import FairRule
from faircrowd.report.accuracy_curves import accuracy_curves
from faircrowd.report.constrained.constrained_story import cannot_words, constrained_lines, left_out_words, level_words
from faircrowd.report.notebooks.notebook_card import BAD, BELIEVED, GOOD, Card, CardTable, card_for, number
from faircrowd.report.safe_names import called
from faircrowd.report.shown_groups import not_shown, shown_groups
from faircrowd.report.slider import MAX_CLASSES
from faircrowd.report.summary import fair_lines
from faircrowd.report.words.fair_words import estimate_texts, excess_in_words, gap_texts, in_points
from faircrowd.votes.group_policy import left_out_lines

__all__ = ["constrained_card", "estimate_line", "parity_card"]

_BELIEVED_COST = (
    "Believed accuracy is the mean posterior of the labels. Where workers make the same mistakes it is too high, and "
    "the real cost of a smaller gap may be another: known labels tell (CalibratedCrowd(); plot('frontier', truth=...) "
    "of a FairCrowd)"
)
_UNDER_POSTERIOR = (
    "A certificate takes the posterior as given: it proves that no labels within the limits have a higher believed "
    "value, not that the posterior is right. Warnings about it are on the card and in the summary() of the FairCrowd"
)
_MOST_STOPS = 8
_MOST_RULE = 12
_MOST_ESTIMATES = 16
_MOST_TABLES = 4


def parity_card(
    certificate: Certificate,
    *,
    kind: str = "Certificate",
    sizes: Mapping[str, int] | None = None,
    estimates: GoldEstimates | None = None,
    alarms: Sequence[str] = (),
    notes: Sequence[str] | None = None,
    next_steps: Sequence[str] = (),
    verdict: str = "",
    is_checked: bool = False,
) -> Card:
    """Return the card of fair labels.

    Parameters
    ----------
    certificate : Certificate
    kind : str
        What the object is.
    sizes : mapping of str to int, optional
        Number of tasks of each group.
    estimates : GoldEstimates, optional
        What known labels say.
    alarms, notes, next_steps : sequence of str
        As in :class:`Card`; by default, the notes are what the certificate says.
    verdict : str
        Whether the limit is kept and how many labels are wrong, if that is known.
    is_checked : bool
        Whether ``alarms`` have what speaks against the posterior, if anything does. Otherwise, and unless it was
        calibrated, the card says that it takes the posterior as given.
    """
    c, sizes = certificate, sizes or {}
    found = _joined(fair_lines(c, None, None if estimates is None else estimates.price))
    before, after = gap_texts(c.gap_before, c.gap)
    objective = c.objective if c.positive is None else f"{c.objective} of {c.positive}"
    if notes is None:
        excess = excess_in_words(c)
        notes = [*([] if excess is None else [excess]), *left_out_lines(c.left_out, sizes, c.merged_groups)]
    return Card(
        kind,
        asked=f"best believed {objective} with a gap of at most {c.epsilon:g}, {c.decision}; {c.tasks:,} tasks",
        answer=verdict or found["fair"],
        mark=_mark(c, is_checked) if within(c.gap, max(c.gap_allowed, c.epsilon)) else BAD,
        alarms=alarms,
        numbers=[
            ("gap between groups, before → after", f"{before} → {after}"),
            ("labels changed", f"{c.changed:,} ({c.changed_share:.1%})"),
            _believed(c.believed_accuracy_before, c.believed_accuracy),
            *_estimated(estimates),
        ],
        tables=[_rates(c, sizes)],
        lines=[
            *([("fair", found["fair"])] if verdict else []),
            *((key, found[key]) for key in ("promise", "optimum", "bound", "rule") if found.get(key)),
        ],
        notes=notes,
        next_steps=next_steps,
    )


def _mark(certificate: Certificate | ConstrainedCertificate, is_checked: bool) -> str:
    return GOOD if is_checked or certificate.calibration is not None else BELIEVED


def _joined(lines: Sequence[tuple[str, str]]) -> dict[str, str]:
    """Return lines of the terminal by heading; a line without one goes on with the line before.

    Examples
    --------
    >>> _joined([("rule", "the highest wins, after these changes:"), ("", "  a: none")])
    {'rule': 'the highest wins, after these changes: a: none'}
    """
    found: dict[str, str] = {}
    last = ""
    for heading, text in lines:
        last = heading or last
        found[last] = (
            f"{found[last]}{' ' if found[last].endswith(':') else '; '}{text.strip()}" if not heading else text
        )
    return found


def _believed(before: float, after: float) -> tuple[str, str]:
    return f"believed accuracy ({before:.1%} before): the mean posterior of the labels", f"{after:.1%}"


def _estimated(estimates: GoldEstimates | None) -> list[tuple[str, str]]:
    return [] if estimates is None else [estimate_line("accuracy", estimates.accuracy)]


def estimate_line(what: str, found: AccuracyEstimate) -> tuple[str, str]:
    """Return a number that is estimated from known labels, with its interval, for large print."""
    value, low, high = estimate_texts(found)
    sure = f"{100 * found.confidence:g}%"
    return f"{what} as estimated from {found.n_gold:,} known labels ({low} to {high}, {sure})", value


def _rates(c: Certificate, sizes: Mapping[str, int]) -> CardTable:
    """Return the rates by group, before and after."""
    groups, classes = list(c.rates), list(next(iter(c.rates.values()), {}))
    before = np.array([[c.rates_before[group][name] for name in classes] for group in groups])
    widest = np.sort(np.argsort(-np.ptp(before, axis=0), kind="stable")[:MAX_CLASSES])
    shown = [classes[k] for k in widest]
    more = not_shown(len(groups))
    if len(classes) > len(shown):
        more += f" Of {len(classes):,} labels, the {len(shown)} whose rates differ most are shown."
    return CardTable(
        "Share of each label by group, before → after",
        ["group", *(["tasks"] if sizes else []), *called("label", shown)],
        [
            [
                f"{groups[a]} (left out)" if groups[a] in c.left_out else groups[a],
                *([f"{sizes[groups[a]]:,}"] if sizes else []),
                *(_moved(c.rates_before[groups[a]][name], c.rates[groups[a]][name]) for name in shown),
            ]
            for a in shown_groups(before)
        ],
        more,
    )


def _moved(before: float, after: float) -> str:
    texts = f"{before:.1%}", f"{after:.1%}"
    return texts[0] if texts[0] == texts[1] else " → ".join(texts)


@card_for.register
def _certificate(result: Certificate) -> Card:
    card = parity_card(result, next_steps=["to_frame()", "verify(posterior, groups, labels)", "to_dict()"])
    return _under_posterior(card, result)


@card_for.register
def _fair_result(result: FairResult) -> Card:
    names = result.problem.groups.names
    return parity_card(
        result.certificate,
        kind="FairResult",
        sizes=dict(zip(names, result.problem.sizes.tolist(), strict=True)),
        alarms=[result.alarm] if result.alarm else [],
        next_steps=["labels", "plot()", "frontier.plot()", "to_frame()", "rule", "certificate"],
    )


def constrained_card(
    certificate: ConstrainedCertificate,
    *,
    kind: str = "ConstrainedCertificate",
    estimates: GoldEstimates | None = None,
    alarms: Sequence[str] = (),
    notes: Sequence[str] | None = None,
    next_steps: Sequence[str] = (),
    is_checked: bool = False,
) -> Card:
    """Return the card of labels under a list of constraints; parameters are those of ``parity_card``."""
    c = certificate
    found = constrained_lines(c, None, None if estimates is None else estimates.price)
    if notes is None:
        notes = [
            *([c.why] if c.why else []),
            *(left_out_words(kept.text, kept.left_out) for kept in c.constraints if kept.left_out),
        ]
    reviewed = [("tasks to review", f"{c.reviewed:,}")] if c.reviewed else []
    return Card(
        kind,
        asked=f"best believed {c.objective} that keeps the constraints, {c.decision}; {c.tasks:,} tasks",
        answer=found[0][1],
        mark=_mark(c, is_checked) if c.kept else BAD,
        alarms=alarms,
        numbers=[
            ("constraints kept", f"{sum(kept.kept for kept in c.constraints)} of {len(c.constraints)}"),
            ("labels changed", f"{c.changed:,} ({c.changed_share:.1%})"),
            *reviewed,
            _believed(c.believed_accuracy_before, c.believed_accuracy),
            *_estimated(estimates),
        ],
        tables=[_levels(c.constraints), *_groups(c.constraints)],
        lines=[line for line in found if line[0] in ("optimum", "bound")],
        notes=[*notes, *(f"{kept.text}: {uncertain_words(kept)}" for kept in c.constraints if kept.uncertain)],
        next_steps=next_steps,
    )


def _levels(constraints: Sequence[KeptConstraint]) -> CardTable:
    return CardTable(
        "Constraints",
        ["constraint", "before", "after", "limit", "kept"],
        [
            [
                f"{kept.text} (as believed)" if kept.is_believed else kept.text,
                f"{kept.level_before:.4f}",
                f"{kept.level:.4f}",
                "" if kept.limit is None else f"{kept.limit:g}",
                "yes" if kept.kept else "NO",
            ]
            for kept in constraints
        ],
    )


def _groups(constraints: Sequence[KeptConstraint]) -> list[CardTable]:
    """Return the groups of the comparison that decides each constraint, before and after."""
    tables: list[CardTable] = []
    for kept in constraints:
        compared = [one for one in kept.comparisons if len(one["values"]) > 1]
        if not compared or len(tables) == _MOST_TABLES:
            continue
        worst = min(compared, key=lambda one: abs(one["level"] - kept.level))
        values, before = worst["values"], worst["values_before"]
        names = list(values)
        shown = [names[a] for a in shown_groups(np.array([[before[name]] for name in names]))]
        others = len(kept.comparisons) - 1
        more = not_shown(len(names))
        more += f" {others:,} other comparison{'s' * (others > 1)} in to_frame()." if others else ""
        rows = [[name, _moved(before[name], values[name])] for name in shown]
        tables.append(CardTable(kept.text, ["group", worst["about"]], rows, more))
    return tables


@card_for.register
def _constrained_certificate(result: ConstrainedCertificate) -> Card:
    return _under_posterior(constrained_card(result, next_steps=["to_frame()", "to_dict()"]), result)


def _under_posterior(card: Card, certificate: Certificate | ConstrainedCertificate) -> Card:
    """Add to the card of a certificate what it does not say, unless the posterior was calibrated."""
    return card if certificate.calibration is not None else replace(card, notes=[*card.notes, _UNDER_POSTERIOR])


@card_for.register
def _constrained_result(result: ConstrainedResult) -> Card:
    return constrained_card(
        result.certificate,
        kind="ConstrainedResult",
        alarms=[result.alarm] if result.alarm else [],
        next_steps=["labels", "plot()", "frontier.plot()", "to_frame()", "rule", "certificate"],
    )


@card_for.register
def _kept(result: KeptConstraint) -> Card:
    return Card(
        "KeptConstraint",
        asked=result.text,
        answer=level_words(result),
        mark=(BELIEVED if result.is_believed else GOOD) if result.kept else BAD,
        tables=_groups([result]),
        notes=[left_out_words(result.text, result.left_out)] if result.left_out else [],
    )


@card_for.register
def _frontier(result: Frontier) -> Card:
    curves = accuracy_curves(result)
    stops = sorted(
        {0.0, result.widest, *(gap for gap in round_limits(result.widest, None, _MOST_STOPS) if gap < result.widest)}
    )
    return Card(
        "Frontier",
        asked=f"every epsilon from {result.widest:.3f}, the gap without a constraint, to 0",
        answer=f"no gap at all costs {in_points(curves[0].price(0.0))} of believed accuracy, and "
        f"{result.at(0.0).changed:,.0f} changed labels",
        tables=[
            CardTable(
                "The best that labels drawn at random reach on average",
                ["gap at most", "labels changed", *(f"{curve.name} accuracy" for curve in curves)],
                [
                    [
                        f"{gap:.3g}",
                        f"{result.at(min(gap, 1.0)).changed:,.0f}",
                        *(curve.in_words(gap) for curve in curves),
                    ]
                    for gap in stops
                ],
            )
        ],
        lines=[("points", f"{result.points:,}, {'exact between them too' if result.exact else 'certified each'}")],
        notes=[_BELIEVED_COST] if len(curves) == 1 else [],
        next_steps=["plot()", "to_frame()", "at(0.05)"],
    )


@card_for.register
def _limits(result: LimitFrontier) -> Card:
    constraint: Constraint = result.constraint
    cannot = result.impossible
    own = [
        f"{point.limit:g} (asked for)" if point.limit == constraint.level else f"{point.limit:g}" for point in result
    ]
    return Card(
        "LimitFrontier",
        asked=f"what other limits of {result.text} would give, the other constraints fixed",
        answer=cannot_words(constraint, list(result.limits), list(cannot)) if cannot else "",
        tables=[
            CardTable(
                "The labels of each limit",
                ["limit", "level", "labels changed", f"believed {result.objective}"],
                [
                    [
                        name,
                        number(point.level, ".4f") if point.can_hold else "cannot be kept",
                        "–" if point.changed is None else f"{point.changed:,}",
                        number(point.value, ".2%" if result.objective == "accuracy" else ".4f"),
                    ]
                    for name, point in zip(own, result, strict=True)
                ],
            )
        ],
        next_steps=["plot()", "to_frame()"],
    )


@card_for.register
def _rule(result: FairRule) -> Card:
    return _rule_card("FairRule", str(result), f"for new tasks, learned with epsilon {result.epsilon:g}")


@card_for.register
def _constrained_rule(result: ConstrainedRule) -> Card:
    return _rule_card("ConstrainedRule", str(result), f"for new tasks, by {', '.join(result.columns) or 'no column'}")


def _rule_card(kind: str, words: str, asked: str) -> Card:
    head, *lines = [line.strip() for line in words.splitlines()]
    more = len(lines) - _MOST_RULE
    shown = [("", line) for line in lines[:_MOST_RULE]]
    shown += [("", f"and {more:,} more lines: print it")] if more > 0 else []
    calls = ["predict(posterior, groups)", "to_sql()", "to_json()"]
    return Card(kind, asked=asked, answer=head, lines=shown, next_steps=calls)


@card_for.register
def _estimate(result: AccuracyEstimate) -> Card:
    return Card("AccuracyEstimate", answer=str(result))


@card_for.register
def _gold(result: GoldEstimates) -> Card:
    named = [
        ("accuracy", "share", result.accuracy),
        ("accuracy before fairness", "share", result.accuracy_before),
        ("price of fairness", "points", result.price),
        ("gap of the true labels", "gap", result.truth_gap),
        *((f"accuracy in group {name}", "share", found) for name, found in result.group_accuracy.items()),
    ]
    rows = []
    for what, unit, found in named[:_MOST_ESTIMATES]:
        if found is None:
            rows.append([what, "–", "too few known labels", ""])
        else:
            value, low, high = estimate_texts(found, unit)
            rows.append([what, value, f"{low} to {high}", f"{found.n_gold:,}"])
    more = len(named) - len(rows)
    sure = f"{100 * result.accuracy.confidence:g}% interval"
    return Card(
        "GoldEstimates",
        asked="what known labels say about the fair labels",
        tables=[
            CardTable("", ["", "estimate", sure, "known labels"], rows, f"{more:,} more in to_frame()." * (more > 0))
        ],
        next_steps=["to_frame()"],
    )


@card_for.register
def _promise(result: Promise) -> Card:
    return Card("Promise", answer=str(result), mark=GOOD if result.enough else BAD)
