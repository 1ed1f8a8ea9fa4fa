"""What results show of themselves: short texts, and a card for every public kind of result."""

import importlib
import inspect
import typing
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import notebook_objects
from faircrowd import DawidSkene, FairCrowd, MajorityVote
from faircrowd._display import in_short, values_in_short
from faircrowd.aggregate.registry import AGGREGATORS

RESULTS = ("aggregate", "audit", "baselines", "datasets", "fair", "votes")
"""Packages whose public names are models and results; constraints, engines and errors are neither."""
PLAIN = {"Vocabulary", "DemographicParity"}
"""A list of values, and a constraint: their own short text says it all."""
LONGEST = 500


def named_classes(hint: object) -> Iterator[type]:
    if inspect.isclass(hint) and hint.__module__.startswith("faircrowd."):
        yield hint
    for part in typing.get_args(hint):
        yield from named_classes(part)


def returned(function: Any) -> Iterator[type]:
    """The classes that a function is annotated to return; some annotations are names that only type checkers import."""
    module = importlib.import_module(function.__module__)
    hint = function.__annotations__.get("return")
    if isinstance(hint, str):
        try:
            hint = eval(hint, vars(module))  # noqa: S307 - our own annotations
        except NameError:
            hint = None
    yield from named_classes(hint)


def public_results() -> set[type]:
    """Public classes, what public functions return, and what fitted models have in attributes with an underscore."""
    found: set[type] = set()
    for package in RESULTS:
        module = importlib.import_module(f"faircrowd.{package}")
        for name in module.__all__:
            one = getattr(module, name)
            found |= {one} if inspect.isclass(one) else set(returned(one)) if inspect.isfunction(one) else set()
    for kind in list(found):
        fitted = [part for name, part in inspect.getmembers(kind) if name.endswith("_") and not name.startswith("_")]
        for part in fitted:
            function = part.fget if isinstance(part, property) else getattr(part, "func", None)
            found |= set(returned(function)) if function is not None else set()
    is_abstract = lambda kind: inspect.isabstract(kind) or getattr(kind, "_is_protocol", False)  # noqa: E731
    return {kind for kind in found if not is_abstract(kind)}


@pytest.mark.parametrize("kind", sorted(public_results(), key=lambda kind: kind.__name__))
def test_every_public_result_has_a_card(kind: type) -> None:
    """A new class without one fails here: derive it from ``Displayed``."""
    if kind.__name__ not in PLAIN:
        assert hasattr(kind, "_repr_html_"), f"{kind} shows no card in notebooks"


def test_the_walk_finds_the_results() -> None:
    names = {kind.__name__ for kind in public_results()}
    expected = {"FairCrowd", "FairResult", "ConstrainedResult", "Certificate", "ConstrainedCertificate", "Frontier"}
    expected |= {"LimitFrontier", "FairRule", "ConstrainedRule", "GoldEstimates", "CrowdAudit", "WorkerAudit"}
    expected |= {"PairAgreement", "CrowdPlan", "GoldPlan", "AccuracyEstimate", "Calibration", "GapInterval", "Verdict"}
    assert expected <= names
    assert {kind.class_name for kind in AGGREGATORS.values()} <= names


def test_texts_are_short_for_ten_thousand_tasks() -> None:
    for name, one in notebook_objects.shown(10_000).items():
        assert len(repr(one)) <= LONGEST, name
        assert "\n" not in repr(one) or "DataFrame" in repr(one), name
        assert len(one._repr_html_()) < 20_000, name


def test_estimators_are_shown_by_what_was_given() -> None:
    assert repr(FairCrowd(DawidSkene(by_group=True), epsilon=0.1)) == (
        "FairCrowd(estimator=DawidSkene(by_group=True), epsilon=0.1)"
    )
    assert repr(MajorityVote()) == "MajorityVote()"


def test_a_fitted_estimator_has_the_text_of_one_that_is_not() -> None:
    fair = notebook_objects.fair()
    assert (
        repr(fair) == repr(FairCrowd(DawidSkene(), epsilon=0.05)) == ("FairCrowd(estimator=DawidSkene(), epsilon=0.05)")
    )


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (1 / 3, "0.3333"),
        (np.float64(0.5), "0.5"),
        (np.zeros((2, 3)), "<2 x 3 numbers>"),
        (np.array(["a"]), "<1 values>"),
        (("a",), "('a',)"),
        ([], "[]"),
        ({}, "{}"),
        (list(range(100)), "<100 values>"),
        ({"a": 1}, "<1 value>"),
        (True, "True"),
        (None, "None"),
    ],
)
def test_values_are_short(value: object, text: str) -> None:
    assert in_short(value) == text


def test_many_values_are_cut() -> None:
    text = values_in_short("Found", {f"name{i}": "x" * 50 for i in range(100)})
    assert len(text) < LONGEST
    assert text.endswith(", ...)")
