"""Where two Spark frames with one row per key differ."""

from typing import TYPE_CHECKING, Any

from faircrowd.engines.spark.session import collected, spark_errors

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

__all__ = ["frame_differences"]

_ROUNDING = 1e-9
"""How much of their size two numbers may differ by and still be equal but for rounding."""
_MOST = 1000
"""How many rows that differ come to the driver."""


def frame_differences(
    written: "DataFrame", expected: "DataFrame", key: str
) -> tuple[list[tuple[str, object, object]], int]:
    """List the places where a frame differs from another, with both values; only rows that differ are collected.

    Parameters
    ----------
    written, expected : pyspark.sql.DataFrame
        ``expected`` has one row per key.
    key : str
        The column that rows are matched by; null is a key, too.

    Returns
    -------
    list of (str, object, object)
        The place, what is written there, and what is expected.
    int
        How many numbers differ by rounding alone, at most 1e-9 of their size.
    """
    from pyspark.sql import functions as F  # noqa: N812 - its usual name

    header, columns = ([f"{name} {kind}" for name, kind in frame.dtypes] for frame in (written, expected))
    if header != columns:
        return [("the header", header, columns)], 0
    names, kinds = expected.columns, dict(expected.dtypes)
    numbers = [i for i, name in enumerate(names) if kinds[name] == "double"]
    at = names.index(key)
    one, other = written.toDF(*_numbered("a", names)), expected.toDF(*_numbered("b", names))
    both = one.withColumn("a", F.lit(True)).join(
        other.withColumn("b", F.lit(True)), F.col(f"a{at}").eqNullSafe(F.col(f"b{at}")), "full_outer"
    )
    is_equal = [F.col(f"a{i}").eqNullSafe(F.col(f"b{i}")) for i in range(len(names))]
    is_near = [_is_near(F.col(f"a{i}"), F.col(f"b{i}")) if i in numbers else F.lit(False) for i in range(len(names))]
    is_matched = F.col("a").isNotNull() & F.col("b").isNotNull()
    same = is_matched
    for equal, near in zip(is_equal, is_near, strict=True):
        same = same & (equal | near)
    rounded: Any = F.lit(0)
    for equal, near in zip(is_equal, is_near, strict=True):
        rounded = rounded + F.when(is_matched & ~equal & near, 1).otherwise(0)
    with spark_errors("A comparison in Spark failed"):
        have, want = (int(frame.count()) for frame in (written, expected))
        (near_ones,) = collected(both.agg(F.sum(rounded).alias("n")))["n"].to_pylist()
        rows = collected(both.where(~same).orderBy(f"b{at}", f"a{at}").limit(_MOST)).to_pylist()
    found: list[tuple[str, object, object]] = []
    if have != want:
        found.append(("the number of rows", have, want))
    for row in rows:
        if row["a"] is None or row["b"] is None:
            is_gone = row["a"] is None
            which, there = row[f"{'b' if is_gone else 'a'}{at}"], ("absent", "there")
            found.append((f"the row of {key} {which}", there[not is_gone], there[is_gone]))
            continue
        for i, name in enumerate(names):
            a, b = row[f"a{i}"], row[f"b{i}"]
            if a != b and not (a != a and b != b) and not (i in numbers and _near(a, b)):
                found.append((f"{key} {row[f'b{at}']}, column {name}", a, b))
    return found, int(near_ones or 0)


def _numbered(letter: str, names: list[str]) -> list[str]:
    """Return names without anything that Spark's expressions would take apart."""
    return [f"{letter}{i}" for i in range(len(names))]


def _is_near(a: "Column", b: "Column") -> "Column":
    from pyspark.sql import functions as F  # noqa: N812 - its usual name

    near = F.abs(a - b) <= _ROUNDING * F.greatest(F.abs(a), F.abs(b), F.lit(1e-3))
    return F.coalesce(near, F.lit(False))


def _near(a: float | None, b: float | None) -> bool:
    return a is not None and b is not None and abs(a - b) <= _ROUNDING * max(abs(a), abs(b), 1e-3)
