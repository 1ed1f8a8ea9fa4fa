"""What a platform takes back: the form of its files (:class:`PlatformForm`), and what they are filled from."""

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

from faircrowd.errors import OptionError
from faircrowd.publish.finished_labels import FinishedLabels, Id
from faircrowd.votes.exports.answers import Record
from faircrowd.votes.exports.export_file import ExportFile

if TYPE_CHECKING:
    from faircrowd.publish.push.http_client import Authorize, Client
    from faircrowd.publish.push.push_plan import PushPlan

__all__ = ["Form", "FormOptions", "Item", "PlatformForm", "as_json", "as_json_lines", "by_id", "needed_export"]

Item: TypeAlias = dict[str, Any]
"""What is sent or written for one task: a JSON object."""


@dataclass(frozen=True)
class FormOptions:
    """What a file or a request says beyond the labels.

    Attributes
    ----------
    question : str, optional
        The question that the labels answer; by default what the run or the export says.
    to_name, control_type : str, optional
        Label Studio: the object that the question is about, and the kind of control (``choices``, ``rating``); by
        default as in the export.
    with_data : bool
        Label Studio: write tasks with their data, for a new project, instead of predictions for tasks that are there.
    attribute : str
        Ground Truth: the name of the label attribute.
    """

    question: str | None = None
    to_name: str | None = None
    control_type: str | None = None
    with_data: bool = False
    attribute: str = "faircrowd"


@dataclass(frozen=True)
class Form:
    """Labels in the form of a platform.

    Attributes
    ----------
    items : list of dict
        One per task.
    text : str
        The file.
    question : str or None
        The question that the labels answer.
    notes : tuple of str
        What a reader should know.
    how : str
        How the platform imports the file, if not in the usual way.
    """

    items: list[Item]
    text: str
    question: str | None = None
    notes: tuple[str, ...] = ()
    how: str = ""


@dataclass(frozen=True)
class PlatformForm:
    """How labels go back to a platform.

    Attributes
    ----------
    name : str
        What users call it, as in ``to="label-studio"``.
    title : str
        What messages call it.
    ending : str
        The ending of the file.
    fill : function of labels, export and options
        Returns the labels in the form of the platform. The export is None where there is none.
    how : str
        How the platform imports the file, in one sentence.
    plan : function of client, place, form and model version, optional
        Compares with what the platform has, by reading alone, and returns what is to be sent; None for a platform that
        only takes files.
    headers : function of a client, optional
        The headers by which the platform knows a token.
    """

    name: str
    title: str
    ending: str
    fill: Callable[[FinishedLabels, ExportFile | None, FormOptions], Form]
    how: str
    plan: "Callable[[Client, str, Form, str], PushPlan] | None" = None
    headers: "Authorize | None" = None


def as_json(items: Iterable[Mapping[str, Any]]) -> str:
    """Return items as a JSON array, one per line."""
    return "[\n" + ",\n".join(map(_dump, items)) + "\n]\n"


def as_json_lines(items: Iterable[Mapping[str, Any]]) -> str:
    r"""Return items as JSON lines.

    Examples
    --------
    >>> as_json_lines([{"label": "ja"}, {"label": "né"}])
    '{"label": "ja"}\n{"label": "né"}\n'
    """
    return "".join(f"{_dump(item)}\n" for item in items)


def _dump(item: Mapping[str, Any]) -> str:
    return json.dumps(item, ensure_ascii=False, allow_nan=False, default=str)


def needed_export(export: ExportFile | None, title: str, what: str) -> ExportFile:
    """Return the export, or raise if there is none."""
    if export is None:
        raise OptionError(
            f"{title} needs {what}, which only the export has that the votes came from; name it with export=..."
        )
    return export


def by_id(records: Iterable[Record], name: str) -> dict[Id, Record]:
    """Return the first record of each task, by its id."""
    found: dict[Id, Record] = {}
    for record in records:
        task = record.get(name)
        if isinstance(task, str | int) and not isinstance(task, bool):
            found.setdefault(task, record)
    return found
