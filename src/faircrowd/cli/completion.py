"""What a shell proposes for the values of options; names are looked up when the shell asks."""

from collections.abc import Callable, Mapping

__all__ = ["data_sets", "experiments", "formats", "methods", "one_of", "platforms"]

Propose = Callable[[str], list[tuple[str, str]]]
"""From what was typed so far to values, each with a line about it."""


def one_of(*values: str) -> Propose:
    """Propose some of these values.

    Examples
    --------
    >>> one_of("last", "first", "all")("l")
    [('last', '')]
    """

    def propose(incomplete: str) -> list[tuple[str, str]]:
        return _beginning(incomplete, dict.fromkeys(values, ""))

    return propose


def methods(incomplete: str) -> list[tuple[str, str]]:
    """Propose aggregators."""
    from faircrowd.aggregate.registry import AGGREGATORS

    return _beginning(incomplete, {name: kind.summary for name, kind in AGGREGATORS.items()})


def formats(incomplete: str) -> list[tuple[str, str]]:
    """Propose formats of votes: tables, then exports of platforms."""
    from faircrowd.votes.exports import EXPORTS
    from faircrowd.votes.readers import READERS

    tables = {name: reader.help for name, reader in READERS.items()}
    return _beginning(incomplete, tables | {name: kind.title for name, kind in EXPORTS.items()})


def platforms(incomplete: str) -> list[tuple[str, str]]:
    """Propose platforms that take labels back."""
    from faircrowd.publish import FORMS

    return _beginning(incomplete, {name: form.title for name, form in FORMS.items()})


def data_sets(incomplete: str) -> list[tuple[str, str]]:
    """Propose data sets."""
    from faircrowd.datasets.catalogue import ABOUT

    return _beginning(incomplete, {name: about.description for name, about in ABOUT.items()})


def experiments(incomplete: str) -> list[tuple[str, str]]:
    """Propose experiments of the paper."""
    from faircrowd.experiments import EXPERIMENTS

    return _beginning(incomplete, dict.fromkeys([*EXPERIMENTS, "all"], ""))


def _beginning(incomplete: str, values: Mapping[str, str]) -> list[tuple[str, str]]:
    """Return the values that begin with what was typed."""
    return [(name, text) for name, text in values.items() if name.startswith(incomplete)]
