"""The cards of ``FairClassifier`` and of what it found on held-out rows."""

from dataclasses import replace

from faircrowd.fair.classifier.classifier_views import ClassifierViews
from faircrowd.fair.classifier.held_out_estimates import HeldOutEstimates
from faircrowd.fair.general.constrained_certificate import ConstrainedCertificate
from faircrowd.fair.make import FairResult
from faircrowd.fair.outcome.alarms import alarm_of_classifier
from faircrowd.report.notebooks.notebook_card import OPEN, Card, CardTable, card_for
from faircrowd.report.notebooks.result_cards import constrained_card, parity_card

__all__: list[str] = []

_NEXT = ("predict(X, sensitive_features=...)", "plot()", "frontier_.plot()", "to_frame()", "held_out_", "rule_")
_BELIEVED = "Believed accuracy is what the classifier's probabilities say; the real one is under held-out rows"


@card_for.register
def _classifier(result: ClassifierViews) -> Card:
    kind = f"FairClassifier: fair labels of {type(result.estimator).__name__}"
    limit = f"a gap of at most {result.epsilon:g}" if result.constraints is None else "constraints"
    if not hasattr(result, "estimator_"):
        return Card(kind, asked=limit, answer="not fitted yet; call fit(X, y, sensitive_features=...) first", mark=OPEN)
    if result.result_ is None:
        return Card(kind, asked=limit, answer="no groups were given to fit: the classifier's own labels", mark=OPEN)
    found, certificate = result.result_, result.certificate_
    alarms, is_checked = [alarm_of_classifier(found.alarm)] if found.alarm else [], result.held_out_ is not None
    if isinstance(certificate, ConstrainedCertificate):
        card = constrained_card(certificate, kind=kind, alarms=alarms, next_steps=_NEXT, is_checked=is_checked)
    else:
        assert isinstance(found, FairResult) and certificate is not None  # noqa: S101, PT018 - the two kinds there are
        sizes = dict(zip(found.problem.groups.names, found.problem.sizes.tolist(), strict=True))
        card = parity_card(certificate, kind=kind, sizes=sizes, alarms=alarms, next_steps=_NEXT, is_checked=is_checked)
    held_out = result.held_out_
    tables = [] if held_out is None else [_held_out_table(held_out, "Held-out rows, by their true classes")]
    return replace(
        card,
        asked=card.asked.removesuffix("tasks") + "rows",
        tables=[*tables, *card.tables],
        notes=[*([] if held_out is None else [_BELIEVED]), *card.notes],
    )


@card_for.register
def _held_out(result: HeldOutEstimates) -> Card:
    return Card(
        "HeldOutEstimates",
        asked=f"labels of {result.accuracy.n_gold:,} rows that neither the model nor the rule has seen, by their true "
        "classes",
        tables=[_held_out_table(result)],
    )


def _held_out_table(result: HeldOutEstimates, heading: str = "") -> CardTable:
    found, before = result.accuracy, result.accuracy_before
    rows = [
        ["accuracy", f"{before.estimate:.1%}", f"{found.estimate:.1%}", f"{found.low:.1%} to {found.high:.1%}"],
        *(
            [text, f"{result.levels_before[text]:.3f}", f"{one.estimate:.3f}", f"{one.low:.3f} to {one.high:.3f}"]
            for text, one in result.levels.items()
        ),
    ]
    return CardTable(heading, ["", "before", "after", f"{100 * found.confidence:g}% interval"], rows)
