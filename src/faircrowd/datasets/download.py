"""Find the files of data sets in a folder of the user, and download missing ones from where they are published."""

import importlib.util
import os
import sys
from pathlib import Path
from urllib.parse import urlsplit

from faircrowd._checks import check_path
from faircrowd._types import PathOrText
from faircrowd.datasets.catalogue import About, RawFile
from faircrowd.errors import FileError

__all__ = ["find_files", "find_home", "get_files"]


def find_home(data_home: PathOrText | None = None) -> Path:
    """Return the folder of data sets: the one given, else that in FAIRCROWD_DATA, else one in the user's cache."""
    given = data_home or os.environ.get("FAIRCROWD_DATA")
    if given:
        folder = Path(given).expanduser()
        check_path(folder)
        return folder
    try:
        import pooch  # type: ignore[import-untyped]
    except ModuleNotFoundError:
        raise FileError(
            "No folder of data sets is known; set FAIRCROWD_DATA to one, or pip install 'faircrowd[app]'."
        ) from None
    return Path(pooch.os_cache("faircrowd"))


def find_files(about: About, home: Path) -> dict[str, Path]:
    """Return the files of a data set that exist, by name: in the set's own folder in ``home``, or in ``home``."""
    found = {}
    for file in about.files:
        places = [folder / name for folder in (home / about.name, home) for name in (file.name, *file.also)]
        here = next((place for place in places if place.is_file()), None)
        if here is not None:
            found[file.name] = here
    return found


def get_files(about: About, home: Path, *, download: bool = True) -> dict[str, Path]:
    """Return the files of a data set, by name; download missing ones into its folder in ``home``."""
    found = find_files(about, home)
    missing = [file for file in about.files if file.name not in found]
    why = ""
    for file in missing if download else ():
        try:
            found[file.name] = _download(file, home / about.name)
        except (ModuleNotFoundError, OSError, ValueError) as error:
            why = f" ({_why(file, error)})"
            break
    lacking = [file.name for file in missing if file.name not in found]
    if lacking:
        names = ", ".join(lacking)
        raise FileError(f"{about.name} lacks {names}{why}; put {names} of {about.source} into {home / about.name}.")
    return found


def _download(file: RawFile, folder: Path) -> Path:
    import pooch

    shows = sys.stderr is not None and sys.stderr.isatty() and importlib.util.find_spec("tqdm") is not None
    return Path(pooch.retrieve(file.url, f"sha256:{file.sha256}", file.name, folder, progressbar=shows))


def _why(file: RawFile, error: Exception) -> str:
    """Return why a download failed."""
    host = urlsplit(file.url).netloc
    if isinstance(error, ModuleNotFoundError):
        return f"downloads need {error.name} (pip install 'faircrowd[app]')"
    if isinstance(error, ValueError):
        return f"what {host} sent for {file.name} does not have the expected SHA-256"
    if hasattr(error, "response"):  # all errors of requests have it
        answer = error.response
        return f"no connection to {host}" if answer is None else f"{host} answered {answer.status_code}"
    return f"{file.name} cannot be saved ({getattr(error, 'strerror', None) or error})"
