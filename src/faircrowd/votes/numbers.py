"""Numbers that users give by worker, task or label: skills, priors."""

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from faircrowd.errors import InputError
from faircrowd.votes.facts import find_facts, from_table
from faircrowd.votes.frames import find_column, is_frame, names_of
from faircrowd.votes.vocabulary import Vocabulary, as_objects

__all__ = ["Numbers"]


class Numbers(NamedTuple):
    """The ids that numbers were given for, and the numbers."""

    ids: Vocabulary
    values: NDArray[np.float64]

    @classmethod
    def read(cls, given: Any, role: str = "worker") -> "Numbers":
        """Read them from a Series, dict or frame; None has none."""
        if given is None:
            return cls(Vocabulary(as_objects([])), np.empty(0))
        if not isinstance(given, Mapping) and is_frame(given):
            keyed = find_column(role, names_of(given), where="the table")
            key, (column, *_) = from_table(given, keyed, None, "the table", None)
        else:
            key, (column,) = find_facts(given, None, None, None)
        try:
            return cls(Vocabulary(key), np.array(column, dtype=np.float64))
        except (TypeError, ValueError):
            raise InputError(f"The values given by {role} must be numbers.") from None

    def of(self, vocabulary: Vocabulary) -> NDArray[np.float64]:
        """Return the number of each value of a vocabulary; NaN where none was given."""
        out = np.full(len(vocabulary), np.nan)
        place = vocabulary.code_of(self.ids.values)
        out[place[place >= 0]] = self.values[place >= 0]
        return out
