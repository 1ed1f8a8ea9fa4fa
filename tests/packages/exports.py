"""The extra exports: votes in a spreadsheet."""

import os
from zipfile import ZipFile

os.environ["NUMBA_DISABLE_JIT"] = "1"
import faircrowd as fc

SHEETS = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
RELATED = '<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">{}</Relationships>'
OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
RELATION = f'<Relationship Id="r1" Type="{OFFICE}/{{}}" Target="{{}}"/>'
PARTS = {
    "[Content_Types].xml": '<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types"/>',
    "xl/workbook.xml": f'<workbook xmlns="{SHEETS}" xmlns:r="{OFFICE}"><sheets><sheet name="s" sheetId="1" r:id="r1"/>'
    "</sheets></workbook>",
    "_rels/.rels": RELATED.format(RELATION.format("officeDocument", "xl/workbook.xml")),
    "xl/_rels/workbook.xml.rels": RELATED.format(RELATION.format("worksheet", "worksheets/sheet1.xml")),
}
ROWS = [("task", "worker", "label"), ("1", "a", "x"), ("1", "b", "y"), ("2", "a", "x")]
CELL = '<c r="{}{}" t="inlineStr"><is><t>{}</t></is></c>'
rows = "".join(
    f'<row r="{r}">{"".join(CELL.format("ABC"[c], r, text) for c, text in enumerate(row))}</row>'
    for r, row in enumerate(ROWS, start=1)
)
with ZipFile("votes.xlsx", "w") as book:
    for name, text in PARTS.items():
        book.writestr(name, text)
    book.writestr("xl/worksheets/sheet1.xml", f'<worksheet xmlns="{SHEETS}"><sheetData>{rows}</sheetData></worksheet>')
votes = fc.read_votes("votes.xlsx")
assert (votes.n_votes, votes.n_tasks, votes.n_workers) == (3, 2, 2), votes
