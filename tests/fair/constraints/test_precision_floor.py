"""The constraint that CONTRIBUTING.md adds as an example: one module and one entry, and everything works with it."""

import re
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import linprog

from faircrowd import make_fair
from faircrowd.fair import ConstrainedRule
from faircrowd.fair.constraints.constraint_registry import CONSTRAINT_KINDS, ConstraintKind, register_constraint
from faircrowd.fair.constraints.grammar import parse_constraint


@pytest.fixture
def precision_floor() -> Iterator[Any]:
    text = (Path(__file__).parents[3] / "CONTRIBUTING.md").read_text(encoding="utf-8")
    blocks = re.findall(r"```python\n(.*?)```", text, flags=re.DOTALL)
    module = ModuleType("faircrowd.fair.constraints.precision_floor")
    sys.modules[module.__name__] = module
    exec(next(block for block in blocks if "class PrecisionFloor" in block), module.__dict__)  # noqa: S102
    (entry,) = (block for block in blocks if 'class_name="PrecisionFloor"' in block)
    names: dict[str, Any] = {"ConstraintKind": ConstraintKind, "register_constraint": register_constraint}
    names |= {"_FOLDER": "faircrowd.fair.constraints"}
    exec(entry.replace("    ...,  # the others\n", ""), names)  # noqa: S102
    yield module.__dict__["PrecisionFloor"]
    del CONSTRAINT_KINDS["precision"], sys.modules[module.__name__]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("seed", range(3))
def test_an_example_of_contributing(precision_floor: Any, seed: int) -> None:
    rng = np.random.default_rng(seed)
    p = rng.beta(2, 2, 200)
    side = pd.DataFrame({"side": rng.integers(0, 2, 200)})
    frame = pd.DataFrame({"no": 1 - p, "yes": p})
    asked = parse_constraint("precision(side, label=yes) >= 0.8")
    assert asked == precision_floor(0.8, label="yes", group="side")
    assert str(asked) == "precision(side, label=yes) >= 0.8"
    fair = make_fair(frame, side, constraints=[asked])
    # The whole program over all tasks, by hand: the share that gets yes is the unknown.
    rows = np.stack([np.where(side["side"] == a, 0.8 - p, 0.0) for a in (0, 1)])
    found = linprog(-(2 * p - 1) / 200, rows, np.zeros(2), bounds=(0, 1))
    assert fair.solved.best.value == pytest.approx((1 - p).mean() - found.fun, abs=1e-9)
    again = ConstrainedRule.from_json(fair.rule.to_json())
    assert again.constraints == ("precision(side, label=yes) >= 0.8",)
    chances = np.asarray(again.predict_proba(frame, side))[:, 1]
    np.testing.assert_array_less(rows @ chances, 1e-9)
    assert chances.sum() > 1
