"""Fuzz what is read back: a rule, a model, the evidence of a run. Each is accepted and then works, or is refused.

``python tests/fuzz/documents.py rule --seconds 60`` (or model, arrays, evidence; rule-edits and model-edits put hostile
values into a good document, where bytes would only break its JSON).
"""

import json
import tempfile
import warnings
from collections.abc import Callable
from copy import deepcopy
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from fuzzing import atheris, instrumented, run

with instrumented():
    import faircrowd as fc
    from faircrowd.aggregate.saved import MODEL_FILES, load_model, model_files
    from faircrowd.fair.rule import FairRule
    from faircrowd.report.evidence import read_evidence

HOSTILE = (
    None, True, -1, 2**70, 1e308, float("inf"), float("nan"), "", "x", [], {}, [[]], {"date": "2024-02-30"},
    {"bytes": "zz"}, [None], "é", 0.5, [0.5, 0.5], 10**400,
)  # fmt: skip
PLACE = Path(tempfile.mkdtemp(prefix="faircrowd-fuzz-"))
VALUES = np.array([[0.9, 0.1], [0.2, 0.8], [0.6, 0.4], [0.5, 0.5]])
GROUPS = ["g", "g", "h", "h"]
VOTES = pd.DataFrame({"task": [1, 1, 2, 2], "worker": ["a", "b", "a", "b"], "label": ["x", "y", "x", "x"]})
RULE = fc.make_fair(VALUES, GROUPS, epsilon=0.1, decision="randomized").rule.to_json()
DESCRIBED, ARRAYS = model_files(fc.DawidSkene().fit(VOTES)).values()
EVIDENCE = json.dumps({"kind": "faircrowd.evidence", "schema": 1, "inputs": {"votes": {"path": "v.csv"}}}).encode()


def refused(work: Callable[[], Any]) -> Any:
    """Return what work returns, or None if it is refused with a one-line message."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return work()
        except fc.FaircrowdError as error:
            message = str(error)
    assert len(message.splitlines()) == 1, message
    return None


def try_rule(text: str) -> None:
    """Read a rule, label tasks by it, and write it again."""
    read = refused(lambda: FairRule.from_json(text))
    if read is None:
        return
    assert FairRule.from_json(read.to_json()).to_json() == read.to_json()
    str(read)
    refused(read.to_sql)
    for classes in (VALUES, pd.DataFrame(VALUES, columns=list(read.classes)) if len(read.classes) == 2 else VALUES):
        refused(lambda classes=classes: read.predict(classes, GROUPS, unknown="own"))


def try_model(described: bytes, arrays: bytes) -> None:
    """Read a model; label tasks by it."""
    for name, content in zip(MODEL_FILES, (described, arrays), strict=True):
        (PLACE / name).write_bytes(content)
    model = refused(lambda: load_model(PLACE))
    if model is not None:
        found = refused(lambda: model.predict_proba(VOTES))
        assert found is None or np.isfinite(found.to_numpy()).all()


def evidence(content: bytes) -> None:
    """Read evidence."""
    (PLACE / "evidence.json").write_bytes(content)
    refused(lambda: read_evidence(PLACE))


def edited(content: bytes, document: str | bytes) -> str:
    """Put hostile values into a document, at places chosen by the bytes."""
    source = atheris.FuzzedDataProvider(content)
    root = json.loads(document)
    for _ in range(source.ConsumeIntInRange(1, 3)):
        at = root
        while isinstance(at, dict | list) and at:
            keys = list(at) if isinstance(at, dict) else list(range(len(at)))
            key = keys[source.ConsumeIntInRange(0, len(keys) - 1)]
            if not isinstance(at[key], dict | list) or not at[key] or source.ConsumeProbability() < 0.3:
                if source.ConsumeBool():
                    at[key] = deepcopy(HOSTILE[source.ConsumeIntInRange(0, len(HOSTILE) - 1)])
                else:
                    del at[key]
                break
            at = at[key]
    return json.dumps(root)


if __name__ == "__main__":
    run(
        {
            "rule": lambda content: try_rule(content.decode("utf-8", "replace")),
            "rule-edits": lambda content: try_rule(edited(content, RULE)),
            "model": lambda content: try_model(content, ARRAYS),
            "model-edits": lambda content: try_model(edited(content, DESCRIBED).encode(), ARRAYS),
            "arrays": lambda content: try_model(DESCRIBED, content),
            "evidence": evidence,
        },
        {
            "rule": [RULE.encode()],
            "rule-edits": [bytes(64), bytes(range(64))],
            "model": [DESCRIBED],
            "model-edits": [bytes(64), bytes(range(64))],
            "arrays": [ARRAYS],
            "evidence": [EVIDENCE],
        },
    )
