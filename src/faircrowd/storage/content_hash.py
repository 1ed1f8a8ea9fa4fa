"""SHA-256 of what a file or a folder holds."""

import hashlib
from collections.abc import Iterator
from pathlib import Path

from faircrowd.errors import FileError

__all__ = ["content_bytes", "content_files", "content_hash"]


def content_hash(path: Path) -> str:
    r"""Return the SHA-256 of a file's contents; of a folder, that of the names and hashes of its files.

    Files of a folder whose names begin with a dot or an underscore are left out, as Spark and Arrow leave them out when
    they read a folder of tables.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as place:
    ...     _ = Path(place, "a.csv").write_text("x")
    ...     of_file, of_folder = content_hash(Path(place, "a.csv")), content_hash(Path(place))
    ...     _ = Path(place, "_SUCCESS").write_text("")
    ...     assert content_hash(Path(place)) == of_folder == hashlib.sha256(f"a.csv {of_file}\n".encode()).hexdigest()
    """
    try:
        if path.is_dir():
            lines = (f"{file.relative_to(path).as_posix()} {content_hash(file)}\n" for file in content_files(path))
            return hashlib.sha256("".join(lines).encode("utf-8", "surrogateescape")).hexdigest()
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise FileError(f"{path} cannot be read: {error.strerror or error}.") from None


def content_bytes(path: Path) -> int:
    """Return the size of a file, or of the files of a folder that ``content_hash`` goes through."""
    return sum(file.stat().st_size for file in content_files(path)) if path.is_dir() else path.stat().st_size


def content_files(folder: Path) -> Iterator[Path]:
    """Yield the files of a folder, in order; names that begin with ``.`` or ``_`` are hidden, also those of folders."""
    for file in sorted(folder.rglob("*"), key=lambda path: path.parts):  # Windows would ignore case
        if file.is_file() and not any(part[0] in "._" for part in file.relative_to(folder).parts):
            yield file
