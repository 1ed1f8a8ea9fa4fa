"""Finished files take their place: all at one moment where the system can, else one by one and undone on failure."""

import ctypes
import os
import shutil
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path

from faircrowd.storage.scratch import Scratch

__all__ = ["publish"]

_AT_CURRENT_FOLDER = -100  # AT_FDCWD
_RENAME_EXCHANGE = 2


def publish(files: Path, out: Path, names: Iterable[str], stale: Iterable[str], prefix: str) -> None:
    """Move files and folders into a folder, and remove others from it.

    On Linux the folder is exchanged for a new folder in one step, so that anyone who looks, also after the process was
    killed, finds only the old files or only the new ones. Other files of the folder are in both, as links. A folder
    cannot be linked, so this is not possible where there are folders other than those replaced or removed: these stay
    where they are, and the new files are moved one by one. Nor is it possible where the folder is the current one or a
    mount, or where its parent cannot be written.

    Parameters
    ----------
    files : Path
        The folder of the new files, in a ``Scratch`` in ``out``.
    out : Path
    names : iterable of str
        The files and folders to move.
    stale : iterable of str
        The files and folders to remove, if they exist.
    prefix : str
        How the names of folders of a process begin.
    """
    place, names = out.resolve(), list(names)
    for name in names:
        _sync(files / name)
    gone = [name for name in sorted(set(stale) - set(names)) if os.path.lexists(place / name)]
    if len(names) == 1 and not gone and (files / names[0]).is_file():
        os.replace(files / names[0], place / names[0])
    elif (names or gone) and not _exchanged(files, place, {*names, *gone}, prefix):
        _move(files, place, names, gone)


def _exchanged(files: Path, place: Path, changed: set[str], prefix: str) -> bool:
    """Exchange a folder for one with the new files and all its other files; False if that is not possible."""
    here = Path.cwd()
    if here == place or place in here.parents or _exchanging_rename() is None:
        return False
    beside: Scratch | None = None
    try:
        seen = {entry.name: entry.is_dir(follow_symlinks=False) for entry in os.scandir(place)}
        del seen[files.parent.name]
        if any(is_folder for name, is_folder in seen.items() if name not in changed):
            return False
        beside = Scratch(place.parent, prefix)
        for name in seen.keys() - changed:
            os.link(place / name, files / name, follow_symlinks=False)
        was = place.stat()
        os.chown(files, was.st_uid, was.st_gid)
        shutil.copystat(place, files)
        new = beside.path / files.name
        os.rename(files, new)
        if not _exchange(new, place):
            os.rename(new, files)
            return False
        with suppress(OSError):
            for name in os.listdir(new):  # what others have put there in the meantime
                if name not in seen and name != files.parent.name and not os.path.lexists(place / name):
                    os.rename(new / name, place / name)
    except OSError:
        return False
    finally:
        if beside is not None:
            beside.remove()
    return True


def _exchange(one: Path, other: Path) -> bool:
    """Exchange the names of two folders in one step; False where the system cannot."""
    rename = _exchanging_rename()
    return (
        rename is not None
        and rename(_AT_CURRENT_FOLDER, os.fsencode(one), _AT_CURRENT_FOLDER, os.fsencode(other), _RENAME_EXCHANGE) == 0
    )


def _exchanging_rename() -> Callable[[int, bytes, int, bytes, int], int] | None:
    """Return the function of the system that exchanges two names; Windows and macOS have none of this name."""
    return getattr(ctypes.CDLL(None), "renameat2", None) if os.name == "posix" else None


def _move(files: Path, place: Path, names: list[str], gone: list[str]) -> None:
    """Move the new files one by one; after an error the old ones are restored."""
    old, placed = files.parent / "old", list[str]()
    old.mkdir()
    try:
        for name in [*gone, *names]:
            if os.path.lexists(place / name):
                os.rename(place / name, old / name)
            if name in names:
                os.rename(files / name, place / name)
                placed.append(name)
    except BaseException:
        for name in placed:
            os.rename(place / name, files / name)
        for name in os.listdir(old):
            os.rename(old / name, place / name)
        raise


def _sync(path: Path) -> None:
    """Wait until a file, or all files in a folder, are on the disk: a full disk may be reported only now."""
    for file in [path] if path.is_file() else filter(Path.is_file, path.rglob("*")):
        # Another user, that of Spark's executors, may have written it: then it can only be read.
        with file.open("rb" if os.name == "posix" else "rb+") as stream:
            os.fsync(stream.fileno())
