"""Messages of the library in the words of the command line: parameters and calls become options."""

import re
import shlex
from collections.abc import Sequence

__all__ = ["OPTIONS", "spoken"]

OPTIONS = frozenset(
    {
        *("votes", "tasks", "group", "truth", "gold", "calibrate", "control", "labels", "rule"),
        *("task", "worker", "label", "delimiter", "format", "multi", "bins", "keep_golden"),
        *("on_duplicate", "on_missing", "on_missing_group", "min_group", "small_groups", "these_tasks", "partial"),
        *("probability", "run", "family", "abstained", "abstain_label", "abstain"),
        *("method", "by_group", "pooling", "accelerate", "ties", "n_iter", "tol"),
        *("epsilon", "require", "vary", "believed", "objective", "positive", "decision", "strict", "confidence"),
        *("promise", "random_state", "unknown"),
        *("table", "selected", "leave_out_small", "replicates", "delta", "skill", "prior", "vote", "most"),
        *("accuracy", "share", "seeds", "jobs", "data", "top"),
        *("report", "charts", "title", "note", "date", "engine", "memory_limit", "master", "resume"),
        *("to", "out", "export", "changed_only", "question", "to_name", "control_type", "with_data"),
        *("attribute", "model_version"),
        *("push", "project", "token_file", "yes", "allow_http", "host", "port", "platform", "no_token", "max_body"),
        *("max_upload", "open_page"),
        *("license", "creator", "url", "published"),
    }
)
"""The Python names of the options of all commands."""

_ALIASES = {"sensitive_features": "group", "true_labels": "gold"}
"""Parameters that have another name on the command line."""

_SPELLED = {"format": "from", "open_page": "open"}
"""The same for parameters whose names the command line spells otherwise, or that are English words as well."""

_CALLS = {
    "CalibratedCrowd()": "calibrate=...",
    "MajorityVote()": "method='majority'",
    "score(truth)": "truth=...",
}
"""What messages advise to call, and the parameters of a run that do the same."""

_PLACEHOLDERS = {
    **dict.fromkeys(("group", "truth", "gold", "calibrate", "control"), "COLUMN"),
    **dict.fromkeys(("probability", "run", "family", "abstained"), "COLUMN"),
    **dict.fromkeys(("tasks", "votes", "labels", "rule", "export", "token_file", "out"), "FILE"),
    **dict.fromkeys(("task", "worker", "label", "question", "to_name", "attribute"), "NAME"),
    **dict.fromkeys(("selected", "abstain_label"), "LABEL"),
    **dict.fromkeys(("push", "url"), "URL"),
    **dict.fromkeys(("require", "title", "note", "license", "creator"), "TEXT"),
    "published": "DATE",
    "format": "FORMAT",
}

_ARGUMENTS = r"""\((?:[^()'"]|'[^']*'|"[^"]*")*\)"""
_CONSTRAINT = re.compile(rf"(^Constraint\s.*|\w+{_ARGUMENTS}\s*[<>]=|\b[A-Z]\w*{_ARGUMENTS})", re.DOTALL)
"""Constraints in text, such as ``rate(race, label=hire) >= 0.2`` or one of the user's own, ``Mine(race, label=hire)``,
and errors of reading one: arguments, no options."""

_NOT_WORDS = {*_ALIASES, "tol", *(name for name in OPTIONS if "_" in name)}


def spoken(text: str, parameters: Sequence[str] = ()) -> str:
    """Spell parameters as options of the command line.

    ``name=...`` and ``name='value'`` are always spelled so, and so are names that are not words. A name that is also an
    English word is spelled so only if it is among ``parameters``, those that an error carries, and not in quotes. Calls
    that a message advises, such as ``CalibratedCrowd()``, become the options that do the same.

    Examples
    --------
    >>> spoken("no column 'x'. Name it with task=... (on_duplicate='last')")
    "no column 'x'. Name it with --task NAME (--on-duplicate last)"
    >>> spoken("epsilon must be a number from 0 to 1; got 2.", ["epsilon"])
    '--epsilon must be a number from 0 to 1; got 2.'
    >>> spoken("raise memory_limit, or use engine='spark'; leave resume=True out")
    'raise --memory-limit, or use --engine spark; leave --resume out'
    >>> spoken("50 known labels would tell (CalibratedCrowd()); compare with MajorityVote()")
    '50 known labels would tell (--calibrate COLUMN); compare with --method majority'
    >>> spoken("Give several columns as a list: sensitive_features=['age', 'job title'].")
    "Give several columns one by one: --group age --group 'job title'."

    A constraint in text stays as it is:

    >>> spoken("rate(race, label=hire) >= 0.2 is not kept, with labels='a'")
    'rate(race, label=hire) >= 0.2 is not kept, with --labels a'
    """
    for call, same in _CALLS.items():
        text = text.replace(call, same)
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
    return "one by one: " + " ".join(f"{_option('group')} {shlex.quote(one or other)}" for one, other in names)


def _assigned(found: re.Match[str]) -> str:
    name, value = _ALIASES.get(found[1], found[1]), found[3] or found[2]
    if name not in OPTIONS:
        return found[0]
    if value == "...":
        return f"{_option(name)} {_PLACEHOLDERS.get(name, 'VALUE')}"
    return _option(name) if value == "True" else f"{_option(name)} {value}"


def _option(name: str) -> str:
    name = _SPELLED.get(name, name)
    return f"--{_ALIASES.get(name, name).replace('_', '-')}"
