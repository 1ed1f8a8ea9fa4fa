"""Where two files differ: fields by their path, cells by row and column, rounding told from change."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from faircrowd.runs.file_differences import compare_files, value_differences

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 5) | st.sampled_from(["", "a", "b"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("abc"), inner, max_size=3),
    max_leaves=8,
)


@given(VALUES)
def test_equal_values_do_not_differ(value: Any) -> None:
    assert value_differences(value, json.loads(json.dumps(value))) == []


@given(VALUES, VALUES)
def test_different_values_differ(one: Any, other: Any) -> None:
    """Unequal as JSON texts, but for a field that is absent where None is expected."""
    same = json.dumps(one, sort_keys=True) == json.dumps(filled(other, one), sort_keys=True)
    assert (value_differences(one, other) == []) == same


def filled(expected: Any, written: Any) -> Any:
    """What is expected, without the fields of None that are absent in what was written."""
    if isinstance(expected, dict) and isinstance(written, dict):
        kept = {name: part for name, part in expected.items() if part is not None or name in written}
        return {name: filled(part, written.get(name)) for name, part in kept.items()}
    if isinstance(expected, list) and isinstance(written, list) and len(expected) == len(written):
        return [filled(a, b) for a, b in zip(expected, written, strict=True)]
    return expected


def test_differences_are_named_where_they_are() -> None:
    said = {"gap": 0.05, "rates": {"a": {"x": 0.5}}, "changes": [{"tasks": 3}, {"tasks": 4}], "old": 0}
    found = {"gap": 0.06, "rates": {"a": {"x": 0.25}}, "changes": [{"tasks": 3}, {"tasks": 5}], "more": 1, "none": None}
    assert [str(line) for line in value_differences(said, found, "a.json")] == [
        "a.json: gap is 0.05, recomputed 0.06",
        "a.json: rates.a.x is 0.5, recomputed 0.25",
        "a.json: changes[1].tasks is 4, recomputed 5",
        "a.json: more is absent, recomputed 1",
        "a.json: old is 0, recomputed absent",
    ]
    assert [str(line) for line in value_differences({"x": [1, 2]}, {"x": [1]}, "a", "in b")] == [
        "a: x is [1, 2], in b [1]"
    ]


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        (0.1, 0.1 + 1e-12, True),
        (0.1, 0.1 + 1e-9, False),
        (0.1, 0.10000001, False),
        (1 / 3, 1 / 3 + 1e-16, True),
        (1e6 / 3, 1e6 / 3 + 1e-5, True),  # of its size
        (1e6 / 3, 1e6 / 3 + 1e-3, False),
        (3, 4, False),
        (True, 1, False),
        (123456789012345, 123456789012346, False),
        ("0.30000000000000004 of 2", "0.3 of 2", True),
        ("0.30000000000000004 of 2", "0.3 of 3", False),
        ("7", "07", False),
    ],
)
def test_rounding_is_told_from_change(one: Any, other: Any, same: bool) -> None:
    assert (value_differences(one, other) == []) is same


def files(tmp_path: Path, name: str, one: str, other: str) -> tuple[Path, Path]:
    paths = tmp_path / "one" / name, tmp_path / "other" / name
    for path, text in zip(paths, (one, other), strict=True):
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8", newline="")
    return paths


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        ("task,p\n1,0.5\n", "task,p\n1,0.25\n", ["x.csv: row 1 (task 1), column p is '0.5', recomputed '0.25'"]),
        ("task,p\n1,0.5\n", '"task","p"\n1,0.5\n', []),
        ("task,p\n1,0.1\n", "task,p\n1,0.10000000000000002\n", []),
        ("task,p\n1.10,1\n", "task,p\n1.1,1\n", ["x.csv: row 1 (task 1.1), column task is '1.10', recomputed '1.1'"]),
        ("task,p\n007,1\n", "task,p\n7,1\n", ["x.csv: row 1 (task 7), column task is '007', recomputed '7'"]),
        ("task,p\n", "task,p\n1,1\n2,2\n", ["x.csv: the number of rows is 0, recomputed 2"]),
        ('task\n"a\nb"\n', 'task\n"a\nc"\n', ["x.csv: row 1 (task a\nc), column task is 'a\\nb', recomputed 'a\\nc'"]),
    ],
)
def test_tables_are_compared_cell_by_cell(one: str, other: str, expected: list[str], tmp_path: Path) -> None:
    assert [str(line) for line in compare_files(*files(tmp_path, "x.csv", one, other)).differences] == expected


def test_many_differences_are_counted(tmp_path: Path) -> None:
    tables = ["n\n" + "".join(f"{i + more}\n" for i in range(100)) for more in (0, 1)]
    lines = compare_files(*files(tmp_path, "x.csv", *tables)).differences
    assert len(lines) == 21
    assert lines[-1] == "x.csv: 80 more differences"


def test_other_files_are_compared_byte_by_byte(tmp_path: Path) -> None:
    found = compare_files(*files(tmp_path, "x.svg", "<svg>abc</svg>", "<svg>abd</svg>"))
    assert [str(line) for line in found.differences] == [
        f"x.svg: byte 7 is {b'c</svg>'.hex()!r}, recomputed {b'd</svg>'.hex()!r}"
    ]
    assert compare_files(*files(tmp_path, "y.svg", "<svg/>", "<svg/>")).differences == []


def test_ignored_fields_are_not_compared(tmp_path: Path) -> None:
    paths = files(tmp_path, "x.json", '{"a": {"b": 1, "c": 2}}', '{"a": {"b": 2, "c": 2}}')
    assert compare_files(*paths, [("a", "b")]).differences == []
    assert [str(line) for line in compare_files(*paths, [("a", "c"), ("b",)]).differences] == [
        "x.json: a.b is 1, recomputed 2"
    ]
