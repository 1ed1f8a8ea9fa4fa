"""Draw the figure of the README, seconds against votes, from the table that ``speed.py --save`` wrote."""

import json
import sys
from pathlib import Path

import altair as alt
import pyarrow as pa


def main() -> None:
    table, picture = map(Path, sys.argv[1:])
    rows = [
        {"votes": row["votes"], "seconds": row[package]["seconds"], "package": package}
        for row in json.loads(table.read_text())
        if row["method"] == "DawidSkene" and set(row) == {"method", "votes", "faircrowd", "crowd-kit"}
        for package in ("faircrowd", "crowd-kit")
    ]
    base = alt.Chart(pa.Table.from_pylist(rows)).encode(
        x=alt.X("votes:Q", scale=alt.Scale(type="log"), axis=alt.Axis(format="~s"), title="votes"),
        y=alt.Y("seconds:Q", scale=alt.Scale(type="log"), axis=alt.Axis(format="~g"), title="seconds"),
        color=alt.Color("package:N", legend=None, scale=alt.Scale(range=["#8a8a8a", "#0072b2"])),
    )
    last = base.transform_filter("datum.votes == 10000000")
    layers = [
        base.mark_line(point=True, strokeWidth=2.5),
        last.mark_text(align="right", dx=-4, dy=-14, fontSize=13, fontWeight="bold").encode(text="package:N"),
    ]
    chart = alt.layer(*layers).properties(
        width=560, height=260, title="Dawid-Skene, 20 rounds: data frame in, labels out (two cores)"
    )
    chart.configure(background="white").configure_view(stroke=None).save(str(picture))


if __name__ == "__main__":
    main()
