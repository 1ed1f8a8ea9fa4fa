"""How to do a run again: the command, or the line of Python, that the page shows."""

import shlex
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from faircrowd.aggregate.registry import kind_named, kind_of
from faircrowd.errors import OptionError
from faircrowd.runs.options import CALIBRATED, NONE, READING, FairOptions, ModelOptions, ReadOptions, RunOptions

__all__ = ["COMMAND", "how_to_calibrate", "how_to_convert", "how_to_repeat"]

COMMAND = "faircrowd "
"""How a command begins, and a line of Python does not."""

_ON_COMMAND_LINE = ("by_group", "pooling", "accelerate", "ties", "n_iter", "tol", "abstain")
"""Parameters of aggregators that the command line can set."""


def how_to_repeat(
    options: RunOptions, out: str = "reproduced", in_memory: Collection[str] = (), *, in_python: bool = False
) -> str:
    """Return how to do the run again: a command, or where there is none for it, a line of Python.

    Parameters
    ----------
    in_memory : collection of str
        The inputs that did not come from files, by role.
    in_python : bool
        Whether a line of Python is wanted though there is a command.

    Examples
    --------
    >>> from faircrowd.runs.options import FairOptions
    >>> read = ReadOptions(Path("my votes.csv"), group=("gender",))
    >>> how_to_repeat(RunOptions(read, ModelOptions("majority"), FairOptions(0.05)), "again")
    "faircrowd aggregate 'my votes.csv' --group gender --method majority --epsilon 0.05 --out again"
    """
    # What the command line takes by default:
    usual = ModelOptions.given(options.model.method).make().get_params(deep=False)
    chosen = _different(options.model, usual)
    is_plain = options.fair is None or isinstance(options.fair.objective, str)
    is_plain = is_plain and not isinstance(options.read.family, Mapping)  # a dict
    is_plain = is_plain and not set(in_memory) - {"truth"} and options.read.keep_golden is None
    if in_python or options.read.votes is None or not is_plain or not set(chosen) <= set(_ON_COMMAND_LINE):
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
        *((name, NONE if chosen[name] is None else chosen[name], None) for name in _ON_COMMAND_LINE if name in chosen),
    ]
    asked: list[tuple[str, object, object]] = []
    for part in (options.fair, options.audit, options.page):
        for name, item in {} if part is None else part.__dataclass_fields__.items():
            asked += [(name, value, item.default) for value in _each(getattr(part, name))]
    words = ["faircrowd", options.command, str(read.votes), *_as_arguments(given)]
    return shlex.join([*words, *_reading(read), *_as_arguments(asked), "--out", out])


def how_to_convert(read: ReadOptions, out: Path) -> str:
    """Return the command that writes an export as plain tables.

    Examples
    --------
    >>> how_to_convert(ReadOptions(Path("export.tsv"), label="tone", keep_golden=True), Path("tables"))
    'faircrowd convert export.tsv --label tone --keep-golden --out tables'
    """
    return shlex.join(["faircrowd", "convert", str(read.votes), *_reading(read), "--out", str(out)])


def how_to_calibrate(votes: Path, tasks: Path, column: str) -> str:
    """Return the command that learns from the known labels in a column of the tasks."""
    given = ["--tasks", str(tasks), "--calibrate", column, "--out", "results"]
    return shlex.join(["faircrowd", "aggregate", str(votes), *given])


def _reading(read: ReadOptions) -> list[str]:
    """Return how votes are read as arguments of a command; defaults are left out."""
    return _as_arguments(
        ("from" if name == "format" else name, value, _default(name))
        for name in READING
        for value in _each(getattr(read, name))
    )


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
    constraints = [] if options.fair is None else _constraints_in_python(options.fair)  # they hold epsilon, too
    apart = ("require", "epsilon") if constraints else ("require",)
    fair = {} if options.fair is None else {n: v for n, v in options.fair.__dict__.items() if n not in apart}
    defaults = {name: item.default for name, item in FairOptions.__dataclass_fields__.items()}
    grouping = {name: getattr(read, name) for name in settled if getattr(read, name) != _default(name)}
    asked = _as_call({name: value for name, value in fair.items() if not _same(value, defaults[name])} | grouping)
    if constraints:
        asked = ", ".join(part for part in (f"constraints=[{', '.join(constraints)}]", asked) if part)
    told = "".join(f", {name}={text!r}" for name, text in options.page.to_dict().items())
    return f"FairCrowd({model}, {asked}).fit({votes}, sensitive_features={groups}{more}).write({out!r}{told})"


def _constraints_in_python(fair: FairOptions) -> list[str]:
    """Return constraints as Python makes them; those of which one is of the user's own as they are written."""
    try:
        return [f"parse_constraint({str(one)!r})" for one in fair.constraints]
    except OptionError:
        return list(fair.require)


def _each(value: object) -> Sequence[object]:
    """Return the values of an option, which may be given several times."""
    return value if isinstance(value, list | tuple) else (value,)


def _default(name: str) -> object:
    """Return the default of an option of reading."""
    return ReadOptions.__dataclass_fields__[name].default


def _different(model: ModelOptions, usual: Mapping[str, object]) -> dict[str, object]:
    """Return the parameters of a model that differ from the usual ones."""
    found = replace(model, calibrated=False).make().get_params(deep=False)
    return {name: value for name, value in found.items() if not _same(value, usual.get(name))}


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
