"""What can be checked of a folder without the inputs of its run: files that follow from labels and posterior."""

import csv
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from faircrowd.errors import FaircrowdError, InputError
from faircrowd.fair.certificate import Certificate
from faircrowd.fair.gap import gap_of
from faircrowd.fair.rate_constraint import prices_of
from faircrowd.fair.rule import FairRule
from faircrowd.fair.rule_forms.rule_words import rule_in_short
from faircrowd.report import OutputFolder
from faircrowd.report.belief_and_truth import believed_accuracy
from faircrowd.report.evidence import EVIDENCE
from faircrowd.report.summary import group_facts
from faircrowd.report.tables import value_column
from faircrowd.runs.file_differences import Compared, Difference, value_differences
from faircrowd.storage.untrusted import FAULTS, read_json
from faircrowd.votes import Vocabulary
from faircrowd.votes.vocabulary import Codes

__all__ = ["check_folder", "codes_of_cells"]

_LABELS = "labels.csv"


class _Labels(NamedTuple):
    """The columns of labels.csv that a certificate is about, as codes of the rule's groups and classes."""

    group: Codes
    before: Codes
    label: Codes
    posterior: NDArray[np.float64]


def check_folder(folder: Path, said: Mapping[str, Any], found: Compared) -> int:
    """Compare the files of a run with fair labels with each other; add what differs, and return how many were compared.

    Certificate, rule and summary are recomputed from the labels, groups and posterior in labels.csv.
    """
    certificate, summary = (_read(folder / name, found) for name in ("certificate.json", "summary.json"))
    found.add("certificate.json", _from_evidence("certificate.json", certificate, said["certificate"]))
    options = {} if summary is None else summary.get("options")
    found.add("summary.json", _from_evidence("summary.json: options", options, said["options"]))
    # The groups of constraints are in columns that labels.csv does not have.
    if isinstance(said["certificate"], dict) and "constraints" in said["certificate"]:
        return 2
    try:
        rule = FairRule.from_json((folder / "rule.json").read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, FaircrowdError) as error:
        found.differences.append(f"rule.json cannot be read: {error}")
        return 2
    try:
        labels = _read_labels(folder / _LABELS, rule)
    except (OSError, csv.Error, *FAULTS) as error:  # an InputError is a ValueError
        found.differences.append(f"{_LABELS} cannot be read: {error}")
        return 3
    if certificate is not None:
        found.add("certificate.json", _of_certificate(certificate, labels))
        found.add("rule.json", _of_rule(rule, certificate, labels, said["options"]))
    if summary is not None:
        found.add("summary.json", _of_summary(summary, rule, labels))
    return 4


def _read(path: Path, found: Compared) -> dict[str, Any] | None:
    try:
        value = read_json(path, "result")
    except InputError as error:
        if path.exists():  # a missing file is reported already
            found.differences.append(f"{path.name} cannot be read: {error}")
        return None
    return value if isinstance(value, dict) else {}


def _from_evidence(file: str, written: object, expected: object) -> list[Difference]:
    return [] if written is None else value_differences(written, expected, file, f"in {EVIDENCE}")


def _read_labels(path: Path, rule: FairRule) -> _Labels:
    """Read labels.csv; its cells are compared with those that the rule's groups and classes would have."""
    with path.open(encoding="utf-8", newline="") as file:
        rows = csv.reader(file, strict=True)
        columns = dict(zip(next(rows), zip(*rows, strict=True), strict=True))
    classes, groups = (Vocabulary.of(list(names)) for names in (rule.classes, rule.groups))
    posterior = np.array([columns[f"posterior_{name}"] for name in classes.names], dtype=np.float64).T
    before, label = (codes_of_cells(columns[name], classes) for name in ("label_before", "label"))
    return _Labels(codes_of_cells(columns["group"], groups), before, label, posterior)


def codes_of_cells(cells: Sequence[str], names: Vocabulary) -> Codes:
    """Return the codes of cells of a written file, which names in it may differ from; KeyError for one not known."""
    with tempfile.TemporaryDirectory() as place, OutputFolder(place, keep=False) as folder:
        folder.write_csv("names.csv", pa.table({"name": value_column(names)}))
        with folder.waiting("names.csv").open(encoding="utf-8", newline="") as file:
            texts = [row[0] if row else "" for row in csv.reader(file)][1:]
    code = {text: i for i, text in enumerate(texts)}
    return np.array([code[cell] for cell in cells], dtype=np.int32)


