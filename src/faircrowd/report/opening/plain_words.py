"""The opening of the page in plain words: what was labelled, what fairness changed and costs, what is not known."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple, TypeAlias

from faircrowd.fair.certificate import Certificate
from faircrowd.fair.gap import within
from faircrowd.fair.general.constrained_certificate import ConstrainedCertificate, KeptConstraint
from faircrowd.report.safe_names import called, group_in_words, short
from faircrowd.report.summary import Summary
from faircrowd.report.words.fair_words import estimate_texts, estimated_gap_in_words, in_points

__all__ = [
    "Named",
    "Part",
    "Said",
    "constrained_opening",
    "constrained_verdict",
    "parity_opening",
    "parity_verdict",
    "plain_opening",
    "plain_verdict",
    "text_of",
]

_MAX_NAMED_CHANGES = 3
_MAX_NAMED_GROUPS = 5
_MAX_NAMED_CONSTRAINTS = 4
_LONGEST_NAME = 60


_ASKED = {
    "parity": "the groups of {columns} get a label at most {points} points more often than each other",
    "ratio": "no group of {columns} gets the label less than {limit:g} times as often as another",
    "opportunity": "tasks that should have the label get it at most {points} points more often in a group of {columns}",
    "odds": "tasks with the same true label get a label at most {points} points more often in a group of {columns}",
    "accuracy": "labels are right at most {points} points more often in one group of {columns} than in another",
    "changed": "at most {points}% of the labels are changed",
    "reviewed": "at most {points}% of the tasks are left to a person",
}
"""What the words of constraints ask for."""


class Said(NamedTuple):
    """A word that the page explains: the key of its meaning in ``TERMS``, and the word as it is written here."""

    key: str
    word: str


class Named(NamedTuple):
    """A name from the data, which is shown apart from the text around it."""

    name: str


Part: TypeAlias = str | Said | Named


def text_of(parts: Sequence[Part]) -> str:
    """Return parts of a sentence as one text.

    Examples
    --------
    >>> text_of(["The ", Said("gap", "gap"), " of ", Named("a"), "."])
    'The gap of a.'
    """
    return "".join(part if isinstance(part, str) else part[-1] for part in parts)


# Verdicts: one line each.


def plain_verdict(summary: Summary) -> str:
    """Return what a run without groups gave."""
    return f"{summary.tasks:,} tasks have one label each, from {summary.votes:,} votes."


def parity_verdict(certificate: Certificate, summary: Summary | None = None, *, asked: bool) -> str:
    """Return whether labels keep the gap that was asked for and, of a run, how many of them are wrong.

    Examples
    --------
    >>> import numpy as np
    >>> from faircrowd import make_fair
    >>> p = np.array([0.9, 0.8, 0.7, 0.6, 0.4, 0.3, 0.2, 0.1])
    >>> fair = make_fair(np.stack([1 - p, p], axis=1), [1, 1, 1, 1, 0, 0, 0, 0], epsilon=0.5)
    >>> parity_verdict(fair.certificate, asked=True)
    'The labels keep the limit: the groups are 50.0 points apart (50.0 allowed, 100.0 before).'
    """
    c, but = certificate, _but(summary)
    digits = next((n for n in (1, 2, 3, 4) if within(c.gap, c.epsilon) or _differ(c.gap, c.epsilon, n)), 6)
    now, before, limit = (_number(value, digits) for value in (c.gap, c.gap_before, c.epsilon))
    if not asked:
        return f"The groups are {before} points apart; no limit was set."
    if c.changed == 0 and within(c.gap, c.epsilon):
        return (
            f"The labels kept the limit from the start{but}: the groups are {now} points apart, "
            f"at most {limit} are allowed."
        )
    apart = f"the groups are {now} points apart ({limit} allowed, {before} before)"
    if within(c.gap, c.epsilon):
        return f"The labels keep the limit{but}: {apart}."
    if c.decision == "randomized":
        return f"The labels keep the limit on average over random draws{but}; in this one {apart}."
    if within(c.gap, c.gap_allowed):
        return f"The labels keep the limit as far as whole tasks allow{but}: {apart}."
    return f"The labels MISS the limit: {apart}."


def constrained_verdict(certificate: ConstrainedCertificate, summary: Summary | None = None) -> str:
    """Return whether labels keep the constraints and, of a run, how many of them are wrong."""
    kept = sum(one.kept for one in certificate.constraints)
    total = len(certificate.constraints)
    all_of = {1: "The requirement", 2: "Both requirements"}.get(total, f"All {total:,} requirements")
    if kept < total:
        missed = total - kept
        return f"{missed:,} of {total:,} requirements {'is' if missed == 1 else 'are'} MISSED."
    as_believed = any(one.is_believed for one in certificate.constraints)
    so_far = ", if the method's own probabilities are right" if as_believed else ""
    return f"{all_of} {'is' if total == 1 else 'are'} kept{so_far}{_but(summary)}."


def _but(summary: Summary | None) -> str:
    """Say how many labels are wrong: a limit that is kept says nothing about it."""
    s = summary
    if s is None:
        return ""
    if s.accuracy is not None and not s.accuracy_in_sample:
        which = "them" if s.truths == s.tasks else f"the {s.truths:,} that can be checked"
        return f", but {_wrong(s.accuracy, s.accuracy_before, which)}" if s.accuracy < 1 else ""
    if s.estimated_accuracy is not None:
        how = "" if s.estimated_accuracy.n_gold == s.tasks else "an estimated "
        before = None if s.estimated_accuracy_before is None else s.estimated_accuracy_before.estimate
        return f", but {how}{_wrong(s.estimated_accuracy.estimate, before, 'them')}"
    return ", but how many of them are right is not known"


def _wrong(accuracy: float, before: float | None, which: str) -> str:
    """Return how many labels are wrong, and how many of the aggregator's own were.

    Examples
    --------
    >>> _wrong(0.69, 0.73, "them"), _wrong(0.951, None, "them")
    ('31% of them are wrong (27% before)', '4.9% of them are wrong')
    """
    # Accuracy is shown with one decimal elsewhere: the two add up to 100%.
    shown = (f"{one:.1%}" for one in (accuracy, accuracy if before is None else before))
    wrong = [1 - float(text.removesuffix("%")) / 100 for text in shown]
    now, was = (f"{share:.0%}" if share >= 0.1 else f"{share:.1%}" for share in wrong)
    return f"{now} of {which} are wrong" + ("" if now == was else f" ({was} before)")


# Openings: a paragraph each.


def plain_opening(summary: Summary, *, who: str = "people") -> list[Part]:
    """Return the opening of a page that compares no groups."""
    return [*_labelled(summary, who), *_accuracy(summary), *_not_known(summary, None, "")]


def parity_opening(
    summary: Summary,
    certificate: Certificate,
    columns: Sequence[str],
    *,
    asked: bool,
    who: str = "people",
    right: Mapping[str, tuple[float, float]] | None = None,
) -> list[Part]:
    """Return the opening of a page about the gap between groups.

    Parameters
    ----------
    columns : sequence of str
        Those of the groups.
    asked : bool
        Whether an epsilon was asked for.
    who : str
        Who voted.
    right : mapping, optional
        From groups to their share of right labels, before and after, where the truth is known.
    """
    c = certificate
    return [
        *_labelled(summary, who),
        *_apart(c, columns, asked=asked),
        *_accuracy(summary),
        *_who_pays(right or {}, columns),
        *_not_known(summary, c.gap if asked else None, "" if c.promise is None else "promised"),
    ]


def constrained_opening(
    summary: Summary,
    certificate: ConstrainedCertificate,
    columns: Sequence[Sequence[str]],
    *,
    who: str = "people",
) -> list[Part]:
    """Return the opening of a page about labels under constraints; ``columns`` are those that each compares."""
    c = certificate
    said: list[Part] = [*_labelled(summary, who)]
    for one, compared in list(zip(c.constraints, columns, strict=True))[:_MAX_NAMED_CONSTRAINTS]:
        said += _kept_in_words(one, compared)
    if len(c.constraints) > _MAX_NAMED_CONSTRAINTS:
        said.append(f"The table below has {len(c.constraints) - _MAX_NAMED_CONSTRAINTS:,} more. ")
    said.append(f"For this, {_labels(c.changed)} ({c.changed_share:.1%}) {'was' if c.changed == 1 else 'were'} ")
    said += [Said("changed", "changed"), f"; {c.reviewed:,} tasks are left to a person. " if c.reviewed else ". "]
    return [*said, *_accuracy(summary, "the requirements"), *_not_known(summary, None, "")]


def _labelled(summary: Summary, who: str) -> list[Part]:
    each = summary.votes / max(summary.tasks, 1)
    return [
        f"{summary.tasks:,} tasks were labelled by {summary.workers:,} {who}, who gave {summary.votes:,} ",
        Said("vote", "votes"),
        f" ({each:.1f} per task); the votes on a task were merged into one label. ",
    ]


def _apart(c: Certificate, columns: Sequence[str], *, asked: bool) -> list[Part]:
    """Say which groups are furthest apart before, and what became of them."""
    found = _furthest(c.rates_before, c.left_out)
    if found is None:
        return []
    label, most, least = found
    (called_label,) = called("label", [short(label, _LONGEST_NAME)])
    high, low = (Named(group_in_words(name, columns)) for name in (most, least))
    rates = c.rates_before[most][label], c.rates_before[least][label]
    said: list[Part] = [
        "Without a limit, " if asked else "",
        Named(f"“{called_label}”" if called_label == short(label, _LONGEST_NAME) else called_label),
        f" {'would go' if asked else 'goes'} to {rates[0]:.1%} of the tasks of ",
        high,
        f" and to {rates[1]:.1%} of those of ",
        low,
        f": {in_points(rates[0] - rates[1], 1)} ",
        Said("gap", "apart"),
        ". ",
    ]
    if not asked:
        return said
    now = c.rates[most][label], c.rates[least][label]
    if c.changed == 0:
        return [*said, f"That is within the limit of {_number(c.epsilon)} ", Said("points", "points"), ". "]
    where: dict[str, int] = {}
    for change in c.changes:
        where[change["group"]] = where.get(change["group"], 0) + change["tasks"]
    most_changed = sorted(where.items(), key=lambda item: -item[1])[:_MAX_NAMED_CHANGES]
    parts: list[Part] = []
    for name, tasks in most_changed:
        parts += [", " if parts else "", f"{tasks:,} in ", Named(group_in_words(name, columns))]
    rest = sum(where.values()) - sum(tasks for _, tasks in most_changed)
    parts.append(f", {rest:,} in other groups" if rest else "")
    return [
        *said,
        "With the ",
        Said("epsilon", f"limit of {_number(c.epsilon)} points"),
        f", it goes to {now[0]:.1%} and {now[1]:.1%}, and no label is more than {_number(c.gap)} points apart between "
        f"any two groups; {_labels(c.changed)} ({c.changed_share:.1%}) {'was' if c.changed == 1 else 'were'} ",
        Said("changed", "changed"),
        " for it: ",
        *parts,
        ". ",
    ]


def _furthest(rates: Mapping[str, Mapping[str, float]], left_out: Mapping[str, str]) -> tuple[str, str, str] | None:
    """Return the label whose rates are furthest apart, and the groups with the highest and the lowest of them."""
    groups = [name for name in rates if name not in left_out]
    if len(groups) < 2:
        return None
    labels = list(rates[groups[0]])
    if len(labels) == 2:
        labels = labels[1:]  # the other is its complement
    spread = {label: [rates[name][label] for name in groups] for label in labels}
    label = max(labels, key=lambda one: max(spread[one]) - min(spread[one]))
    values = spread[label]
    return label, groups[values.index(max(values))], groups[values.index(min(values))]


def _kept_in_words(one: KeptConstraint, columns: Sequence[str]) -> list[Part]:
    """Say what a constraint asks for, in numbers before and after."""
    asked = _asked_in_words(one, short(" and ".join(columns), _LONGEST_NAME) or "the column")
    said: list[Part] = ["Asked for: " if one.kept else "Asked for, and MISSED: ", Named(asked), ". "]
    compared = [item for item in one.comparisons if len(item["values"]) > 1]
    if not compared:
        return [*said[:-1], f": {one.level_before:.1%} before, {one.level:.1%} now. "]
    worst = max(compared, key=lambda item: max(item["values_before"].values()) - min(item["values_before"].values()))
    before, after = worst["values_before"], worst["values"]
    most, least = max(before, key=lambda name: before[name]), min(before, key=lambda name: before[name])
    about = str(worst["about"])
    return [
        *said,
        Named(short(f"{about[0].upper()}{about[1:]}", 120)),
        f": {before[most]:.1%} (",
        Named(short(most, _LONGEST_NAME)),
        f") and {before[least]:.1%} (",
        Named(short(least, _LONGEST_NAME)),
        f") before, {after[most]:.1%} and {after[least]:.1%} now. ",
    ]


def _asked_in_words(one: KeptConstraint, columns: str) -> str:
    """Return what a constraint asks for as a manager would say it; one of the user's own as it is written.

    Examples
    --------
    >>> kept = KeptConstraint("parity(sex) <= 0.05", 0.05, 0.05, 0.04, 0.2, True, False, 0.1, [])
    >>> _asked_in_words(kept, "sex")
    'the groups of sex get a label at most 5.0 points more often than each other'
    """
    found = _ASKED.get(one.text.partition("(")[0].split()[0])
    if found is None or one.limit is None or "within" in one.text:
        return short(one.text, 120)
    return found.format(columns=columns, points=_number(one.limit), limit=one.limit)


def _accuracy(summary: Summary, limit: str = "the limit") -> list[Part]:
    """Say how many labels are right and what fairness costs: counted, else estimated, else only believed."""
    s = summary
    if s.accuracy is not None and not s.accuracy_in_sample:
        price = s.real_price
        said: list[Part] = [
            f"Of the {s.truths:,} tasks whose true label is known, {s.accuracy:.1%} ",
            "now have the right one" if price is not None else "have the right one",
        ]
        if price is not None:
            said += [f", {s.accuracy_before:.1%} without {limit}: {_cost(price, limit)} ", Said("points", "points")]
        said.append(". ")
        off = [pair for pair in s.pairs() if pair.what == "accuracy" and pair.is_off]
        if off:
            too = "too high" if off[0].believed > off[0].real else "too low"
            said += ["The method itself ", Said("believed", "believes"), f" {off[0].shown(1)[0]}, which is {too}. "]
        return said
    if s.estimated_accuracy is not None:
        value, low, high = estimate_texts(s.estimated_accuracy)
        said = [
            "An ",
            Said("estimated", "estimated"),
            f" {value} of the labels are right ({low} to {high}), by {s.estimated_accuracy.n_gold:,} ",
            Said("known", "known labels"),
        ]
        if s.estimated_price is not None:
            cost, low, high = estimate_texts(s.estimated_price, "points")
            said.append(f"; {limit} cost{'s' * (limit == 'the limit')} {cost} ({low} to {high})")
        return [*said, ". "]
    why = "no true labels were given"
    if s.accuracy_in_sample:
        why = "the true labels that were given taught the method, so they cannot test it"
    said = [f"How many labels are right is not known: {why}. "]
    if s.believed_accuracy is None:
        return said
    said += ["The method itself ", Said("believed", "expects"), f" {s.believed_accuracy:.1%}"]
    if s.believed_accuracy_before is not None:
        cost = _cost(s.believed_accuracy_before - s.believed_accuracy, limit)
        said += [f", and {s.believed_accuracy_before:.1%} without {limit}: {cost} ", Said("points", "points")]
    return [*said, "; such expectations are often too high. "]


def _who_pays(right: Mapping[str, tuple[float, float]], columns: Sequence[str]) -> list[Part]:
    """Say in which groups labels became right less or more often: in all, or if they are many, where most of either.

    Examples
    --------
    >>> text_of(_who_pays({"a": (0.8, 0.7), "b": (0.6, 0.6)}, ["sex"]))
    'The share of right labels went from 80.0% to 70.0% in sex = a and stayed at 60.0% in sex = b. '
    """
    if all(before == after for before, after in right.values()):
        return []
    order = sorted(right.items(), key=lambda item: item[1][1] - item[1][0])
    shown = order if len(order) <= _MAX_NAMED_GROUPS else [*order[:2], order[-1]]
    parts: list[Part] = []
    for name, (before, after) in shown:
        last = parts and name == shown[-1][0]
        went = (
            f"stayed at {after:.1%}" if f"{before:.1%}" == f"{after:.1%}" else f"went from {before:.1%} to {after:.1%}"
        )
        parts += [" and " if last else ", " if parts else "", f"{went} in ", Named(group_in_words(name, columns))]
    return ["The share of right labels ", *parts, ". "]


def _cost(price: float, limit: str = "the limit") -> str:
    """Return what a limit costs; labels may also be right more often with it.

    Examples
    --------
    >>> _cost(0.0123), _cost(-0.004, "the requirements")
    ('the limit costs 1.2', 'the requirements gain 0.4')
    """
    verb = ("cost" if price >= 0 else "gain") + "s" * (limit == "the limit")
    return f"{limit} {verb} {_number(abs(price))}"


def _not_known(summary: Summary, gap: float | None, promise: str) -> list[Part]:
    """Say what the numbers do not tell."""
    said: list[Part] = []
    truth = summary.truth_gap
    if truth is not None:
        said += ["The ", Said("true gap", "true labels"), f" themselves are {in_points(truth, 1)} apart"]
        said.append(", so labels that are closer cannot all be right. " if gap is not None and truth > gap else ". ")
    elif summary.estimated_truth_gap is not None:
        found = estimated_gap_in_words(summary.estimated_truth_gap, "points")
        untold = ": too few are known to tell more" if summary.estimated_truth_gap.low == 0 else ""
        said += ["The ", Said("true gap", "true labels"), f" themselves are an estimated {found} apart{untold}. "]
    open_questions = []
    if summary.accuracy is None and summary.estimated_accuracy is None and summary.group_shares is not None:
        open_questions.append("whether labels are right equally often in each group")
    if not promise:
        open_questions.append("how other tasks would come out, as these numbers hold for these tasks")
    if open_questions:
        said.append(f"Not known: {'; '.join(open_questions)}.")
    return said


def _labels(count: int) -> str:
    return f"{count:,} label{'s' * (count != 1)}"


def _differ(one: float, other: float, digits: int) -> bool:
    return _number(one, digits) != _number(other, digits)


def _number(share: float, digits: int = 1) -> str:
    """Return a share in points, with one more decimal where few would hide it.

    Examples
    --------
    >>> _number(0.05), _number(0.0004), _number(0.0), _number(0.05004, 3)
    ('5.0', '0.04', '0.0', '5.004')
    """
    return f"{100 * share:.{digits + (0 < share < 0.001)}f}"
