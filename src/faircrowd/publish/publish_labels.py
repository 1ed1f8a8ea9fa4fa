"""From the folder of a run to a file that a platform imports, or to a plan of what is to be sent to it."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from faircrowd._checks import check_choice
from faircrowd.errors import InputError, OptionError
from faircrowd.publish import FORMS
from faircrowd.publish.finished_labels import FinishedLabels, read_finished
from faircrowd.publish.platform_form import Form, FormOptions, PlatformForm
from faircrowd.publish.push.access_token import read_token
from faircrowd.publish.push.http_client import Client, check_url
from faircrowd.publish.push.push_plan import PushPlan
from faircrowd.storage.output_folder import OutputFolder
from faircrowd.votes.exports import EXPORTS, find_export
from faircrowd.votes.exports.answers import ExportFormat
from faircrowd.votes.exports.export_file import ExportFile

__all__ = ["Publication", "make_publication"]

_TABLES = ("lists", "records", "wide")
"""Formats that are of no platform, so that their ids of tasks may be those of any."""


@dataclass(frozen=True, eq=False)
class Publication:
    """Labels of a run in the form of a platform, before they go anywhere.

    Attributes
    ----------
    platform : PlatformForm
    labels : FinishedLabels
    form : Form
    export : Path or None
        The export that the tasks were looked up in.
    """

    platform: PlatformForm
    labels: FinishedLabels
    form: Form
    export: Path | None

    def notes(self) -> list[str]:
        """Return what a reader should know."""
        return [*self.labels.notes(), *self.form.notes]

    def lines(self) -> list[tuple[str, str]]:
        """Return what would be written or sent, as pairs of a heading and a text."""
        count, total, changed = len(self.form.items), self.labels.in_all, self.labels.n_changed
        first = json.dumps(self.form.items[0], ensure_ascii=False, default=str) if count else "nothing"
        return [
            ("labels", f"{count:,} of {total:,} tasks, {changed:,} differ from the aggregator's own label"),
            ("version", self.labels.model_version),
            ("first", first),
            ("import", self.form.how or self.platform.how),
        ]

    def to_dict(self) -> dict[str, Any]:
        """Return the numbers as plain values, ready for JSON."""
        return {
            "to": self.platform.name,
            "labels": len(self.form.items),
            "tasks": self.labels.in_all,
            "changed": self.labels.n_changed,
            "model_version": self.labels.model_version,
            "calibrated": self.labels.is_calibrated,
            "question": self.form.question,
            "export": None if self.export is None else str(self.export),
            "first": json.loads(json.dumps(self.form.items[0], default=str)) if self.form.items else None,
        }

    def write(self, path: Path) -> None:
        """Write the file that the platform imports."""
        with OutputFolder(path.parent) as folder:
            folder.write_text(path.name, self.form.text)

    def plan(
        self,
        url: str,
        project: str | None,
        token_file: Path | None,
        *,
        allow_http: bool = False,
    ) -> tuple[PushPlan, list[str]]:
        """Compare with what the platform has, and return what is to be sent, and notes about the token.

        Nothing is sent before the plan's ``send`` is called.

        Parameters
        ----------
        url : str
            The server: https, or this machine.
        project : str
            The number of the project (Label Studio) or the id of the dataset (Argilla).
        token_file : Path
            A file with the token alone.
        allow_http : bool
            Whether a server without encryption may be told the token.
        """
        if self.platform.plan is None or self.platform.headers is None:
            able = ", ".join(name for name, form in FORMS.items() if form.plan is not None)
            raise OptionError(f"push=... is for {able}; {self.platform.title} imports a file: give out=... instead.")
        address = check_url(url, allow_http=allow_http)
        if project is None or token_file is None:
            raise OptionError(
                "push=... needs project=... (the project of Label Studio, or the dataset of Argilla) and "
                "token_file=..., a file with the token alone."
            )
        if not self.form.items:
            raise InputError(f"{self.labels.folder} has no label to publish; nothing would be sent.")
        token, notes = read_token(token_file)
        client = Client(address, token, self.platform.headers)
        return self.platform.plan(client, project, self.form, self.labels.model_version), notes


def make_publication(
    folder: Path,
    to: str,
    *,
    export: Path | None = None,
    options: FormOptions | None = None,
    changed_only: bool = False,
    model_version: str | None = None,
) -> Publication:
    """Bring the labels of a run into the form of a platform.

    Parameters
    ----------
    folder : Path
        The folder of a run.
    to : str
        The name of a platform in :data:`faircrowd.publish.FORMS`.
    export : Path, optional
        The export that the votes were read from; by default the file that the run names.
    options : FormOptions, optional
    changed_only, model_version
        As in :func:`~faircrowd.publish.finished_labels.read_finished`.
    """
    if to in EXPORTS and to not in FORMS:
        raise OptionError(
            f"to={to!r} has no form of its own; labels go there as a table, one row per task: use to='csv'.",
            parameter="to",
        )
    check_choice("to", to, tuple(FORMS))
    labels = read_finished(folder, changed_only=changed_only, model_version=model_version)
    kind = None if labels.votes is None or not labels.votes.exists() else _kind_of(labels.votes, labels.reading)
    is_table = labels.votes is not None and labels.votes.exists() and (kind is None or kind.name in _TABLES)
    labels = replace(labels, is_table=is_table)
    place = export
    if export is None and kind is not None and not is_table:
        place = labels.votes
    if place is not None and not place.exists():
        raise OptionError(f"There is no export {place}; give export=... as it is now.")
    if place is not None:
        _refuse_other_platform(labels, place, to, is_named=export is not None)
    found = None if place is None else ExportFile(place, labels.reading.get("delimiter"))
    form = FORMS[to].fill(labels, found, options or FormOptions())
    return Publication(FORMS[to], labels, form, place)


def _refuse_other_platform(labels: FinishedLabels, export: Path, to: str, *, is_named: bool) -> None:
    """Raise if an export is of another platform than the one that labels go to, which has other tasks."""
    kind = _kind_of(export, {} if is_named else labels.reading)
    if to not in EXPORTS or kind is None or kind.name == to:
        return
    title, back = FORMS[to].title, f"to={kind.name!r}" if kind.name in FORMS else "to='csv'"
    if is_named:
        raise InputError(
            f"{export} is {kind.title}, and to={to!r} publishes to {title}; give export=... of {title}, or {back}."
        )
    raise InputError(
        f"The votes of {labels.folder} are from {kind.title} ({export}), whose tasks {title} does not know; publish "
        f"with {back}. If {title} has the same tasks under the same ids, name its export with export=..."
    )


def _kind_of(path: Path, reading: Mapping[str, Any]) -> ExportFormat | None:
    """Return the format of an export, as a run was told or by its content; None for a table of votes."""
    if (told := reading.get("format")) is not None:
        return EXPORTS.get(told)
    named = tuple(reading.get(name) for name in ("task", "worker", "label"))
    return find_export(path, reading.get("delimiter"), named)
