"""Results that a version may not change unseen: plain values, compared with those in a file.

``FAIRCROWD_KEEP=1 pytest tests/fair/test_kept.py tests/audit/test_kept.py`` writes the files anew; look at their
difference before you commit it.
"""

import dataclasses
import json
import math
import os
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from faircrowd.votes import Vocabulary

__all__ = ["assert_kept", "plain"]

_NEAR = 1e-9
"""How far a number may be from what it was: other machines and versions of libraries differ in last digits."""


def plain(value: Any) -> Any:
    """Return a value as JSON has it."""
    if isinstance(value, Vocabulary):
        return plain(value.some(range(len(value))))
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        kept = [field.name for field in dataclasses.fields(value) if field.name != "style"]  # the kind of frame
        return {name: plain(getattr(value, name)) for name in kept}
    if hasattr(value, "_asdict"):
        return plain(value._asdict())
    if isinstance(value, np.ndarray | np.generic):
        return plain(value.tolist())
    if hasattr(value, "to_dict"):
        return plain(value.to_dict("list") if hasattr(value, "columns") else value.to_dict())
    if isinstance(value, dict):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if isinstance(value, float):
        return float(f"{value:.12g}") if math.isfinite(value) else str(value)
    return value


def assert_kept(path: Path, name: str, value: Any) -> None:
    """Compare a value with the one of this name in a file."""
    found = plain(value)
    kept = _read(path)
    if os.environ.get("FAIRCROWD_KEEP"):
        kept[name] = found
        lines = [f"{json.dumps(key)}: {json.dumps(kept[key], ensure_ascii=False)}" for key in sorted(kept)]
        path.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")
    _compare(found, kept[name], name)


@cache
def _read(path: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    return found


def _compare(found: Any, kept: Any, at: str) -> None:
    if isinstance(kept, dict):
        assert list(found) == list(kept), at
        for key, value in kept.items():
            _compare(found[key], value, f"{at}.{key}")
    elif isinstance(kept, list):
        assert len(found) == len(kept), at
        for number, pair in enumerate(zip(found, kept, strict=True)):
            _compare(*pair, f"{at}[{number}]")
    elif isinstance(kept, float):
        assert math.isclose(found, kept, rel_tol=_NEAR, abs_tol=_NEAR), (at, found, kept)
    else:
        assert (found, type(found)) == (kept, type(kept)), at
