"""Everything a run is given, as typed, frozen options: enough to repeat it."""

import datetime
import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from faircrowd._checks import check_choice, check_confidence, check_count, check_number
from faircrowd.errors import OptionError
from faircrowd.votes.group_policy import MIN_GROUP, ON_MISSING_GROUP, check_policy

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from faircrowd.aggregate.base import Aggregator
    from faircrowd.fair import FairCrowd
    from faircrowd.fair.constraints.constraint_kind import Constraint
    from faircrowd.votes.readers import Source

__all__ = [
    "DECISIONS",
    "ENGINES",
    "PROMISES",
    "AuditOptions",
    "EngineOptions",
    "FairOptions",
    "FrontierOptions",
    "ModelOptions",
    "PageOptions",
    "ReadOptions",
    "RunOptions",
]

ENGINES = ("auto", "memory", "stream", "spark")
DECISIONS = ("deterministic", "randomized")
PROMISES = ("required", "best-effort")
TABLES = ("ll144",)
_OF_TABLE = ("table", "selected", "leave_out_small")
NONE = "none"
"""How the command line says None."""
CALIBRATED = "calibrated"
"""The name of the aggregator ``CalibratedCrowd``."""
GROUPING = ("on_missing_group", "min_group", "small_groups")
"""The options that decide which groups are compared."""
JUDGING = ("probability", "run", "family", "abstained", "abstain_label")
"""The options that say what votes of judges hold beyond a label."""
READING = (
    *("task", "worker", "label", "delimiter", "format", "multi", "bins", "keep_golden", "on_duplicate", "on_missing"),
    *GROUPING,
    *JUDGING,
)
"""The options that are arguments of ``read_votes``."""


@dataclass(frozen=True)
class ReadOptions:
    """Where the votes and the facts about tasks are, and how they are read.

    Attributes
    ----------
    votes : Path or None
        The file of votes; None if they were given in memory.
    tasks : Path or None
        The file with one row per task.
    group : tuple of str
        Columns with the sensitive group, of the tasks or the votes; several are intersected.
    truth, gold : str or None
        Columns of the tasks with true labels to score by, and with known labels to learn from.
    task, worker, label, delimiter, on_duplicate, on_missing, format
        As in :func:`faircrowd.read_votes`.
    calibrate : str or None
        Column of the tasks with known labels to calibrate by.
    on_missing_group, min_group, small_groups, multi, bins, keep_golden
        As in :func:`faircrowd.read_votes`.
    probability, run, family, abstained, abstain_label
        As in :func:`faircrowd.read_votes`; "none" stands for no column.
    """

    votes: Path | None
    tasks: Path | None = None
    group: tuple[str, ...] = ()
    truth: str | None = None
    gold: str | None = None
    task: str | None = None
    worker: str | None = None
    label: str | None = None
    delimiter: str | None = None
    on_duplicate: str = "last"
    on_missing: str = "drop"
    format: str | None = None
    calibrate: str | None = None
    on_missing_group: str = "error"
    min_group: int = MIN_GROUP
    small_groups: str = "leave-out"
    multi: str | None = None
    bins: str | None = None
    keep_golden: bool | None = None
    probability: str | Sequence[str] | None = None
    run: str | None = None
    family: str | Mapping[str, str] | None = None
    abstained: str | None = None
    abstain_label: Sequence[str] | None = None

    @property
    def columns(self) -> dict[str, Any]:
        """The options that are arguments of ``read_votes``, those that are given."""
        found = {name: getattr(self, name) for name in READING}
        return {name: value for name, value in found.items() if value is not None}

    @property
    def arguments(self) -> dict[str, Any]:
        """All arguments of ``read_votes``: golden tasks of an export are kept if their known labels are asked for."""
        from faircrowd.votes.exports.answers import GOLDEN

        keep = GOLDEN in (self.truth, self.gold, self.calibrate)
        return ({"keep_golden": True} if keep else {}) | self.columns

    @property
    def votes_table(self) -> "Path | Source | None":
        """The votes, opened if they are an export."""
        from faircrowd.votes.read import opened_export

        return None if self.votes is None else opened_export(self.votes, **self.arguments) or self.votes

    @property
    def tasks_table(self) -> "Path | Source | None":
        """Where facts about tasks are: the table of tasks, or the export itself if there is none."""
        found = self.votes_table if self.tasks is None else self.tasks
        return None if self.tasks is None and found is self.votes else found

    @property
    def facts(self) -> dict[str, str | None]:
        """The arguments of ``read_facts``."""
        return {"task": self.task, "delimiter": self.delimiter}


