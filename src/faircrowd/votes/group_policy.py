"""What happens to groups that are too small to be compared, and to tasks without a group.

A group of one task has a rate of 0% or 100% whatever its label, so that alone it makes a gap near .5, and a constraint
on the gap would move hundreds of other labels to close it. Groups with fewer than ``min_group`` tasks are therefore
left out of the constraint, merged into one, or refused. Nothing is hidden: their rates are reported like those of all
other groups, with the reason for which they were left out.
"""

from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from faircrowd._checks import check_choice, check_count, few
from faircrowd.errors import InputError

if TYPE_CHECKING:  # the command line's help needs the policy alone, and starts quickly without these
    import numpy as np
    from numpy.typing import NDArray

    from faircrowd.votes.vocabulary import Codes, Vocabulary

__all__ = [
    "MIN_GROUP",
    "ON_MISSING_GROUP",
    "SMALL_GROUPS",
    "GroupPlan",
    "check_comparable",
    "check_policy",
    "free_name",
    "left_out_lines",
    "plan_groups",
]

MIN_GROUP = 10
"""The smallest group that ``FairCrowd`` and the command line compare with others by default."""
SMALL_GROUPS = ("leave-out", "merge", "error")
ON_MISSING_GROUP = ("error", "drop", "own")
_OTHER = "other"


class GroupPlan(NamedTuple):
    """How the groups of tasks become those that are compared.

    Attributes
    ----------
    groups : Vocabulary
    place : ndarray of int32
        The new code of each group.
    left_out : dict
        From the new codes of the groups that no constraint speaks of to the reason.
    merged : tuple
        The groups that became one.
    """

    groups: "Vocabulary"
    place: "Codes"
    left_out: dict[int, str]
    merged: tuple[Any, ...] = ()


def check_policy(min_group: object, small_groups: object) -> int:
    """Return the size of the smallest group that is compared; raise if it or the policy is not one."""
    check_choice("small_groups", small_groups, SMALL_GROUPS)
    return check_count("min_group", min_group, least=1)


def plan_groups(
    groups: "Vocabulary",
    sizes: "NDArray[np.int64]",
    left_out: Mapping[int, str],
    *,
    min_group: int = 1,
    small_groups: str = "leave-out",
) -> GroupPlan:
    """Return what becomes of groups of these sizes.

    Parameters
    ----------
    groups : Vocabulary
    sizes : ndarray
        Number of tasks of each group.
    left_out : mapping
        Groups that are left out already.
    min_group : int
        Groups with fewer tasks are small.
    small_groups : {"leave-out", "merge", "error"}
        What to do with them. Merged groups are left out if they are small even together.

    Examples
    --------
    >>> import numpy as np
    >>> from faircrowd.votes import Vocabulary
    >>> groups = Vocabulary.of(["a", "b", "c", "d"])
    >>> plan_groups(groups, np.array([50, 40, 3, 2]), {}, min_group=5).left_out
    {2: 'fewer than 5 tasks', 3: 'fewer than 5 tasks'}
    >>> plan = plan_groups(groups, np.array([50, 40, 3, 2]), {}, min_group=5, small_groups="merge")
    >>> plan.groups.to_list(), plan.place.tolist(), plan.merged
    (['a', 'b', 'other'], [0, 1, 2, 2], ('c', 'd'))
    """
    import numpy as np

    from faircrowd.votes.vocabulary import Vocabulary

    min_group = check_policy(min_group, small_groups)
    small = [a for a in np.flatnonzero((sizes > 0) & (sizes < min_group)).tolist() if a not in left_out]
    same = np.arange(len(groups), dtype=np.int32)
    why = f"fewer than {min_group:,} tasks"
    if not small:
        return GroupPlan(groups, same, dict(left_out))
    if small_groups == "error":
        counted = ", ".join(f"{few(groups.some([a]))} ({sizes[a]:,})" for a in small[:5])
        more = f" and {len(small) - 5:,} more" if len(small) > 5 else ""
        raise InputError(
            f"{len(small):,} of {len(groups):,} groups have {why}: {counted}{more}; lower min_group, or use "
            "small_groups='leave-out' or small_groups='merge'."
        )
    if small_groups == "leave-out":
        return GroupPlan(groups, same, {**left_out, **dict.fromkeys(small, why)})
    kept = np.setdiff1d(same, small)
    names = groups.some(kept)
    place = np.full(len(groups), kept.size, dtype=np.int32)
    place[kept] = np.arange(kept.size)
    moved = {int(place[a]): reason for a, reason in left_out.items()}
    if sizes[small].sum() < min_group:
        moved[kept.size] = why
    vocabulary = Vocabulary.of([*names, free_name(_OTHER, names)])
    return GroupPlan(vocabulary, place, moved, tuple(groups.some(small)))


def free_name(name: str, taken: Collection[object]) -> str:
    """Return a name for a new group that no other group has.

    Examples
    --------
    >>> free_name("other", ["a", "other"])
    'other_'
    """
    from faircrowd.votes.vocabulary import value_name

    names = {value_name(value) for value in taken}
    while name in names:
        name += "_"
    return name


def check_comparable(groups: "Vocabulary", sizes: "NDArray[np.int64]", left_out: Mapping[int, str]) -> None:
    """Raise if so many groups are left out that fewer than two remain to be compared."""
    compared = [a for a in range(len(groups)) if a not in left_out]
    if len(groups) < 2 or len(compared) > 1:
        return
    shown = ", ".join(f"{few(groups.some([a]))} ({sizes[a]:,}: {left_out[a]})" for a in list(left_out)[:5])
    more = f" and {len(left_out) - 5:,} more" if len(left_out) > 5 else ""
    raise InputError(
        f"Parity compares groups, and {len(compared)} of {len(groups):,} are left to compare; left out are {shown}"
        f"{more}. Lower min_group (1 compares every group), merge groups with small_groups='merge', or give another "
        "column."
    )


def left_out_lines(left_out: Mapping[str, str], sizes: Mapping[str, int], merged: Collection[object] = ()) -> list[str]:
    """Return a line about the groups that are left out, for each reason, and one about those that were merged.

    Parameters
    ----------
    left_out : mapping
        From the names of groups to the reason.
    sizes : mapping
        Number of tasks of each group.
    merged : collection
        The groups that were merged into the last one.

    Examples
    --------
    >>> left_out_lines({"c": "fewer than 10 tasks"}, {"a": 50, "b": 40, "c": 1})
    ["1 task of group 'c' left out of the gap: fewer than 10 tasks"]
    """
    lines = []
    if merged:
        names = few(list(merged)[:5], len(merged))
        lines.append(f"{len(merged):,} small group{'s' * (len(merged) != 1)} merged into {list(sizes)[-1]!r}: {names}")
    for why in dict.fromkeys(left_out.values()):
        found = [name for name, reason in left_out.items() if reason == why]
        tasks = sum(sizes.get(name, 0) for name in found)
        which = "group" if len(found) == 1 else f"{len(found):,} groups"
        lines.append(f"{tasks:,} task{'s' * (tasks != 1)} of {which} {few(found)} left out of the gap: {why}")
    return lines
