"""The rows of a spreadsheet (``.xlsx``)."""

import datetime
from collections.abc import Iterator
from pathlib import Path
from zipfile import BadZipFile, ZipFile

from faircrowd._checks import few
from faircrowd._extras import need
from faircrowd.errors import FileError
from faircrowd.votes.exports.answers import Record

__all__ = ["sheet_cells", "sheet_rows"]

_MOST_UNPACKED = 1 << 31
"""Bytes that a spreadsheet may unpack to; the library holds a sheet in memory."""


def sheet_cells(path: Path) -> Iterator[list[object]]:
    """Yield the rows of the only sheet that has any, as lists of cells; blank cells are None.

    Whole numbers, which spreadsheets keep as floats, come back as integers, and dates as text.

    Raises
    ------
    FileError
        If the file is damaged or several sheets have rows.
    """
    need("python_calamine", "exports", f"The spreadsheet {path}", ", or save it as CSV")
    import python_calamine

    try:
        with ZipFile(path) as packed:
            size = sum(part.file_size for part in packed.infolist())
        if size > _MOST_UNPACKED:
            raise FileError(f"{path} unpacks to {size:,} bytes, more than a spreadsheet may hold; save it as CSV.")
        book = python_calamine.CalamineWorkbook.from_path(str(path))
        sheets = {name: book.get_sheet_by_name(name) for name in book.sheet_names}
        filled = {name: sheet for name, sheet in sheets.items() if sheet.height > 0}
    except (python_calamine.CalamineError, BadZipFile, OSError) as error:
        raise FileError(f"{path} is no spreadsheet that can be read ({str(error)[:120]}); save it again.") from None
    if len(filled) != 1:
        found = f"{len(filled)} sheets with rows ({few(list(filled))})" if filled else "no sheet with rows"
        raise FileError(f"{path} has {found}; keep the votes alone in one sheet.")
    (sheet,) = filled.values()
    for row in sheet.iter_rows():
        cells = [_value(cell) for cell in row]
        if any(cell is not None for cell in cells):
            yield cells


def sheet_rows(path: Path) -> Iterator[Record]:
    """Yield the rows of a spreadsheet as names, which are in the first row, to values."""
    rows = sheet_cells(path)
    names = ["" if cell is None else str(cell).strip() for cell in next(rows)]
    while names and not names[-1]:
        names.pop()
    if again := [name for name in names if names.count(name) > 1 or not name]:
        what = f"column {again[0]!r} occurs {names.count(again[0])} times" if again[0] else "a column has no name"
        raise FileError(f"{path}: {what} in the first row, which holds the names; mend it.")
    for cells in rows:
        yield dict(zip(names, cells, strict=False))


def _value(cell: object) -> object:
    if cell is None or cell == "":
        return None
    if isinstance(cell, float) and cell.is_integer() and abs(cell) < 2**53:
        return int(cell)
    if isinstance(cell, datetime.date | datetime.time | datetime.timedelta):
        return cell.isoformat() if not isinstance(cell, datetime.timedelta) else str(cell)
    return cell
