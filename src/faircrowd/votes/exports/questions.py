"""From the answers to questions to one label per answer: which question, several options at once, scores in bins."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from faircrowd._checks import check_choice, few
from faircrowd.errors import InputError, MissingColumnError, OptionError
from faircrowd.votes.exports.answer_values import Scalar
from faircrowd.votes.exports.tidy_answers import Question

__all__ = [
    "JOIN",
    "NO",
    "AnswerOptions",
    "asked_question",
    "find_question",
    "label_notes",
    "labels_of",
    "question_columns",
    "read_bins",
    "refuse_personal",
]

_MULTI = ("error", "set", "each")
"""What to do where several options are chosen at once."""
YES, NO = "yes", "no"
JOIN = "|"
"""What joins the options of a set."""
_SHOWN = 6


@dataclass(frozen=True)
class AnswerOptions:
    """How the answers of an export become votes.

    Attributes
    ----------
    label : str, optional
        The question whose answers are the labels.
    multi : {"error", "set", "each"}
        Where several options may be chosen at once: raise; take each set of options for a class; or ask for each option
        whether it was chosen.
    bins : tuple of float
        Numbers at which scores are cut into classes.
    keep_golden : bool
        Whether answers to golden tasks are votes.
    """

    label: str | None = None
    multi: str = "error"
    bins: tuple[float, ...] = ()
    keep_golden: bool = False

    def __post_init__(self) -> None:
        check_choice("multi", self.multi, _MULTI)
        if list(self.bins) != sorted(set(self.bins)):
            raise OptionError(f"bins={self.bins!r} must rise from one number to the next.", parameter="bins")


def read_bins(text: str | Sequence[float] | None) -> tuple[float, ...]:
    """Return the numbers at which scores are cut.

    Examples
    --------
    >>> read_bins("2.5, 4")
    (2.5, 4.0)
    """
    if text is None:
        return ()
    try:
        parts = text.replace(",", " ").split() if isinstance(text, str) else text
        return tuple(float(part) for part in parts)
    except (TypeError, ValueError):
        raise OptionError(
            f"bins={text!r} must be numbers at which scores are cut, such as '2.5,4'.", parameter="bins"
        ) from None


def question_columns(questions: Mapping[str, Question], multi: str) -> list[str]:
    """Return the columns of labels that an export has: its questions, and with ``multi="each"`` their options.

    Examples
    --------
    >>> question_columns({"flags": Question(several=1, options={'"insult"', '"slur"'})}, "each")
    ['flags.insult', 'flags.slur']
    """
    found = []
    for name, question in questions.items():
        if multi == "each" and question.several:
            found += [f"{name}.{option}" for option in question.values]
        else:
            found.append(name)
    return found


def find_question(questions: Mapping[str, Question], options: AnswerOptions, where: str) -> str:
    """Return the column of labels: the one named, or the only one that is not answered in words.

    Raises
    ------
    OptionError
        If there are several to choose from.
    MissingColumnError
        If there is none.
    """
    known = question_columns(questions, options.multi)
    if options.label is not None:
        return options.label
    chosen = [name for name in known if name not in questions or not questions[name].is_text]
    if len(chosen) == 1:
        return chosen[0]
    if not known:
        raise MissingColumnError(f"{where} holds no answer to any question. Is it the right file?")
    listed = "; ".join(_described(name, questions) for name in known[:20])
    more = f"; and {len(known) - 20:,} more" if len(known) > 20 else ""
    what = f"{len(known)} questions" if len(known) > 1 else "one question, answered in words"
    raise OptionError(f"{where} has {what}; name one with label=...: {listed}{more}.")


def _described(name: str, questions: Mapping[str, Question]) -> str:
    if name not in questions:
        return f"{name} ({YES} or {NO})"
    question = questions[name]
    if question.is_text:
        return f"{name} (in words)"
    values = question.values
    shown = few(values[:_SHOWN], len(values)) if values else "no answer"
    kind = "several at once of " if question.several else "scores " if question.is_score else ""
    return f"{name} ({kind}{shown})"


def labels_of(
    name: str, texts: Sequence[str], questions: Mapping[str, Question], options: AnswerOptions, where: str
) -> list[Scalar | None]:
    """Return the label that each distinct answer to a question stands for.

    Parameters
    ----------
    name : str
        A column of :func:`question_columns`, or of facts.
    texts : sequence of str
        Distinct answers, as JSON.
    questions, options, where
        As in :func:`find_question`.

    Examples
    --------
    >>> asked = {"sev": Question(), "flags": Question(several=1, options={'"slur"', '"insult"'})}
    >>> labels_of("sev", ["1", "2", "5"], asked, AnswerOptions(bins=(2.0, 4.0)), "the export")
    ['below 2', '2 to below 4', '4 or more']
    >>> labels_of("flags", ['["insult","slur"]', '["slur"]'], asked, AnswerOptions(multi="set"), "the export")
    ['insult|slur', 'slur']
    >>> labels_of("flags.slur", ['["insult","slur"]', '["insult"]'], asked, AnswerOptions(multi="each"), "the export")
    ['yes', 'no']
    """
    values = [json.loads(text) for text in texts]
    asked = _option_asked(name, questions, options.multi)
    if asked is not None:
        return [YES if str(asked[1]) in _as_texts(value) else NO for value in values]
    found = [_one_label(name, value, options.multi, questions, where) for value in values]
    if not options.bins:
        return found
    return [None if value is None else _binned(value, options.bins, name, where) for value in found]


def _option_asked(name: str, questions: Mapping[str, Question], multi: str) -> tuple[str, Scalar] | None:
    """Return the question and the option of a column such as ``flags.slur``; None for any other column."""
    if multi != "each" or (name in questions and not questions[name].several):
        return None
    for question, known in questions.items():
        if known.several and name.startswith(f"{question}."):
            for option in known.values:
                if name == f"{question}.{option}":
                    return question, option
    return None


def asked_question(name: str, questions: Mapping[str, Question], multi: str) -> str:
    """Return the question that a column of labels is about."""
    asked = _option_asked(name, questions, multi)
    return name if asked is None else asked[0]


def _as_texts(value: object) -> list[str]:
    return [str(option) for option in value] if isinstance(value, list) else [str(value)]


def _one_label(name: str, value: object, multi: str, questions: Mapping[str, Question], where: str) -> Scalar | None:
    if not isinstance(value, list):
        return value if isinstance(value, str | int | float | bool) else None
    if len(value) == 1 and multi != "set":
        only = value[0]
        return only if isinstance(only, str | int | float | bool) else None
    if multi == "set":
        options = _as_texts(value)
        if any(JOIN in option for option in options):
            raise InputError(f"{where}: an option of {name!r} holds {JOIN!r}, which joins the options of a set.")
        return JOIN.join(options) or None
    question = questions.get(name)
    how_many = "" if question is None else f" in {question.several:,} of {question.rows:,} answers"
    each = f"{name}.{value[0]}"
    raise InputError(
        f"{where}: several options of {name!r} are chosen at once{how_many}, such as {few(_as_texts(value))}. Take "
        f"each set of options for a class with multi='set', or one option with multi='each' and label={each!r}.",
        parameter=("multi", "label"),
    )


def _binned(value: Scalar, bins: Sequence[float], name: str, where: str) -> str:
    try:
        score = float(value)
    except ValueError:
        raise InputError(
            f"{where}: bins cut scores, and {name!r} has the answer {value!r}.", parameter="bins"
        ) from None
    place = sum(score >= cut for cut in bins)
    if place == 0:
        return f"below {bins[0]:g}"
    return f"{bins[-1]:g} or more" if place == len(bins) else f"{bins[place - 1]:g} to below {bins[place]:g}"


def label_notes(name: str, questions: Mapping[str, Question], options: AnswerOptions, no_options: int = 0) -> list[str]:
    """Return what a reader should know about the labels of a column; ``no_options`` answers choose none of several."""
    asked, question = _option_asked(name, questions, options.multi), questions.get(name)
    if asked is not None:
        if not no_options:
            return []
        which = "1 answer chooses" if no_options == 1 else f"{no_options:,} answers choose"
        return [f"{which} no option of {asked[0]!r}, which counts as {NO!r} to {name!r}"]
    if question is not None and question.is_score and not options.bins and len(question.options) > 2:
        values = question.values
        return [
            f"the answers to {name!r} are scores ({few(values[:_SHOWN], len(values))}); each counts as a class of its "
            "own, without an order; bins=... merges them"
        ]
    return []


def refuse_personal(name: str, personal: Sequence[str], where: str) -> None:
    """Raise if a name is that of personal data, which was left out."""
    if name in personal or any(one.endswith((f".{name}", f":{name}")) for one in personal):
        raise MissingColumnError(
            f"{where}: {name!r} is taken for personal data, which is never read from an export. If it is a fact about "
            "the task, give it in a table of tasks (tasks=...), or rename it."
        )