@dataclass(frozen=True)
class ModelOptions:
    """Which aggregator, by its name on the command line, and its parameters that are not left at their defaults.

    Attributes
    ----------
    method : str
    parameters : mapping
    calibrated : bool
        Whether the aggregator is calibrated on known labels: wrapped in a :class:`faircrowd.CalibratedCrowd`.
    """

    method: str
    parameters: Mapping[str, object] = field(default_factory=dict)
    calibrated: bool = False

    @classmethod
    def given(
        cls, method: str | None, *, usual: str = "dawid-skene", calibrated: bool = False, **parameters: object
    ) -> "ModelOptions":
        """Build from arguments: None stands for what the registry chooses or else for the default, "none" for None.

        Parameters
        ----------
        method : str or None
            None stands for ``usual``, or if labels are calibrated, for the default of ``CalibratedCrowd``.
        """
        from faircrowd.aggregate.registry import AGGREGATORS

        name = method or (CALIBRATED if calibrated else usual)
        chosen = AGGREGATORS[name].chosen if name in AGGREGATORS else {}
        found = {name: None if value == NONE else value for name, value in parameters.items() if value is not None}
        return cls(name, {**chosen, **found}, calibrated and name != CALIBRATED)

    @property
    def by_group(self) -> bool:
        """Whether each worker is learned in each group."""
        return bool(self.parameters.get("by_group"))

    @property
    def name(self) -> str:
        """What a summary calls the method."""
        name = f"pooled {self.method}" if self.parameters.get("pooling") else self.method
        name = f"{name} by group" if self.by_group else name
        return f"{name}, calibrated" if self.calibrated else name

    def make(self) -> "Aggregator":
        """Build the aggregator; parameters that it does not have are refused."""
        from faircrowd.aggregate.registry import make_aggregator

        model = make_aggregator(self.method)
        for name in self.parameters:
            if name not in model.get_params():
                raise OptionError(f"method={self.method} has no option {name}.", parameter=name)
        model.set_params(**self.parameters)
        return make_aggregator(CALIBRATED, estimator=model, ties=model.ties) if self.calibrated else model

    def in_full(self) -> dict[str, object]:
        """Return all parameters of the aggregator, also those left at their defaults, as JSON can hold them."""
        model = replace(self, calibrated=False).make()
        return {name: _as_plain(value) for name, value in model.get_params(deep=False).items()}


