"""A made-up format, to be registered by tests: one line per task, ``7 north: ann=yes bob=no``, and comments."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pyarrow as pa

from faircrowd.votes.readers import READERS, Columns, Reader, Source, SparkFormat, register

__all__ = ["NAMES", "TEXT", "registered", "toy"]

NAMES = ["task", "place", "worker", "label"]

TEXT = """# votes of a made-up platform
7 north: ann=yes bob=no cleo=yes
8 south: ann=no bob=no cleo=yes
# the last two
9 north: ann=yes bob=yes cleo=yes
10 south: bob=no cleo=no
"""


def lines(source: Source) -> list[str]:
    with source.open() as stream:
        return list(stream.read().decode().splitlines())


def header(source: Source) -> list[str]:
    return list(NAMES)


def columns(source: Source, names: Sequence[str]) -> Columns:
    rows = []
    for line in lines(source):
        if not line.startswith("#"):
            task, place, *votes = line.replace(":", "").split()
            rows += [(task, place, *vote.split("=")) for vote in votes]
    found = dict(zip(NAMES, zip(*rows, strict=True), strict=True))
    return {name: pa.chunked_array([pa.array(found[name])]) for name in names}


def blocks(source: Source, names: Sequence[str]) -> Iterator[pa.RecordBatch]:
    yield from pa.table(columns(source, names)).to_batches(max_chunksize=3)


def recognises(path: Path) -> bool:
    return path.is_file() and path.read_bytes().startswith(b"# votes of a made-up platform")


def left_out(source: Source) -> dict[str, int]:
    return {"a comment": sum(line.startswith("#") for line in lines(source))}


def toy(*, streams: bool = True, by_content: bool = False, spark: SparkFormat | None = None) -> Reader:
    """Return the format, known by its ending or by its content."""
    return Reader(
        "toy",
        () if by_content else (".toy",),
        "one line per task",
        header=header,
        columns=columns,
        blocks=blocks if streams else None,
        recognises=recognises if by_content else None,
        left_out=left_out,
        spark=spark,
        is_untyped=True,
    )


@contextmanager
def registered(reader: Reader) -> Iterator[None]:
    """Register a format inside the ``with`` block."""
    register(reader)
    try:
        yield
    finally:
        del READERS[reader.name]
