"""Which folders have received their files in this process, for the message after Ctrl-C. Imports nothing heavy."""

from pathlib import Path

__all__ = ["forget_written", "record_written", "written_folders"]

_folders: list[Path] = []


def record_written(folder: Path) -> None:
    """Note that a folder has received its files."""
    _folders.append(folder)


def written_folders() -> list[Path]:
    """Return the folders that have received their files, each once."""
    return list(dict.fromkeys(_folders))


def forget_written() -> None:
    """Forget all folders, as before another command in the same process."""
    _folders.clear()
