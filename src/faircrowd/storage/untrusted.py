"""Files that others may have written: read with care, and refused with a reason."""

import json
import math
import os
import struct
import zipfile
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from faircrowd.errors import FileError, InputError

__all__ = ["FAULTS", "parse_json", "read_arrays", "read_json"]

_MAX_BYTES = 1 << 30
_MAX_DEPTH = 50
FAULTS = (
    *(ArithmeticError, AttributeError, EOFError, LookupError, MemoryError, RuntimeError, TypeError, ValueError),
    *(zipfile.BadZipFile, zlib.error, struct.error),
)
"""What may be raised while reading a file that was edited or truncated."""


def read_json(path: Path, what: str, *, infinite: bool = False) -> Any:
    """Read a JSON file.

    Parameters
    ----------
    path : Path
    what : str
        What the file should hold, for the message.
    infinite : bool
        Whether infinite numbers are allowed.

    Raises
    ------
    FileError
        If it cannot be read.
    InputError
        If it is not JSON, or is larger or deeper than any that faircrowd writes.
    """
    try:
        with path.open("rb") as file:
            if os.fstat(file.fileno()).st_size > _MAX_BYTES:
                raise InputError(f"{path} holds no {what} of faircrowd: it is larger than 1 GB.")
            text = file.read().decode()
    except OSError as error:
        raise FileError(f"{path} cannot be read: {error.strerror or error}.") from None
    except UnicodeDecodeError:
        raise InputError(f"{path} holds no {what} of faircrowd: it is not JSON.") from None
    return parse_json(text, f"{path} holds no {what} of faircrowd", infinite=infinite)


def parse_json(text: str, refusal: str, *, infinite: bool = False) -> Any:
    """Return the value of a JSON text; NaN, repeated names, deep nesting and, unless allowed, infinity are refused.

    Examples
    --------
    >>> parse_json('{"epsilon": 1e999}', "This is not a rule")
    Traceback (most recent call last):
    faircrowd.errors.InputError: This is not a rule: 1e999 is not a number that it may hold.
    """

    def number(written: str) -> float:
        value = float(written)
        if math.isnan(value) or (math.isinf(value) and not infinite):
            raise InputError(f"{refusal}: {written[:40]} is not a number that it may hold.")
        return value

    def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        made = dict(pairs)
        if len(made) < len(pairs):
            names = [name for name, _ in pairs]
            twice = next(name for name in names if names.count(name) > 1)
            raise InputError(f"{refusal}: it has {twice[:40]!r} twice.")
        return made

    try:
        found = json.loads(text, parse_constant=number, parse_float=number, object_pairs_hook=once)
    except InputError:
        raise
    except ValueError:
        raise InputError(f"{refusal}: it is not JSON.") from None
    except RecursionError:
        found, is_deep = None, True
    else:
        is_deep = _is_deep(found)
    if is_deep:
        raise InputError(f"{refusal}: its lists are nested too deeply.")
    return found


def read_arrays(path: Path, what: str, shapes: Mapping[str, tuple[int, ...] | None]) -> dict[str, NDArray[Any]]:
    """Read arrays of an .npz file: only those named, without pickle, and no larger than stated and allowed.

    Parameters
    ----------
    path : Path
    what : str
        What the file should hold, for the message.
    shapes : dict
        The shape of each array, or None for any.

    Raises
    ------
    FileError
        If the file cannot be read.
    InputError
        If the file is not valid.
    """
    try:
        with path.open("rb") as file, zipfile.ZipFile(file) as packed:
            return {name: _array(packed, name, shape) for name, shape in shapes.items()}
    except InputError:
        raise
    except OSError as error:
        raise FileError(f"{path} cannot be read: {error.strerror or error}.") from None
    except FAULTS:
        raise InputError(
            f"{path} holds no {what} of faircrowd: it is not an .npz file with the arrays of one; was it edited or cut?"
        ) from None


def _array(packed: zipfile.ZipFile, name: str, shape: tuple[int, ...] | None) -> NDArray[Any]:
    member = packed.getinfo(f"{name}.npy")
    file: Any
    with packed.open(member) as file:
        version = np.lib.format.read_magic(file)
        header = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
        found, in_columns, kind = header(file)
        if kind.kind not in "biufU":
            raise ValueError(f"{name} does not hold numbers")
        if shape is not None and found != tuple(shape):
            raise InputError(f"The arrays are not of one model: the shape of {name} is wrong.")
        size = math.prod(found) * kind.itemsize
        if min(found, default=0) < 0 or file.tell() + size != member.file_size:
            raise ValueError(f"{name} does not have the stated length")
        if shape is None and size > _MAX_BYTES:
            raise ValueError(f"{name} is too large")
        array = np.empty(found[::-1] if in_columns else found, kind)
        buffer, place = array.reshape(-1).view(np.uint8) if size else array, 0
        while place < size:
            read = file.readinto(buffer[place:].data)
            if not read:
                raise EOFError(f"{name} ends too soon")
            place += read
        file.read(1)  # past the end, where the checksum is compared
    return np.asarray(array.T) if in_columns else array


def _is_deep(value: object) -> bool:
    """Return whether lists or objects are nested too deeply; without recursion."""
    level = [value]
    for _ in range(_MAX_DEPTH):
        boxes = [inner for inner in level if isinstance(inner, dict | list)]
        if not boxes:
            return False
        level = [inner for box in boxes for inner in (box.values() if isinstance(box, dict) else box)]
    return True
