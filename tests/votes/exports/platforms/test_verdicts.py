"""The platform that CONTRIBUTING.md adds as an example: one module and one entry, and everything works with it."""

import json
import re
import sys
import types
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from faircrowd.votes.exports import EXPORTS, register_export
from votes.exports.reading import read, rows

ROWS = [
    {
        "unit": i,
        "rater": who,
        "verdict": "spam" if (i + len(who)) % 2 else "ham",
        "state": state,
        "page": {"lang": lang},
    }
    for i, lang in enumerate(["de", "en"] * 20)
    for who, state in (("ann", "done"), ("bo", "done"), ("cleo", "done"), ("dan", "open"))
]


@pytest.fixture
def export(tmp_path: Path) -> Iterator[Path]:
    text = (Path(__file__).parents[4] / "CONTRIBUTING.md").read_text(encoding="utf-8")
    code = next(part for part in re.findall(r"```python\n(.*?)```", text, re.DOTALL) if "VERDICTS = " in part)
    module = types.ModuleType("verdicts")
    sys.modules["verdicts"] = module
    exec(code, module.__dict__)  # noqa: S102 - our own page
    generic = {name: EXPORTS.pop(name) for name in list(EXPORTS)[-2:]}
    register_export(module.VERDICTS)
    EXPORTS.update(generic)
    path = tmp_path / "export.txt"
    path.write_text("\n".join(map(json.dumps, ROWS)), encoding="utf-8")
    yield path
    del EXPORTS["verdicts"], sys.modules["verdicts"]


def test_it_is_recognised_and_read(export: Path) -> None:
    votes = read(export, sensitive_features="page.lang")
    assert rows(votes) == {(str(r["unit"]), r["rater"], r["verdict"]) for r in ROWS if r["state"] == "done"}
    assert votes.report.rows_left_out == {"draft": 40}
    assert "an export of Verdicts (format='verdicts'); the labels are 'verdict'" in votes.notes()[0]


def test_commands_take_it(export: Path, tmp_path: Path, faircrowd: Callable[..., tuple[int, str, str]]) -> None:
    given = ("--group", "lang", "--epsilon", 0.1, "--no-report")
    assert faircrowd("aggregate", export, *given, "--out", tmp_path / "a")[0] == 0
    assert (
        faircrowd("aggregate", export, *given, "--from", "verdicts", "--engine", "stream", "--out", tmp_path / "b")[0]
        == 0
    )
    assert (tmp_path / "a" / "labels.csv").read_bytes() == (tmp_path / "b" / "labels.csv").read_bytes()
    assert faircrowd("verify", tmp_path / "a")[0] == 0
    assert faircrowd("convert", export, "--out", tmp_path / "c")[0] == 0
    plain = tmp_path / "c" / "votes.csv", "--tasks", tmp_path / "c" / "tasks.csv"
    assert faircrowd("aggregate", *plain, *given, "--out", tmp_path / "d")[0] == 0
    assert (tmp_path / "a" / "labels.csv").read_bytes() == (tmp_path / "d" / "labels.csv").read_bytes()
    account = json.loads((tmp_path / "c" / "account.json").read_text(encoding="utf-8"))
    assert (account["votes"], account["rows"]["rows_read"], account["rows"]["rows_left_out"]) == (
        120,
        160,
        {"draft": 40},
    )


def test_the_page_lists_every_format() -> None:
    text = (Path(__file__).parents[4] / "docs" / "platforms.md").read_text(encoding="utf-8")
    listed = [line.split("`")[1] for line in text.splitlines() if line.startswith("| `") and "--" not in line]
    assert sorted(listed) == sorted(EXPORTS)
