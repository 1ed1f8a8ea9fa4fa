"""The list of aggregators: their names, what they learn from, and where they run.

Everything that offers aggregators by name reads this list: the names of the package, the command line, saved models,
the checks for Spark. A new aggregator is a module with a class and one entry here (or one call of :func:`register`).
Importing this module imports no aggregator, and no numpy: :meth:`AggregatorKind.load` does.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib import import_module
from typing import TYPE_CHECKING, Any, Literal

from faircrowd._checks import suggestion
from faircrowd.errors import OptionError

if TYPE_CHECKING:
    from faircrowd.aggregate.base import Aggregator

__all__ = ["AGGREGATORS", "AggregatorKind", "kind_named", "kind_of", "make_aggregator", "register"]


@dataclass(frozen=True)
class AggregatorKind:
    """An aggregator as the registry knows it.

    Attributes
    ----------
    name : str
        Its name on the command line.
    class_name : str
        The name of its class.
    module : str
        The module that defines the class.
    gold : {"required", "optional", "unused"}
        What ``fit`` does with known labels: whether its second argument is ``true_labels``, and must be given.
    by_group : bool
        Whether it has a parameter ``by_group``.
    in_spark : bool
        Whether it takes votes in Spark.
    summary : str
        One line of help.
    weighs_by_gold : bool
        Whether known labels, where given, are what its weights are learned from. Calibrated, it is fitted to them, too.
    uses_probabilities : bool
        Whether it uses the probabilities of votes, not their labels alone.
    chosen : mapping of str to object
        Parameters that a run sets unless told otherwise, where measurements speak for other values than the defaults
        of the class, which are those that users of crowd-kit expect.
    """

    name: str
    class_name: str
    module: str
    gold: Literal["required", "optional", "unused"]
    by_group: bool
    in_spark: bool
    summary: str
    weighs_by_gold: bool = False
    uses_probabilities: bool = False
    chosen: Mapping[str, object] = field(default_factory=dict)

    def load(self) -> "type[Aggregator]":
        """Import and return the class."""
        found: type[Aggregator] = getattr(import_module(self.module), self.class_name)
        return found


AGGREGATORS: dict[str, AggregatorKind] = {}
"""The aggregators by name, in the order in which help shows them."""


def register(kind: AggregatorKind) -> None:
    """Add an aggregator.

    Raises
    ------
    OptionError
        If an aggregator of this name, or with this name of a class, is registered already.
    """
    for known in AGGREGATORS.values():
        if kind.name == known.name or kind.class_name == known.class_name:
            raise OptionError(f"The aggregator {known.name!r} ({known.class_name}) is registered already.")
    AGGREGATORS[kind.name] = kind


def kind_named(name: str) -> AggregatorKind:
    """Return the aggregator of a name.

    Examples
    --------
    >>> kind_named("dawid-skene").class_name
    'DawidSkene'
    """
    if name not in AGGREGATORS:
        listed = ", ".join(AGGREGATORS)
        raise OptionError(f"There is no aggregator {name!r}; use one of {listed}.{suggestion(name, AGGREGATORS)}")
    return AGGREGATORS[name]


def kind_of(model_or_class: object) -> AggregatorKind | None:
    """Return what is registered of an aggregator or its class; None if the class itself is not registered."""
    cls = model_or_class if isinstance(model_or_class, type) else type(model_or_class)
    for kind in AGGREGATORS.values():
        if (kind.module, kind.class_name) == (cls.__module__, cls.__name__):
            return kind
    return None


def make_aggregator(name: str, **settings: Any) -> "Aggregator":
    """Build an aggregator from its name and parameters.

    Raises
    ------
    OptionError
        If there is no such aggregator, or it has no such parameter.

    Examples
    --------
    >>> make_aggregator("one-coin", n_iter=20).n_iter
    20
    """
    return kind_named(name).load()().set_params(**settings)


for _kind in (
    AggregatorKind(
        name="majority",
        class_name="MajorityVote",
        module="faircrowd.aggregate.majority",
        gold="unused",
        by_group=False,
        in_spark=True,
        summary="The label with the most votes.",
    ),
    AggregatorKind(
        name="wawa",
        class_name="Wawa",
        module="faircrowd.aggregate.skill_vote",
        gold="unused",
        by_group=False,
        in_spark=True,
        summary="A majority vote weighted by each worker's agreement with the majority.",
    ),
    AggregatorKind(
        name="zero-based",
        class_name="ZeroBasedSkill",
        module="faircrowd.aggregate.skill_vote",
        gold="unused",
        by_group=False,
        in_spark=True,
        summary="A weighted majority vote whose weights follow each worker's agreement with it, round by round.",
    ),
    AggregatorKind(
        name="gold-majority",
        class_name="GoldMajorityVote",
        module="faircrowd.aggregate.skill_vote",
        gold="required",
        by_group=False,
        in_spark=False,
        summary="A majority vote weighted by each worker's accuracy on known labels.",
    ),
    AggregatorKind(
        name="dawid-skene",
        class_name="DawidSkene",
        module="faircrowd.aggregate.dawid_skene",
        gold="optional",
        by_group=True,
        in_spark=True,
        summary="Each worker has a confusion matrix, estimated together with the labels.",
        chosen={"pooling": "learned"},  # docs/decisions/0011-pooling.md
    ),
    AggregatorKind(
        name="one-coin",
        class_name="OneCoinDawidSkene",
        module="faircrowd.aggregate.one_coin",
        gold="optional",
        by_group=True,
        in_spark=True,
        summary="Dawid-Skene with one probability of a right vote per worker.",
    ),
    AggregatorKind(
        name="glad",
        class_name="GLAD",
        module="faircrowd.aggregate.glad",
        gold="unused",
        by_group=False,
        in_spark=False,
        summary="Workers have abilities and tasks have difficulties.",
    ),
    AggregatorKind(
        name="bayes",
        class_name="BayesVote",
        module="faircrowd.aggregate.bayes",
        gold="required",
        by_group=False,
        in_spark=True,
        summary="The most probable class, with confusion matrices counted on known labels.",
    ),
    AggregatorKind(
        name="calibrated",
        class_name="CalibratedCrowd",
        module="faircrowd.aggregate.calibration.calibrate",
        gold="required",
        by_group=True,
        in_spark=True,
        summary="Dawid-Skene and zero-based skill, with probabilities calibrated on known labels of some tasks.",
    ),
    AggregatorKind(
        name="jury",
        class_name="JuryVote",
        module="faircrowd.aggregate.jury",
        gold="optional",
        by_group=False,
        in_spark=True,
        summary="LLM judges: a log-linear pool of their probabilities, weighed by judge and family on known labels.",
        weighs_by_gold=True,
        uses_probabilities=True,
    ),
):
    register(_kind)