def _of_certificate(certificate: dict[str, Any], labels: _Labels) -> list[Difference | str]:
    """Recompute what a certificate says about the labels, and the bound that its multipliers prove."""
    groups, classes = list(certificate["rates"]), list(next(iter(certificate["rates"].values())))
    counts = np.zeros((len(groups), len(classes), len(classes)), dtype=np.int64)
    np.add.at(counts, (labels.group, labels.before, labels.label), 1)
    sizes = counts.sum(axis=(1, 2))[:, None]
    rates, rates_before = counts.sum(axis=1) / sizes, counts.sum(axis=2) / sizes
    moved = counts * ~np.eye(len(classes), dtype=bool)
    compared = [a for a, name in enumerate(groups) if name not in certificate.get("left_out", {})]
    named = {"rates": rates, "rates_before": rates_before}
    expected: dict[str, Any] = {
        "gap": gap_of(rates[compared]),
        "gap_before": gap_of(rates_before[compared]),
        "tasks": int(counts.sum()),
        "changed": int(moved.sum()),
        "changed_share": float(moved.sum() / counts.sum()),
        "changes": [
            {"group": groups[a], "before": classes[j], "after": classes[k], "tasks": int(moved[a, j, k])}
            for a, j, k in np.argwhere(moved)
        ],
        "believed_accuracy": believed_accuracy(labels.posterior, labels.label),
        "believed_accuracy_before": believed_accuracy(labels.posterior, labels.before),
        **{
            name: {g: dict(zip(classes, map(float, row), strict=True)) for g, row in zip(groups, table, strict=True)}
            for name, table in named.items()
        },
    }
    written = {name: certificate.get(name) for name in expected}
    wrong: list[Difference | str] = [*value_differences(written, expected, "certificate.json", f"by {_LABELS}")]
    try:
        Certificate(**certificate).verify(labels.posterior, [groups[a] for a in labels.group], labels.label)
    except (InputError, TypeError) as error:
        wrong.append(f"certificate.json: {error}")
    return wrong


def _of_rule(
    rule: FairRule, certificate: dict[str, Any], labels: _Labels, options: Mapping[str, Any]
) -> list[Difference]:
    """Recompute the rule from the certificate's multipliers; that of a promise, which has other prices, in words."""
    sizes = np.bincount(labels.group, minlength=len(rule.groups)).astype(np.float64)
    prices = prices_of(np.asarray(certificate["multipliers"]), sizes)
    expected = {
        "prices": prices.tolist(),
        "shares": (sizes / sizes.sum()).tolist(),
        **{name: certificate[name] for name in ("epsilon", "gain_matrix", "gain_offset")},
        "random_state": options["random_state"],
        "groups": list(certificate["rates"]),
        "classes": list(next(iter(certificate["rates"].values()))),
    }
    written = {
        **{name: getattr(rule, name).tolist() for name in ("prices", "shares", "gain_matrix", "gain_offset")},
        "epsilon": rule.epsilon,
        "random_state": rule.random_state,
        "groups": Vocabulary.of(list(rule.groups)).names,
        "classes": Vocabulary.of(list(rule.classes)).names,
    }
    said = certificate.get("promise")
    promise = said if isinstance(said, dict) else {}
    if promise.get("rule"):
        chances = rule.probabilities(labels.posterior, labels.group, labels.before)
        of_promise = {
            "rule": rule_in_short(rule),
            "believed_accuracy": float((chances * labels.posterior).sum(1).mean()),
        }
        for name in ("prices", "gain_matrix", "gain_offset"):  # F1 has other gains on other tasks
            del expected[name], written[name]
        expected |= {"epsilon": promise["epsilon"], **{name: promise.get(name) for name in of_promise}}
        written |= of_promise
    return value_differences(written, expected, "rule.json", "by certificate.json")


def _of_summary(summary: dict[str, Any], rule: FairRule, labels: _Labels) -> list[Difference]:
    """Recompute what a summary says about the labels."""
    classes, groups = (Vocabulary.of(list(names)).names for names in (rule.classes, rule.groups))
    counts = np.zeros((len(groups), len(classes)), dtype=np.int64)
    np.add.at(counts, (labels.group, labels.label), 1)
    shares = counts.sum(axis=0) / counts.sum()
    left_out = {groups.index(name): why for name, why in summary.get("left_out", {}).items() if name in groups}
    expected = {
        "tasks": int(counts.sum()),
        "classes": len(classes),
        "class_shares": dict(zip(classes, map(float, shares), strict=True)),
        **group_facts(counts, groups, classes, left_out),
        "believed_accuracy": believed_accuracy(labels.posterior, labels.label),
        "believed_accuracy_before": believed_accuracy(labels.posterior, labels.before),
    }
    return value_differences({name: summary.get(name) for name in expected}, expected, "summary.json", f"by {_LABELS}")
