"""How to do a run again: the command, or the line of Python, that the page shows."""

import shlex
from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace

from faircrowd.aggregate.registry import kind_named, kind_of
from faircrowd.runs.options import CALIBRATED, NONE, READING, FairOptions, ModelOptions, ReadOptions, RunOptions

__all__ = ["how_to_repeat"]

_ON_COMMAND_LINE = ("by_group", "pooling", "ties", "n_iter", "tol")
"""Parameters of aggregators that the command line can set."""


def how_to_repeat(options: RunOptions, out: str = "reproduced", in_memory: Collection[str] = ()) -> str:
    """Return how to do the run again: a command, or where there is none for it, a line of Python.

    Parameters
    ----------
    in_memory : collection of str
        The inputs that did not come from files, by role.

    Examples
    --------
    >>> from pathlib import Path
    >>> from faircrowd.runs.options import FairOptions
    >>> read = ReadOptions(Path("my votes.csv"), group=("gender",))
    >>> how_to_repeat(RunOptions(read, ModelOptions("majority"), FairOptions(0.05)), "again")
    "faircrowd aggregate 'my votes.csv' --group gender --method majority --epsilon 0.05 --out again"
    """
    # What the command line takes by default:
    usual = ModelOptions.given(options.model.method).make().get_params(deep=False)
    chosen = _different(options.model, usual)
    is_plain = options.read.format is None and (options.fair is None or isinstance(options.fair.objective, str))
    is_plain = is_plain and not set(in_memory) - {"truth"}
    if options.read.votes is None or not is_plain or not set(chosen) <= set(_ON_COMMAND_LINE):
        defaults = ModelOptions(options.model.method).make().get_params(deep=False)
        return _in_python(options, _different(options.model, defaults), out, in_memory)
    read = options.read
    given: list[tuple[str, object, object]] = [
        ("tasks", read.tasks, None),
        *(("group", name, None) for name in read.group),
        ("truth", read.truth, None),
        ("gold", None if read.calibrate is not None else options.learned, None),
        ("calibrate", read.calibrate, None),
        ("method", options.model.method, None),
        *(
            (name, "none" if chosen[name] is None else chosen[name], None)
            for name in _ON_COMMAND_LINE
            if name in chosen
        ),
        *((name, getattr(read, name), _default(name)) for name in READING),
    ]
    for part in (options.fair, options.audit):
        for name, item in {} if part is None else part.__dataclass_fields__.items():
            values = getattr(part, name) if name == "require" else (getattr(part, name),)
            given += [(name, value, item.default) for value in values]
    words = ["faircrowd", options.command, str(read.votes)]
    return shlex.join([*words, *_as_arguments(given), "--out", out])


def _in_python(options: RunOptions, chosen: Mapping[str, object], out: str, in_memory: Collection[str]) -> str:
    read = options.read
    groups = repr(list(read.group) if len(read.group) > 1 else read.group[0]) if read.group else "groups"
    votes = "votes" if read.votes is None else repr(str(read.votes))
    named = read.group and "sensitive_features" in in_memory  # columns of a frame
    more = ", tasks=tasks" if named else "" if read.tasks is None else f", tasks={str(read.tasks)!r}"
    if options.learned is not None or "true_labels" in in_memory:
        more += f", true_labels={'gold' if options.learned is None else repr(options.learned)}"
    settled = ("min_group", "small_groups")  # parameters of FairCrowd
    reading = {name: value for name, value in read.columns.items() if value != _default(name) and name not in settled}
    more += f", read_options={reading!r}" if reading else ""
    model = f"{kind_named(options.model.method).class_name}({_as_call(chosen)})"
    model = f"{kind_named(CALIBRATED).class_name}({model})" if options.model.calibrated else model
    fair = {} if options.fair is None else {n: v for n, v in options.fair.__dict__.items() if n != "require"}
    defaults = {name: item.default for name, item in FairOptions.__dataclass_fields__.items()}
    grouping = {name: getattr(read, name) for name in settled if getattr(read, name) != _default(name)}
    asked = _as_call({name: value for name, value in fair.items() if not _same(value, defaults[name])} | grouping)
    if options.fair is not None and options.fair.require:
        listed = ", ".join(f"parse_constraint({text!r})" for text in options.fair.require)
        asked = ", ".join(part for part in (f"constraints=[{listed}]", asked) if part)
    return f"FairCrowd({model}, {asked}).fit({votes}, sensitive_features={groups}{more}).write({out!r})"


def _default(name: str) -> object:
    """Return the default of an option of reading."""
    return ReadOptions.__dataclass_fields__[name].default


def _different(model: ModelOptions, usual: Mapping[str, object]) -> dict[str, object]:
    """Return the parameters of a model that differ from the usual ones."""
    found = replace(model, calibrated=False).make().get_params(deep=False)
    return {name: value for name, value in found.items() if not _same(value, usual.get(name))}


def _spelled(value: object) -> object:
    return NONE if value is None else value


def _as_arguments(given: Iterable[tuple[str, object, object]]) -> list[str]:
    """Return (name, value, default) as arguments of a command; defaults are left out."""
    words: list[str] = []
    for name, value, default in given:
        if value is None or value is False or _same(value, default):
            continue
        words.append(f"--{name.replace('_', '-')}")
        words += [] if value is True else [str(value)]
    return words


def _as_call(arguments: Mapping[str, object]) -> str:
    """Return arguments as they are written in a call; what has no short text is shown as ``...``."""
    return ", ".join(f"{name}={_as_text(value)}" for name, value in arguments.items())


def _as_text(value: object) -> str:
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(_as_text, value))}]" if all(kind_of(part) for part in value) else "..."
    if (kind := kind_of(value)) is not None and hasattr(value, "get_params"):
        usual = kind.load()().get_params(deep=False)
        given = {name: part for name, part in value.get_params(deep=False).items() if not _same(part, usual[name])}
        return f"{kind.class_name}({_as_call(given)})"
    return repr(value) if value is None or isinstance(value, bool | int | float | str) else "..."


def _same(value: object, default: object) -> bool:
    return type(value) in (bool, int, float, str, type(None)) and value == default
