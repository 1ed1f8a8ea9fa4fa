"""What can be taken away from a run: its folder, the form of a platform, and the lines that repeat it."""

import os
import re
import tempfile
import zipfile
from dataclasses import fields
from pathlib import Path

from faircrowd.aggregate.registry import AGGREGATORS
from faircrowd.runs.how_to_repeat import how_to_repeat
from faircrowd.runs.options import RunOptions
from faircrowd.studio.studio_form import run_options
from faircrowd.studio.workspace import Job

_PUBLIC = {"FairCrowd", *(kind.class_name for kind in AGGREGATORS.values())}

__all__ = ["publish_text", "python_text", "repeat_text", "zip_folder"]


def repeat_text(job: Job) -> str:
    """Return the command that repeats a run."""
    return how_to_repeat(run_options(job.asked), "labels")


def python_text(job: Job) -> str:
    """Return the lines of Python that repeat a run; ``FairCrowd`` does, unless there is no limit to be kept."""
    options = run_options(job.asked)
    if options.fair is None:
        return _plain_python(options)
    call = how_to_repeat(options, "labels", in_python=True)
    names = sorted({name for name in re.findall(r"[A-Z]\w+(?=\()", call) if name in _PUBLIC})
    more = "from faircrowd.constraints import parse_constraint\n" if "parse_constraint(" in call else ""
    return f"from faircrowd import {', '.join(names)}\n{more}\n{call}"


def _plain_python(options: RunOptions) -> str:
    """Return the lines of Python that repeat a run without limits."""
    given = []
    for item in fields(options.read):
        value = getattr(options.read, item.name)
        if value != item.default:
            given.append(f"{item.name}={f'Path({str(value)!r})' if isinstance(value, Path) else repr(value)}")
    model = f"ModelOptions.given({options.model.method!r}, calibrated={options.model.calibrated})"
    return (
        "from pathlib import Path\n\nfrom faircrowd.runs.fit import fit\n"
        "from faircrowd.runs.options import ModelOptions, PageOptions, ReadOptions, RunOptions\n\n"
        f"read = ReadOptions({', '.join(given)})\n"
        f'fit(RunOptions(read, {model}, page={options.page!r})).write("labels")'
    )


def zip_folder(job: Job) -> Path:
    """Return everything that a run wrote as one compressed file, made once."""
    path = job.folder / "result.zip"
    if not path.is_file():
        number, part = tempfile.mkstemp(dir=job.folder, suffix=".part")
        with os.fdopen(number, "wb") as file, zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
            for entry in sorted(job.result.iterdir()):
                if entry.is_file():
                    archive.write(entry, entry.name)
        Path(part).replace(path)
    return path


def publish_text(job: Job, platform: str) -> tuple[str, str]:
    """Return the labels in the form of a platform: the name of the file, and its text."""
    from faircrowd.publish.publish_labels import make_publication

    made = make_publication(job.result, platform)
    return f"{platform}-{job.name}{made.platform.ending}", made.form.text
