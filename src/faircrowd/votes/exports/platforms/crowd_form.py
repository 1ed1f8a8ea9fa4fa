"""What forms of AWS send, in Mechanical Turk and in SageMaker Ground Truth: one object with a value per element."""

from collections.abc import Mapping
from typing import Any

from faircrowd.votes.exports.answer_values import Scalar, as_json, chosen, scalars

__all__ = ["form_answers"]

_DEEPEST = 5


def form_answers(content: Mapping[str, Any], prefix: str = "") -> dict[str, Scalar | list[Scalar] | None]:
    """Return the answers of a form by question.

    A classifier sends ``{"label": ..}``, one of several labels ``{"labels": [..]}``, radio buttons and checkboxes an
    object of truth values, a custom form often JSON inside text.

    Parameters
    ----------
    content : mapping
        Values by the names of the elements.
    prefix : str
        What the names of questions begin with.

    Examples
    --------
    >>> form_answers({"crowd-classifier": {"label": "cat"}, "sure": {"yes": True, "no": False}})
    {'crowd-classifier': 'cat', 'sure': ['yes']}
    >>> form_answers({"annotation": '{"labels": ["a", "b"]}', "boxes": {"boundingBox": [{"x": 1}]}})
    {'annotation': ['a', 'b']}
    """
    return _answers(content, prefix, 1)


def _answers(content: Mapping[str, Any], prefix: str, depth: int) -> dict[str, Scalar | list[Scalar] | None]:
    found: dict[str, Scalar | list[Scalar] | None] = {}
    for name, value in content.items():
        value = as_json(value)
        if isinstance(value, dict) and set(value) <= {"label", "labels"} and value:
            (value,) = list(value.values())[:1]
            value = as_json(value)
        elif isinstance(value, dict):
            options = chosen(value)
            if options is None:
                found |= _answers(value, f"{prefix}{name}.", depth + 1) if depth < _DEEPEST else {}
                continue
            value = options
        if isinstance(value, list):
            if not (options_in := scalars(value)) and value:
                continue  # boxes, points: no classes
            value = options_in
        if isinstance(value, str | int | float | bool | list):
            found[f"{prefix}{name}"] = value
    return found
