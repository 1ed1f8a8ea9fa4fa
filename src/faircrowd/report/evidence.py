"""Evidence: what a run was given and what it wrote, with hashes."""

import hashlib
import platform
from collections.abc import Mapping
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from faircrowd import __version__
from faircrowd.errors import FileError, InputError
from faircrowd.storage.untrusted import read_json

__all__ = ["EVIDENCE", "VERSIONS", "evidence", "evidence_name", "file_hash", "read_evidence", "versions"]

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
            role: {"path": str(path), "sha256": file_hash(path), "bytes": path.stat().st_size}
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


def read_evidence(folder: Path) -> dict[str, Any]:
    """Read the evidence of a folder, or that of a single file by its own name."""
    place = folder if folder.name.endswith(f".{EVIDENCE}") else folder / EVIDENCE
    try:
        found = read_json(place, "evidence")
    except FileError as error:
        raise FileError(f"{str(error).removesuffix('.')}; name a folder that faircrowd wrote.") from None
    if not isinstance(found, dict) or found.get("kind") != _KIND or not isinstance(found.get("schema"), int):
        raise InputError(f"{place} is not evidence of faircrowd.")
    if found["schema"] > _SCHEMA:
        raise InputError(f"{place} has schema {found['schema']}, newer than {_SCHEMA}; update faircrowd.")
    return found


def file_hash(path: Path) -> str:
    """Return the SHA-256 of a file's contents."""
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise FileError(f"{path} cannot be read: {error.strerror or error}.") from None


def _version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None
