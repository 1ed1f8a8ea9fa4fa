"""Fuzz the readers: the bytes of a CSV, JSON lines or Parquet file are votes, or refused with a one-line message.

``python tests/fuzz/readers.py csv --seconds 60`` (or jsonl, parquet, gzip).
"""

import gzip
import io
import tempfile
import warnings
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from fuzzing import instrumented, run

with instrumented():
    from faircrowd.errors import FaircrowdError
    from faircrowd.votes.read import read_votes

CSV = b'task,worker,label\n1,a,x\n1,b,y\n2,a,\n2,b,NaN\n3,b,"y\nz"\n'
JSON = b'{"task": 1, "worker": "a", "label": true}\n{"task": 1, "worker": "b", "label": null}\n'
OTHER = b'{"task": "2024-01-01", "worker": 1e3, "label": 1.5}\n{"task": 18446744073709551616, "worker": [1]}\n'


def parquet() -> bytes:
    stream = io.BytesIO()
    table = pa.table({"task": [1, 1, 2], "worker": ["a", "b", "a"], "label": ["x", None, "y"]})
    pq.write_table(table, stream, compression="none")
    return stream.getvalue()


PLACE = Path(tempfile.mkdtemp(prefix="faircrowd-fuzz-"))


def reads(ending: str, content: bytes) -> None:
    """Read a file, and fit the simplest model."""
    path = PLACE / f"votes{ending}"
    path.write_bytes(content)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            table = read_votes(path, on_duplicate="all")
        except FaircrowdError as error:
            message = str(error)
            table = None
    if table is None:
        assert len(message.splitlines()) == 1, message
        return
    assert table.n_votes + table.report.rows_aside == table.report.rows_read
    assert table.offsets[-1] == table.n_votes
    assert table.n_votes == 0 or 0 <= table.label.min() <= table.label.max() < table.n_classes


def csv(content: bytes) -> None:
    reads(".csv", content)


def jsonl(content: bytes) -> None:
    reads(".jsonl", content)


def parquet_file(content: bytes) -> None:
    reads(".parquet", content)


def gzipped(content: bytes) -> None:
    reads(".csv.gz", content)


if __name__ == "__main__":
    run(
        {"csv": csv, "jsonl": jsonl, "parquet": parquet_file, "gzip": gzipped},
        {
            "csv": [CSV, b"\xef\xbb\xbf" + CSV],
            "jsonl": [JSON, OTHER],
            "parquet": [parquet()],
            "gzip": [gzip.compress(CSV)],
        },
    )
