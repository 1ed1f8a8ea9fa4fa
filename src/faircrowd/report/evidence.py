"""Evidence: what a run was given and what it wrote, with hashes."""

import functools
import platform
from collections.abc import Mapping
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from faircrowd import __version__
from faircrowd.errors import FileError, InputError
from faircrowd.storage.content_hash import content_bytes, content_hash
from faircrowd.storage.untrusted import read_json

__all__ = ["EVIDENCE", "VERSIONS", "evidence", "evidence_name", "evidence_place", "read_evidence", "versions"]

EVIDENCE = "evidence.json"
VERSIONS = ("version", "python", "libraries")
"""What a run was done with: of faircrowd, of Python, and of the libraries that compute and draw."""

_SCHEMA = 1
_KIND = "faircrowd.evidence"
_LIBRARIES = ("numpy", "scipy", "numba", "pyarrow", "vl-convert-python")


def evidence(
    command: str,
    options: dict[str, Any],
    inputs: Mapping[str, Path | None],
    certificate: dict[str, Any] | None,
) -> dict[str, Any]:
    """Return the evidence of a run; ``outputs``, the hashes of its files, are added once these are written.

    Parameters
    ----------
    command : str
        The name of the command.
    options : dict
        What it was given, enough to repeat it.
    inputs : dict
        Files that it read, by role.
    certificate : dict or None
    """
    return {
        "schema": _SCHEMA,
        "kind": _KIND,
        **versions(),
        "command": command,
        "options": options,
        "inputs": {
            role: {"path": str(path), "sha256": content_hash(path), "bytes": content_bytes(path)}
            for role, path in inputs.items()
            if path is not None
        },
        "certificate": certificate,
    }


def evidence_name(file: str) -> str:
    """Return the name of the evidence of a single file, which lies beside it.

    Examples
    --------
    >>> evidence_name("new.csv")
    'new.csv.evidence.json'
    """
    return f"{file}.{EVIDENCE}"


def versions() -> dict[str, Any]:
    """Return the versions of faircrowd, Python and libraries: what ``VERSIONS`` names."""
    found = __version__, platform.python_version(), {name: _version(name) for name in _LIBRARIES}
    return dict(zip(VERSIONS, found, strict=True))


def evidence_place(given: Path) -> Path:
    """Return where the evidence of a folder is, or that of a single file; its own path may be given, too.

    Examples
    --------
    >>> evidence_place(Path("new.csv")).name, evidence_place(Path("new.csv.evidence.json")).name
    ('new.csv.evidence.json', 'new.csv.evidence.json')
    """
    if given.name == EVIDENCE or given.name.endswith(f".{EVIDENCE}"):
        return given
    is_file = given.is_file() or (given.suffix == ".csv" and not given.is_dir())
    return given.with_name(evidence_name(given.name)) if is_file else given / EVIDENCE


def read_evidence(given: Path) -> dict[str, Any]:
    """Read the evidence of a folder or of a single file (see ``evidence_place``)."""
    place = evidence_place(given)
    try:
        found = read_json(place, "evidence")
    except FileError as error:
        asked = "name a folder that faircrowd wrote, or a file of labels that it wrote evidence beside"
        raise FileError(f"{str(error).removesuffix('.')}; {asked}.") from None
    if not isinstance(found, dict) or found.get("kind") != _KIND or not isinstance(found.get("schema"), int):
        raise InputError(f"{place} is not evidence of faircrowd.")
    if found["schema"] > _SCHEMA:
        raise InputError(f"{place} has schema {found['schema']}, newer than {_SCHEMA}; update faircrowd.")
    return found


@functools.cache
def _version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None
