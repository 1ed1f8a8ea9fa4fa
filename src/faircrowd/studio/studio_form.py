"""From the fields of a form to the options of a run, and what the fields may hold."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from faircrowd._checks import check_number
from faircrowd.aggregate.registry import AGGREGATORS
from faircrowd.errors import OptionError
from faircrowd.runs.options import (
    EngineOptions,
    FairOptions,
    FrontierOptions,
    ModelOptions,
    PageOptions,
    ReadOptions,
    RunOptions,
)

__all__ = ["READING", "asked_run", "chosen_limits", "limits_of", "price_options", "read_options", "run_options"]

ROLES = ("task", "worker", "label")
"""What a column of the votes may be, each a field of the form."""
READING = (*ROLES, "multi", "bins")
"""The fields that say how votes are read."""
_MOST_TEXT = 2000


def read_options(asked: Mapping[str, Any]) -> ReadOptions:
    """Return how files are read, from what a job holds."""
    given = {name: asked[name] for name in (*READING, "on_missing_group", "truth", "calibrate") if asked.get(name)}
    tasks = asked.get("tasks")
    return ReadOptions(
        Path(asked["votes"]), None if not tasks else Path(tasks), tuple(asked.get("group") or ()), **given
    )


def run_options(asked: Mapping[str, Any]) -> RunOptions:
    """Return the options of a run, from what a job holds.

    Examples
    --------
    >>> asked = {"read": {"votes": "v.csv", "group": ["sex"]}, "method": "majority", "epsilon": 0.05}
    >>> options = run_options(asked)
    >>> options.fair.epsilon, options.read.group, options.model.method
    (0.05, ('sex',), 'majority')
    """
    read = read_options(asked["read"])
    epsilon, require = limits_of(asked)
    fair = None
    if epsilon is not None or require:
        fair = FairOptions(epsilon, require=require, believed=bool(asked.get("believed")))
    page = PageOptions(title=asked.get("title") or None, note=asked.get("note") or None)
    return RunOptions(read, _model(asked, read), fair, engine=EngineOptions("auto"), page=page)


def price_options(asked: Mapping[str, Any]) -> RunOptions:
    """Return the options of the frontier over the limits of the constraints or, without any, over epsilon.

    Without groups and constraints there is no frontier.
    """
    read = read_options(asked["read"])
    epsilon, require = limits_of(asked)
    frontier = None
    if require or epsilon is not None:
        frontier = FrontierOptions(require=require, believed=bool(asked.get("believed")))
    return RunOptions(read, _model(asked, read), frontier=frontier, engine=EngineOptions("auto"))


def limits_of(asked: Mapping[str, Any]) -> tuple[float | None, tuple[str, ...]]:
    """Return what a job holds about limits: epsilon if a gap between the chosen groups is all, else constraints.

    Examples
    --------
    >>> limits_of({"read": {"group": ["sex"]}, "require": ["parity(sex) <= 0.1"]})
    (0.1, ())
    >>> limits_of({"read": {"group": ["sex"]}, "epsilon": 0.1, "require": ["changed <= 0.2"]})
    (None, ('parity(sex) <= 0.1', 'changed <= 0.2'))
    """
    from faircrowd.fair.constraints.demographic_parity import DemographicParity
    from faircrowd.fair.constraints.grammar import parse_constraint

    group = tuple(asked["read"].get("group") or ())
    epsilon, require = asked.get("epsilon"), tuple(asked.get("require") or ())
    if not require:
        return epsilon, ()
    if epsilon is not None:
        return None, (str(DemographicParity(epsilon, group=group[0] if len(group) == 1 else group)), *require)
    only = parse_constraint(require[0])
    if len(require) == 1 and isinstance(only, DemographicParity) and group:
        names = (None, group, group[0] if len(group) == 1 else group)
        if any(only == DemographicParity(only.epsilon, group=name) for name in names):
            return only.epsilon, ()
    return None, require


def _model(asked: Mapping[str, Any], read: ReadOptions) -> ModelOptions:
    return ModelOptions.given(asked.get("method") or None, calibrated=read.calibrate is not None)


def asked_run(read: Mapping[str, Any], fields: Mapping[str, Sequence[str]]) -> dict[str, Any]:
    """Return what a job holds about a run, from the fields of its form; raise if they cannot be a run.

    Parameters
    ----------
    read : mapping
        The files and their columns, as an earlier job read them.
    fields : mapping of str to list of str
        ``group`` (several), ``on_missing_group``, ``truth``, ``calibrate``, ``method``, ``epsilon``, ``require``
        (several), ``believed``, ``title``, ``note``.
    """

    def one(name: str) -> str:
        value = (fields.get(name) or [""])[-1].strip()
        if len(value) > _MOST_TEXT:
            raise OptionError(f"{name} is longer than {_MOST_TEXT:,} characters.", parameter=name)
        return value

    require = [text.strip() for text in fields.get("require", ()) if text.strip()]
    asked: dict[str, Any] = {
        "kind": "run",
        "title": one("title"),
        "note": one("note"),
        "read": {
            **read,
            "group": [name for name in fields.get("group", ()) if name],
            "truth": one("truth") or None,
            "calibrate": one("calibrate") or None,
            "on_missing_group": one("on_missing_group") or "error",
        },
        "method": one("method") or None,
        "require": require,
        "believed": bool(require and one("believed")),
        "epsilon": None,
    }
    if asked["method"] is not None and asked["method"] not in AGGREGATORS:
        raise OptionError(f"There is no method {asked['method']!r}.", parameter="method")
    if one("epsilon"):
        try:
            asked["epsilon"] = float(one("epsilon"))
        except ValueError:
            raise OptionError(f"The largest gap must be a number; got {one('epsilon')!r}.") from None
        check_number("epsilon", asked["epsilon"], low=0, high=1)
    run_options(asked).check()
    return asked


def chosen_limits(
    asked: Mapping[str, Any], prices: Mapping[str, Any], fields: Mapping[str, Sequence[str]]
) -> dict[str, Any]:
    """Return what a job holds after limits were moved, added or removed on the page of prices.

    Parameters
    ----------
    asked : mapping
        What the job of the prices holds.
    prices : mapping
        What it found: ``sliders`` and ``fixed``.
    fields : mapping of str to list of str
        ``stop-0``, ``stop-1``, ... (the place of each slider), ``do`` ("run", "again", "add" or "remove-0"), and
        of a constraint to add ``kind``, ``columns``, ``within``, ``label`` and ``limit``.
    """
    from faircrowd.studio.constraint_builder import constraint_text

    def one(name: str) -> str:
        return (fields.get(name) or [""])[-1].strip()

    do = one("do") or "run"
    require = []
    for number, slider in enumerate(prices["sliders"]):
        place = one(f"stop-{number}") or str(slider["start"])
        if not place.isdecimal() or int(place) >= len(slider["stops"]):
            raise OptionError(f"There is no stop {place!r} on slider {number + 1}.")
        if do != f"remove-{number}":
            require.append(slider["stops"][int(place)]["require"])
    require += [text for n, text in enumerate(prices["fixed"]) if do != f"remove-fixed-{n}"]
    if do == "add":
        columns, within = ([name for name in fields.get(part, ()) if name] for part in ("columns", "within"))
        require.append(constraint_text(one("kind"), columns, within, one("label"), one("limit")))
    kind = "run" if do == "run" else "prices"
    return {**asked, "kind": kind, "require": require, "epsilon": None, "believed": bool(require and one("believed"))}