@dataclass(frozen=True)
class FairOptions:
    """How labels are made fair, as in :func:`faircrowd.make_fair`.

    Attributes
    ----------
    epsilon : float or None
        None if ``require`` says all there is to keep.
    require : tuple of str
        Constraints in text, as :func:`faircrowd.fair.constraints.grammar.parse_constraint` reads them.
    believed : bool
        Whether constraints that speak of the truth may be kept as an aggregator believes.
    """

    epsilon: float | None
    objective: "str | ArrayLike" = "accuracy"
    decision: str = "deterministic"
    strict: bool = False
    random_state: int = 0
    confidence: float | None = None
    positive: str | None = None
    promise: str = "required"
    require: tuple[str, ...] = ()
    believed: bool = False

    @property
    def constraints(self) -> "tuple[Constraint, ...]":
        """What the labels must keep, if it is more than a gap of at most epsilon; else nothing."""
        if not self.require:
            return ()
        from faircrowd.fair.constraints.grammar import parse_constraint
        from faircrowd.fair.constraints.listed import listed_constraints

        return listed_constraints(self.epsilon, [parse_constraint(text) for text in self.require])

    def check(self) -> None:
        """Raise if an option is outside its range."""
        if self.epsilon is not None or not self.constraints:
            check_number("epsilon", self.epsilon, low=0, high=1)
        if isinstance(self.objective, str):
            check_choice("objective", self.objective, ("accuracy", "f1"))
        check_choice("decision", self.decision, DECISIONS)
        check_choice("promise", self.promise, PROMISES)
        if self.confidence is not None:
            check_confidence("confidence", self.confidence)
        elif self.promise != "required":
            raise OptionError(
                "promise goes with confidence; give it, or leave promise out.", parameter=("promise", "confidence")
            )

    def to_dict(self) -> dict[str, Any]:
        """Return the options as plain values, ready for JSON."""
        found = {name: getattr(self, name) for name in self.__dataclass_fields__}
        found |= {"objective": _matrix(self.objective), "require": list(self.require)}
        more = () if self.require else ("require", "believed")
        return {name: value for name, value in found.items() if name not in more}

    def estimator(self, model: "Aggregator", read: ReadOptions) -> "FairCrowd":
        """Return the estimator that makes the labels of an aggregator fair, between the groups as they are read."""
        from faircrowd.fair import FairCrowd
        from faircrowd.fair.constraints.listed import about_columns

        asked: dict[str, Any] = {
            name: getattr(self, name) for name in self.__dataclass_fields__ if name not in ("epsilon", "require")
        }
        if self.require:
            asked["constraints"] = list(about_columns(self.constraints, read.group))
        elif self.epsilon is not None:
            asked["epsilon"] = self.epsilon
        return FairCrowd(model, **asked, min_group=read.min_group, small_groups=read.small_groups)


@dataclass(frozen=True)
class AuditOptions:
    """How a crowd is audited, as in :func:`faircrowd.audit.audit_crowd`.

    Attributes
    ----------
    control : str or None
        A column of the tasks that may explain a gap.
    table : {"ll144"} or None
        A further table, of impact ratios.
    selected : str or None
        The label that counts as selected in it.
    leave_out_small : bool
        Whether categories with less than 2% of the data are left out of its ratios.
    """

    confidence: float = 0.95
    replicates: int = 2000
    random_state: int = 0
    control: str | None = None
    table: str | None = None
    selected: str | None = None
    leave_out_small: bool = False

    def check(self) -> None:
        """Raise if an option is outside its range."""
        check_confidence("confidence", self.confidence)
        check_count("replicates", self.replicates)
        if self.table is not None:
            check_choice("table", self.table, TABLES)
            if self.selected is None:
                raise OptionError("table='ll144' needs selected=..., the label that counts as selected.")
        elif self.selected is not None or self.leave_out_small:
            raise OptionError(
                "selected and leave_out_small go with table='ll144'.",
                parameter=("selected", "leave_out_small", "table"),
            )

    def of_crowd(self) -> dict[str, Any]:
        """Return what :func:`faircrowd.audit.audit_crowd` is asked for."""
        return {name: value for name, value in asdict(self).items() if name not in _OF_TABLE}

    def to_dict(self) -> dict[str, Any]:
        """Return the options as plain values, without those of a table if there is none."""
        return self.of_crowd() if self.table is None else asdict(self)


