"""What the page is about: data set, date, groups, labels and purpose; and the names that it shows cut, in full."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from faircrowd.report.opening.plain_words import Named, Part
from faircrowd.report.safe_names import groups_in_charts, short, shorts
from faircrowd.report.shown_groups import MAX_GROUPS
from faircrowd.report.summary import Summary

__all__ = ["about_run", "names_in_full"]

_LONGEST_HERE, _LONGEST_IN_CHARTS = 60, 20
_LONGEST_KEY = 500


def about_run(summary: Summary, data: Sequence[str], columns: Sequence[str], page: Mapping[str, str]) -> dict[str, Any]:
    """Return what a page is about.

    Parameters
    ----------
    summary : Summary
    data : sequence of str
        The names of the files that were read; none if votes were in memory.
    columns : sequence of str
        Those of the groups, if they are known.
    page : mapping
        What was given of ``title``, ``note`` and ``date``.

    Returns
    -------
    dict
        ``title``; ``note``; ``rows``, pairs of a heading and parts of a text; and ``names``, of ``names_in_full``.
    """
    read = f"{summary.rows['rows_read']:,} rows, {summary.rows['rows_aside']:,} of them set aside"
    rows: list[tuple[str, list[Part]]] = [
        ("data", [*_listed(data or ["votes in memory"]), f" ({read})"]),
        ("date", [page.get("date", "not stated")]),
    ]
    sizes = summary.group_tasks or {}
    if sizes:
        head: list[Part] = [*_listed(columns), ": "] if columns else []
        named = [(name, f"{tasks:,} tasks") for name, tasks in sizes.items()]
        rows.append(("groups", [*head, *_counted(named)]))
    shares = [(name, f"{share:.1%}") for name, share in summary.class_shares.items()]
    rows.append(("labels", [*_counted(shares)]))
    labels, groups = list(summary.class_shares), list(sizes)
    shown = (
        (columns, [short(name, _LONGEST_IN_CHARTS) for name in columns]),
        (groups, groups_in_charts(groups, columns)),
        (labels, shorts(labels, _LONGEST_IN_CHARTS)),
    )
    return {
        "title": short(page["title"], len(page["title"])) if "title" in page else None,
        "note": short(page["note"], len(page["note"])) if "note" in page else None,
        "rows": rows,
        "names": names_in_full({name: cut for names, cuts in shown for name, cut in zip(names, cuts, strict=True)}),
    }


def names_in_full(shown: Mapping[str, str]) -> list[dict[str, str]]:
    """Return the names that the page cuts somewhere: as charts show them, and in full.

    Parameters
    ----------
    shown : mapping of str to str
        Names, and how charts show each.

    Examples
    --------
    >>> names_in_full({"short": "short", "a name of more than twenty letters": "a name of more than…"})
    [{'cut': 'a name of more than…', 'full': 'a name of more than twenty letters'}]
    """
    found = []
    for name, cut in shown.items():
        if len(name) > _LONGEST_IN_CHARTS:
            more = "" if len(name) <= _LONGEST_KEY else f" ({len(name):,} characters)"
            found.append({"cut": cut, "full": f"{short(name, _LONGEST_KEY)}{more}"})
    return found


def _listed(names: Iterable[str]) -> list[Part]:
    parts: list[Part] = []
    for name in names:
        parts += [", " if parts else "", Named(short(name, _LONGEST_HERE))]
    return parts


def _counted(named: Sequence[tuple[str, str]]) -> list[Part]:
    """Return names with what is said of each; of many, the first."""
    parts: list[Part] = []
    for name, said in named[:MAX_GROUPS]:
        parts += [", " if parts else "", Named(short(name, _LONGEST_HERE)), f" ({said})"]
    return [*parts, f" and {len(named) - MAX_GROUPS:,} more"] if len(named) > MAX_GROUPS else parts
