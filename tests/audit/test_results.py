"""How audits are called and what they return: options go by name or not, results are frozen."""

import dataclasses
import importlib.util
import inspect
import pkgutil
import sys
from pathlib import Path
from types import ModuleType

import pytest

from faircrowd import audit

NAMES = sorted(found.name for found in pkgutil.iter_modules(audit.__path__) if not found.ispkg)
COMPARED = {"GapInterval", "MajorityBound", "Verdict"}
"""Results without arrays; == on arrays is no answer, so results with them are only equal to themselves."""


def loaded(name: str) -> ModuleType:
    """Load a module anew from its file, beside the one that is in use."""
    spec = importlib.util.spec_from_file_location(f"copy_of_{name}", Path(audit.__path__[0], f"{name}.py"))
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("name", NAMES)
def test_results_are_frozen_and_all_parameters_have_names(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, f"copy_of_{name}", ModuleType(f"copy_of_{name}"))
    module = loaded(name)
    own = [found for found in vars(module).values() if getattr(found, "__module__", "") == module.__name__]
    for function in filter(inspect.isfunction, own):
        kinds = {parameter.kind for parameter in inspect.signature(function).parameters.values()}
        assert inspect.Parameter.POSITIONAL_ONLY not in kinds, function
    for kind in filter(dataclasses.is_dataclass, own):
        one, same = (object.__new__(kind) for _ in range(2))
        fields = [field.name for field in dataclasses.fields(kind)]
        for field in fields:
            object.__setattr__(one, field, 1)
            object.__setattr__(same, field, 1)
        with pytest.raises(dataclasses.FrozenInstanceError):
            setattr(one, fields[0], 2)
        assert (one == same) == (kind.__name__ in COMPARED), kind