@dataclass(frozen=True)
class FrontierOptions:
    """What is traded for a smaller gap, as in :func:`faircrowd.make_fair`, or for another limit of a constraint.

    Attributes
    ----------
    objective, random_state, positive
        As in :func:`faircrowd.make_fair`.
    require : tuple of str
        Constraints in text; without any, the frontier is that of epsilon.
    vary : str or None
        The constraint whose limit is varied: its number, from 1, its text, or its word; by default the first.
    believed : bool
        Whether constraints that speak of the truth may be kept as an aggregator believes.
    """

    objective: str = "accuracy"
    random_state: int = 0
    positive: str | None = None
    require: tuple[str, ...] = ()
    vary: str | None = None
    believed: bool = False

    @property
    def constraints(self) -> "tuple[Constraint, ...]":
        """What the labels must keep, as it is given; nothing for the frontier of epsilon."""
        return FairOptions(None, require=self.require).constraints

    def varied(self) -> int:
        """Return the number, from 0, of the constraint whose limit is varied."""
        from faircrowd.fair.general.limit_frontier import varied

        if self.vary is None or not self.vary.strip().isdecimal():
            which = self.vary if self.vary is None else _normal_text(self.vary)
            return varied(self.constraints, which)
        number = int(self.vary)
        if not 1 <= number <= len(self.require):
            raise OptionError(
                f"vary={number} is not the number of a constraint; there are {len(self.require):,}, from 1.",
                parameter="vary",
            )
        return varied(self.constraints, number - 1)

    def check(self) -> None:
        """Raise if an option is outside its range."""
        check_choice("objective", self.objective, ("accuracy", "f1"))
        check_count("random_state", self.random_state)
        if not self.require:
            if self.vary is not None or self.believed:
                name = "vary" if self.vary is not None else "believed"
                raise OptionError(f"{name} goes with require; leave it out.", parameter=(name, "require"))
            return
        if self.objective != "accuracy" or self.positive is not None:
            name = "objective" if self.objective != "accuracy" else "positive"
            raise OptionError(
                f"{name} goes with the frontier of epsilon, not with require; leave it out.",
                parameter=(name, "require"),
            )
        self.varied()

    def to_dict(self) -> dict[str, Any]:
        """Return the options as plain values, ready for JSON."""
        found = asdict(self) | {"require": list(self.require)}
        more = () if self.require else ("require", "vary", "believed")
        return {name: value for name, value in found.items() if name not in more}


def _normal_text(text: str) -> str:
    """Return the text of a constraint as it is written by default; other text as it is."""
    from faircrowd.fair.constraints.grammar import parse_constraint

    try:
        return str(parse_constraint(text))
    except OptionError:  # no limit, or a word alone
        return text.strip()


@dataclass(frozen=True)
class EngineOptions:
    """Where the votes are kept while a run works on them; results do not depend on it.

    Attributes
    ----------
    name : {"auto", "memory", "stream", "spark"}
    memory_limit : int or None
        Bytes that the run may take.
    checkpoint : Path or None
        Where rounds are kept: those of a stream, and those of a run with ``resume``.
    resume : bool
        Whether to continue from the checkpoint.
    master : str or None
        The Spark cluster.
    """

    name: str = "memory"
    memory_limit: int | None = None
    checkpoint: Path | None = None
    resume: bool = False
    master: str | None = None

    @classmethod
    def given(cls, name: str, memory_limit: str | None, **more: Any) -> "EngineOptions":
        """Build from the text of a size, such as 3GB."""
        from faircrowd.engines.engine_choice import parse_size

        check_choice("engine", name, ENGINES)
        if memory_limit is not None and name == "memory":
            raise OptionError("memory_limit is for engine='stream' and engine='auto'; leave one of the two out.")
        if more.get("master") is not None and name != "spark":
            raise OptionError("master is for engine='spark'.", parameter="master")
        return cls(name, None if memory_limit is None else parse_size(memory_limit), **more)


