"""How functions of the fair rule and of the audit are called and what they return: named parameters, frozen results."""

import dataclasses
import importlib
import inspect
import pkgutil
from typing import Any

import pytest

import faircrowd

MODULES = sorted(
    found.name
    for found in pkgutil.walk_packages(faircrowd.__path__, "faircrowd.")
    if found.name.startswith(("faircrowd.fair.", "faircrowd.audit."))
)
COMPARED = {
    *("BayesDivergence", "Certificate", "DemographicParity", "RateParity", "GapInterval", "GoldEstimates", "GoldPlan"),
    "HeldOutEstimates",
    *("AccuracyParity", "ChangeBudget", "ConstrainedCertificate", "ConstraintKind", "ConstraintVerdict"),
    *("EqualOpportunity", "EqualizedOdds", "ImpactRow", "KeptConstraint", "MeasuredComparison", "Rate", "RateRange"),
    *("MeasuredConstraint", "RateRatio", "RequirementsVerdict", "ReviewBudget"),
    *("Independence", "MajorityBound", "Margin", "PlannedInterval", "Promise", "Verdict"),
}
"""Values without arrays. Arrays cannot be compared by ==, so results with arrays are equal only to themselves."""


@pytest.mark.parametrize("name", MODULES)
def test_results_are_frozen_and_all_parameters_have_names(name: str) -> None:
    module = importlib.import_module(name)
    own: list[Any] = [found for found in vars(module).values() if getattr(found, "__module__", "") == name]
    methods = [method for kind in filter(inspect.isclass, own) for key, method in vars(kind).items() if key[0] != "_"]
    for function in filter(inspect.isfunction, own + methods):
        kinds = {parameter.kind for parameter in inspect.signature(function).parameters.values()}
        assert inspect.Parameter.POSITIONAL_ONLY not in kinds, function
    for kind in (found for found in own if "__dataclass_fields__" in vars(found)):
        one, same = (object.__new__(kind) for _ in range(2))
        fields = [field.name for field in dataclasses.fields(kind)]
        for field in fields:
            object.__setattr__(one, field, 1)
            object.__setattr__(same, field, 1)
        if kind is not faircrowd.FairCrowd:  # an estimator is no result: its options may be set
            with pytest.raises(dataclasses.FrozenInstanceError):
                setattr(one, fields[0], 2)
        assert (one == same) == (kind.__name__ in COMPARED), kind
