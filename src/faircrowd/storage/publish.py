"""What waits takes its place: all at one moment where the system can, else one by one and undone on failure."""

import ctypes
import os
import shutil
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from faircrowd.storage.scratch import Scratch

__all__ = ["publish"]

_HERE = -100  # AT_FDCWD
_EXCHANGE = 2  # RENAME_EXCHANGE


def publish(files: Path, out: Path, names: Iterable[str], stale: Iterable[str], prefix: str) -> None:
    """Move files and folders into a folder, and remove others of it.

    On Linux the folder as a whole is exchanged for one with what is new, so that whoever looks, and whenever the
    process is killed, finds all that is old or all that is new. Other files of the folder are in both, as links. A
    folder cannot be in two places, so this cannot be done where there are others than those replaced or removed: they
    stay where they are, and what is new is moved one by one. Nor can it be done where the folder is the current one or
    a mount, or where the one above it cannot be written.

    Parameters
    ----------
    files : Path
        The folder where they wait, in a ``Scratch`` in ``out``.
    out : Path
    names : iterable of str
        The files and folders to move.
    stale : iterable of str
        Those to remove, if they are there.
    prefix : str
        How folders of a process begin.
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
    """Exchange a folder for one with the new files and all other files of it; False if that cannot be."""
    here = Path.cwd()
    if here == place or place in here.parents:
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
            for name in os.listdir(new):  # what others have put there since
                if name not in seen and name != files.parent.name and not os.path.lexists(place / name):
                    os.rename(new / name, place / name)
    except OSError:
        return False
    finally:
        if beside is not None:
            beside.remove()
    return True


def _exchange(one: Path, other: Path) -> bool:
    """Let two folders take each other's name at one moment; False where the system cannot."""
    rename = getattr(ctypes.CDLL(None), "renameat2", None) if os.name == "posix" else None
    return rename is not None and rename(_HERE, os.fsencode(one), _HERE, os.fsencode(other), _EXCHANGE) == 0


def _move(files: Path, place: Path, names: list[str], gone: list[str]) -> None:
    """Move what is new one by one; after an error all that is old is back."""
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
    """Wait until a file, or all in a folder, is on the disk: one that is full may say so only now."""
    for file in [path] if path.is_file() else filter(Path.is_file, path.rglob("*")):
        with file.open("rb" if os.name == "posix" else "rb+") as stream:  # executors may have written it, as others
            os.fsync(stream.fileno())