@dataclass(frozen=True)
class PageOptions:
    """What the page says about a run beyond what was computed; no label depends on it.

    Attributes
    ----------
    title : str or None
        What was labelled, in a line.
    note : str or None
        What the labels are for, or what else a reader should know.
    date : str or None
        The day that the page states, as 2026-11-18. No clock is read by itself: the same votes and options give the
        same page.
    """

    title: str | None = None
    note: str | None = None
    date: str | None = None

    @classmethod
    def given(cls, title: str | None = None, note: str | None = None, date: str | None = None) -> "PageOptions":
        """Build from arguments: "today" stands for today's date, and None for that of ``SOURCE_DATE_EPOCH``, if set.

        Examples
        --------
        >>> PageOptions.given("Comments of May", date="2026-05-31")
        PageOptions(title='Comments of May', note=None, date='2026-05-31')
        """
        found = cls(title, note, _day(date))
        found.check()
        return found

    def check(self) -> None:
        """Raise if a text is not one, or too long."""
        for name, most in _LONGEST_TEXTS.items():
            value: object = getattr(self, name)
            if value is None:
                continue
            if not isinstance(value, str):
                raise OptionError(f"{name} must be text; got {type(value).__name__}.", parameter=name)
            if not value.strip():
                raise OptionError(f"{name} is empty; give it some text, or leave it out.", parameter=name)
            if len(value) > most:
                raise OptionError(f"{name} has {len(value):,} characters; at most {most:,} fit.", parameter=name)
        if self.title is not None and len(self.title.splitlines()) > 1:
            raise OptionError("title has several lines; give it one, and the rest as note=...", parameter="title")
        if self.date is not None:
            try:
                datetime.date.fromisoformat(self.date)
            except (TypeError, ValueError):
                raise OptionError(
                    f"date must be a day such as 2026-11-18, or today; got {self.date!r}.", parameter="date"
                ) from None

    def to_dict(self) -> dict[str, str]:
        """Return what was given."""
        return {name: value for name, value in asdict(self).items() if value is not None}


_LONGEST_TEXTS = {"title": 150, "note": 2000}


def _day(date: str | None) -> str | None:
    """Return the day that the page states."""
    if date == "today":
        return datetime.datetime.now().astimezone().date().isoformat()
    epoch = os.environ.get("SOURCE_DATE_EPOCH", "")
    if date is None and epoch.isdecimal():
        return datetime.datetime.fromtimestamp(int(epoch), datetime.UTC).date().isoformat()
    return date


