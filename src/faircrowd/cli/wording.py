"""Messages of the library in the words of the command line: parameters become options."""

import re
import shlex
from collections.abc import Sequence

__all__ = ["OPTIONS", "spoken"]

OPTIONS = frozenset(
    {
        *(
            "votes",
            "tasks",
            "group",
            "truth",
            "gold",
            "calibrate",
            "pooling",
            "control",
            "task",
            "worker",
            "label",
            "delimiter",
            "labels",
            "rule",
            "table",
            "selected",
            "leave_out_small",
        ),
        *("on_missing_group", "min_group", "small_groups", "these_tasks", "partial"),
        *("on_duplicate", "on_missing", "method", "by_group", "ties", "n_iter", "tol", "epsilon", "objective"),
        *(
            "require",
            "believed",
            "positive",
            "decision",
            "strict",
            "confidence",
            "promise",
            "random_state",
            "report",
            "charts",
            "engine",
            "memory_limit",
            "master",
        ),
        *(
            "resume",
            "unknown",
            "replicates",
            "delta",
            "skill",
            "prior",
            "vote",
            "most",
            "accuracy",
            "share",
            "seeds",
            "jobs",
            "data",
            "top",
        ),
    }
)
"""The Python names of the options of all commands."""

_ALIASES = {"sensitive_features": "group", "true_labels": "gold"}
"""Parameters that have another name on the command line."""

_PLACEHOLDERS = {
    **dict.fromkeys(("group", "truth", "gold", "calibrate", "control"), "COLUMN"),
    **dict.fromkeys(("tasks", "votes", "labels", "rule"), "FILE"),
    **dict.fromkeys(("task", "worker", "label"), "NAME"),
    "require": "TEXT",
    "selected": "LABEL",
}


_CONSTRAINT = re.compile(r"""(^Constraint\s.*|\w+\((?:[^()'"]|'[^']*'|"[^"]*")*\)\s*[<>]=)""", re.DOTALL)
"""Constraints in text, such as ``rate(race, label=hire) >= 0.2``, and errors of reading one: arguments, no options."""

_NOT_WORDS = {*_ALIASES, "tol", *(name for name in OPTIONS if "_" in name)}


def spoken(text: str, parameters: Sequence[str] = ()) -> str:
    """Spell parameters as options of the command line.

    ``name=...`` and ``name='value'`` are always spelled so, and so are names that are not words. A name that is also an
    English word is spelled so only if it is among ``parameters``, those that an error carries, and not in quotes.

    Examples
    --------
    >>> spoken("no column 'x'. Name it with task=... (on_duplicate='last')")
    "no column 'x'. Name it with --task NAME (--on-duplicate last)"
    >>> spoken("epsilon must be a number from 0 to 1; got 2.", ["epsilon"])
    '--epsilon must be a number from 0 to 1; got 2.'
    >>> spoken("raise memory_limit, or use engine='spark'; leave resume=True out")
    'raise --memory-limit, or use --engine spark; leave --resume out'
    >>> spoken("Give several columns as a list: sensitive_features=['age', 'job title'].")
    "Give several columns one by one: --group age --group 'job title'."

    A constraint in text stays as it is:

    >>> spoken("rate(race, label=hire) >= 0.2 is not kept, with labels='a'")
    'rate(race, label=hire) >= 0.2 is not kept, with --labels a'
    """
    return "".join(
        piece if number % 2 else _spoken(piece, parameters) for number, piece in enumerate(_CONSTRAINT.split(text))
    )


def _spoken(text: str, parameters: Sequence[str]) -> str:
    text = re.sub(r"as a list: sensitive_features=\[([^]]*)\]", _repeated, text)
    text = re.sub(r"\bwith ([a-z_]+)=False\b", lambda found: f"without {found[1]}=True", text)
    text = re.sub(r"(?<![\w-])([a-z_]+)=('([\w.+-]+)'|\.\.\.|[\w+-]+(\.\w+)*)", _assigned, text)
    carried = {name for name in parameters if name in _ALIASES or name in OPTIONS}
    for name in sorted({*carried, *_NOT_WORDS}):
        text = re.sub(rf"(?<![\w/.'\"=-]){name}(?![\w/'\"=-]|\.\w)", _option(name), text)
    return text


def _repeated(found: re.Match[str]) -> str:
    """Spell a list of columns as an option that is given several times."""
    names = re.findall(r"'([^']*)'|\"([^\"]*)\"", found[1])
    return "one by one: " + " ".join(f"--group {shlex.quote(one or other)}" for one, other in names)


def _assigned(found: re.Match[str]) -> str:
    name, value = _ALIASES.get(found[1], found[1]), found[3] or found[2]
    if name not in OPTIONS:
        return found[0]
    if value == "...":
        return f"{_option(name)} {_PLACEHOLDERS.get(name, 'VALUE')}"
    return _option(name) if value == "True" else f"{_option(name)} {value}"


def _option(name: str) -> str:
    return f"--{_ALIASES.get(name, name).replace('_', '-')}"
