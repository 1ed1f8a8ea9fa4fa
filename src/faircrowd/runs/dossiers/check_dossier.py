"""The dossiers in the folder of a run, made again and compared with what is there: a part of ``verify``."""

import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from faircrowd import __version__
from faircrowd.errors import FaircrowdError
from faircrowd.report import OutputFolder
from faircrowd.report.dossier.run_facts import DossierOptions
from faircrowd.runs.dossiers.write_dossier import DOSSIER, DOSSIER_FILES, INDEX, changed_files, fill_dossier
from faircrowd.runs.file_differences import Compared, Difference, compare_files
from faircrowd.storage.untrusted import read_json

__all__ = ["check_dossiers"]


def check_dossiers(run: Path, said: Mapping[str, Any], found: Compared) -> int:
    """Compare every dossier in the folder of a run; add what differs, and return how many files were compared.

    A dossier is in a folder ``dossier``, or wherever in the folder of the run there is a dossier.json.

    Parameters
    ----------
    said : mapping
        The evidence of the run.
    """
    inside = sorted(path for path in run.iterdir() if path.is_dir() and not path.name.startswith("."))
    places = [path for path in (run, *inside) if (path / INDEX).exists() or path.name == DOSSIER]
    return sum(_check(run, said, place, found) for place in places)


def _check(run: Path, said: Mapping[str, Any], place: Path, found: Compared) -> int:
    where = "" if place == run else f"{place.name}/"
    there = [name for name in DOSSIER_FILES if (place / name).exists()]
    if not there:
        return 0  # a folder of somebody else, by chance of this name
    if INDEX not in there:
        found.differences.append(f"{where}{INDEX} is missing, so the dossier cannot be made again")
        return 0
    try:
        if changed := changed_files(run, said):
            found.differences.append(
                f"{where}{INDEX} is of files that were changed since the run ({', '.join(changed)}), so the dossier is "
                "not compared"
            )
            return 0
        index = read_json(place / INDEX, "dossier")
        options, version = DossierOptions(**index["options"]), index["version"]
        if not isinstance(version, str):
            version = __version__
        with tempfile.TemporaryDirectory() as scratch, OutputFolder(scratch, keep=False) as new:
            fill_dossier(run, place, options, new, version)
            for name in new.names:
                if name not in there:
                    found.differences.append(f"{where}{name} is missing")
                    continue
                _add(found, compare_files(place / name, new.waiting(name)), where)
            strange = [name for name in there if name not in new.names]
            found.differences += [f"{where}{name} is not a file of this dossier" for name in strange]
            return len(new.names)
    except (FaircrowdError, KeyError, TypeError, AttributeError) as error:
        found.differences.append(f"{where}{INDEX} is not that of a dossier of this run: {error}")
        return 0


def _add(found: Compared, compared: Compared, where: str) -> None:
    """Add what differs in a file of a dossier, under the name of its folder.

    A dossier follows from files of the run without any sum that another processor may round otherwise, so that what
    ``compare_files`` would only note is a difference, too.
    """
    found.differences += [
        line._replace(file=f"{where}{line.file}") if isinstance(line, Difference) else f"{where}{line}"
        for line in compared.differences
    ]
    found.differences += [f"{where or 'the dossier'}: {note}" for note in compared.notes]