@dataclass(frozen=True)
class RunOptions:
    """Everything a run is given.

    Attributes
    ----------
    read : ReadOptions
    model : ModelOptions
    fair : FairOptions or None
        None if the labels are not made fair.
    audit : AuditOptions or None
        For the command ``audit``; None for ``aggregate``.
    engine : EngineOptions
    gold_in_memory : bool
        Whether the model learned from known labels that are no column of a file.
    frontier : FrontierOptions or None
        For the command ``frontier``.
    page : PageOptions
    """

    read: ReadOptions
    model: ModelOptions
    fair: FairOptions | None = None
    audit: AuditOptions | None = None
    engine: EngineOptions = EngineOptions()
    gold_in_memory: bool = False
    frontier: FrontierOptions | None = None
    page: PageOptions = PageOptions()

    @property
    def command(self) -> str:
        """The command that does such a run."""
        if self.frontier is not None:
            return "frontier"
        return "aggregate" if self.audit is None else "audit"

    @property
    def learned(self) -> str | None:
        """The column of known labels that the model learns from, if any."""
        from faircrowd.aggregate.registry import kind_named

        if self.gold_in_memory:
            return None
        if self.read.calibrate is not None:
            return self.read.calibrate
        # Truth is to score by; the older methods that need known labels may learn from it, too.
        needs = kind_named(self.model.method).gold == "required" and self.model.method != CALIBRATED
        return self.read.gold or (self.read.truth if needs else None)

    @property
    def files(self) -> dict[str, Path]:
        """The files that the run reads, by role."""
        found = {"votes": self.read.votes, "tasks": self.read.tasks}
        return {role: path for role, path in found.items() if path is not None}

    def at(self, places: Mapping[str, Path]) -> "RunOptions":
        """Return the options with other places of the files, by role."""
        here = {**self.files, **places}
        return replace(self, read=replace(self.read, votes=here.get("votes"), tasks=here.get("tasks")))

    def check(self) -> None:
        """Raise if options are outside their range, or do not fit each other or the method."""
        from faircrowd.aggregate.registry import AGGREGATORS

        check_choice("method", self.model.method, tuple(AGGREGATORS))
        check_choice("on_missing_group", self.read.on_missing_group, ON_MISSING_GROUP)
        check_policy(self.read.min_group, self.read.small_groups)
        self.page.check()
        if self.fair is not None:
            self.fair.check()
            if self.fair.epsilon is not None and not self.read.group:
                raise OptionError("epsilon bounds the gap between groups; give group=...", parameter="epsilon")
            self._check_groups(self.fair.constraints)
        if self.audit is not None:
            self.audit.check()
            if not self.read.group and (self.audit.control is not None or self.audit.table is not None):
                raise OptionError("control=... and table=... compare groups; give group=...", parameter="control")
            if self.audit.control is not None and self.read.tasks_table is None:
                raise OptionError("control names a column of the tasks table; give tasks=...", parameter="control")
        if self.frontier is not None:
            self.frontier.check()
            self._check_groups(self.frontier.constraints)
            if self.frontier.require and self.read.small_groups != "leave-out":
                raise OptionError(
                    "small_groups goes with the frontier of epsilon; with require, small groups are left out.",
                    parameter=("small_groups", "require"),
                )
            if not self.read.group and not self.frontier.require:
                raise OptionError("The frontier trades accuracy for parity between groups; give group=...")
        self._check_columns()

    def _check_groups(self, constraints: "tuple[Constraint, ...]") -> None:
        """Raise if a constraint is about the groups of all columns, and none is given."""
        from faircrowd.fair.constraints.listed import is_about_all

        about_all = [one for one in constraints if is_about_all(one)]
        if about_all and not self.read.group:
            raise OptionError(f"{about_all[0]} is about the gap between groups; give group=...", parameter="epsilon")

    def _check_columns(self) -> None:
        from faircrowd.aggregate.registry import AGGREGATORS, kind_named

        read, method = self.read, self.model.method
        kind = kind_named(method)
        if read.calibrate is not None:
            if read.gold is not None:
                raise OptionError(
                    "gold and calibrate are both known labels; give calibrate alone.", parameter=("gold", "calibrate")
                )
            if self.engine.name != "spark" and read.tasks_table is None:
                raise OptionError("calibrate names a column of the tasks table; give tasks=...", parameter="calibrate")
        elif method == CALIBRATED and read.gold is None and not self.gold_in_memory:
            raise OptionError("method=calibrated learns from known labels; give tasks=... calibrate=...")
        elif kind.gold == "required" and read.gold is None and read.truth is None:
            raise OptionError(f"method={method} learns from known labels; give tasks=... gold=...")
        if kind.gold == "unused" and read.gold is not None:
            raise OptionError(f"method={method} does not learn from known labels; leave gold out.", parameter="gold")
        if self.model.by_group and not kind.by_group:
            names = " and ".join(kind.name for kind in AGGREGATORS.values() if kind.by_group)
            raise OptionError(f"by_group is for method={names}.", parameter="by_group")
        if self.model.by_group and not read.group:
            raise OptionError("by_group needs group=...", parameter="by_group")
        if repeated := [column for column in read.group if read.group.count(column) > 1]:
            times = read.group.count(repeated[0])
            raise OptionError(f"group={repeated[0]} is given {times} times; once is enough.")
        judged = [name for name in JUDGING if getattr(read, name) not in (None, NONE)]
        if self.engine.name == "spark" and judged:
            raise OptionError(f"{judged[0]} is not for engine='spark'; leave it out.", parameter=judged[0])
        in_votes = self.engine.name == "spark"  # there known labels may be a column of the votes
        if (read.truth or read.gold) and not in_votes and read.tasks_table is None:
            raise OptionError(
                "truth and gold name columns of the tasks table; give tasks=...", parameter=("truth", "gold")
            )

    def to_dict(self) -> dict[str, Any]:
        """Return the options as plain values, ready for JSON: what summary.json and evidence.json hold."""
        read = self.read
        found: dict[str, Any] = {
            "votes": None if read.votes is None else str(read.votes),
            "tasks": None if read.tasks is None else str(read.tasks),
            "group": list(read.group) or None,
            "truth": read.truth,
            "gold": None if read.calibrate is not None else self.learned,
            "calibrate": read.calibrate,
            "calibrated": self.model.calibrated,
            "method": self.model.method,
            "reading": read.columns,
            "parameters": self.model.in_full(),
        }
        if self.engine.name == "spark":
            found |= {"engine": "spark", "master": self.engine.master}
        if self.fair is not None:
            found |= self.fair.to_dict()
        found |= {} if self.audit is None else self.audit.to_dict()
        found |= {} if self.frontier is None else self.frontier.to_dict()
        return found | self.page.to_dict()

    @classmethod
    def from_dict(cls, command: str, found: Mapping[str, Any], files: Mapping[str, Path]) -> "RunOptions":
        """Return the options that ``to_dict`` wrote, for files that may have moved.

        Raises
        ------
        KeyError, TypeError, ValueError
            If the values are not those of a run.
        """
        reading: dict[str, Any] = {"min_group": 1}  # earlier versions compared every group
        reading |= {
            name: tuple(value) if isinstance(value, list) else value for name, value in found["reading"].items()
        }
        read = ReadOptions(
            files["votes"],
            files.get("tasks"),
            tuple(found["group"] or ()),
            found["truth"],
            found["gold"],
            **reading,
            calibrate=found.get("calibrate"),
        )
        method = found["method"]
        parameters = {name: _from_plain(value) for name, value in found["parameters"].items()}
        model = ModelOptions(method, parameters, bool(found.get("calibrated")))
        page = PageOptions(**{name: found.get(name) for name in PageOptions.__dataclass_fields__})
        asked: dict[str, Any]
        if command == "audit":
            asked = {name: found[name] for name in AuditOptions.__dataclass_fields__ if name not in _OF_TABLE}
            asked |= {name: found[name] for name in _OF_TABLE if name in found}
            return cls(read, model, audit=AuditOptions(**asked), page=page)
        if command == "frontier":
            asked = {name: found[name] for name in FrontierOptions.__dataclass_fields__ if name in found}
            asked["require"] = tuple(found.get("require", ()))
            return cls(read, model, frontier=FrontierOptions(**asked))
        engine = EngineOptions("spark", master=found["master"]) if found.get("engine") == "spark" else EngineOptions()
        if "epsilon" not in found:
            return cls(read, model, engine=engine, page=page)
        asked = {name: found[name] for name in FairOptions.__dataclass_fields__ if name in found}
        asked["require"] = tuple(found.get("require", ()))
        return cls(read, model, FairOptions(**asked), engine=engine, page=page)


def _as_plain(value: object) -> object:
    """Return a parameter as JSON can hold it: infinity, and what is not a plain value, as text."""
    if hasattr(value, "item") and getattr(value, "ndim", None) == 0:  # a number of NumPy
        value = value.item()
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    return value if isinstance(value, bool | int | float | str | None) else f"a {type(value).__name__}"


def _from_plain(value: object) -> object:
    return float(str(value)) if value in ("inf", "-inf") else value


def _matrix(objective: "str | ArrayLike") -> object:
    if isinstance(objective, str):
        return objective
    import numpy as np

    return np.asarray(objective).tolist()
