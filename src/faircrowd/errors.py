"""Every exception and warning of faircrowd.

::

    FaircrowdError
    ├── InputError (ValueError)          votes, groups or truth that cannot be used
    │   ├── MissingColumnError (KeyError)    a table lacks a column
    │   ├── UnknownGroupError                new tasks are of groups that a rule has not seen
    │   └── FileError                        a file cannot be read or written
    ├── OptionError (ValueError)         an argument outside its range
    ├── MissingPackageError (ImportError)    a package that a feature needs is not installed
    ├── NotFittedError (ValueError, AttributeError)
    ├── InfeasibleError (ValueError)     no labels keep all constraints
    ├── PushError (RuntimeError)         a platform did not take what it was sent
    └── SolverError (RuntimeError)       a solver found no labels

    FaircrowdWarning (UserWarning)
    ├── DataWarning                      rows were set aside; how many and why
    │   ├── DrasticChangeWarning             labels were made fair at the price of their use
    │   └── LeftoverWarning                  files that a killed run left were removed
    └── ConvergenceWarning               the rounds ran out before the model converged

A message states what was found, where, and what to do about it, on one line. It calls parameters by their Python names;
an error also lists these names in ``parameters``, so that the command line can spell them as its options.
"""

from collections.abc import Sequence

__all__ = [
    "ConvergenceWarning",
    "DataWarning",
    "DrasticChangeWarning",
    "FaircrowdError",
    "FaircrowdWarning",
    "FileError",
    "InfeasibleError",
    "InputError",
    "LeftoverWarning",
    "MissingColumnError",
    "MissingPackageError",
    "NotFittedError",
    "OptionError",
    "PushError",
    "SolverError",
    "UnknownGroupError",
]


class FaircrowdError(Exception):
    """The root of all errors that faircrowd raises on purpose.

    Parameters
    ----------
    message : str
    parameter : str or sequence of str
        The Python names of the parameters that the message speaks of.

    Examples
    --------
    >>> OptionError("epsilon must be a number from 0 to 1; got 2.", parameter="epsilon").parameters
    ('epsilon',)
    """

    def __init__(self, message: str = "", *, parameter: str | Sequence[str] = ()) -> None:
        super().__init__(message)
        self.parameters: tuple[str, ...] = (parameter,) if isinstance(parameter, str) else tuple(parameter)


class InputError(FaircrowdError, ValueError):
    """The votes, groups or true labels cannot be used as they are."""


class MissingColumnError(InputError, KeyError):
    """A table lacks a column that is needed."""

    def __str__(self) -> str:
        return str(self.args[0])  # KeyError would show the message in quotes


class UnknownGroupError(InputError):
    """New tasks are of groups that a rule has not seen.

    Parameters
    ----------
    found : str
        How many tasks of which groups, without a full stop.
    advice : str
        What to do about it, as a sentence.
    """

    def __init__(
        self, found: str, advice: str = "unknown='own' gives them the aggregator's own label.", **more: str
    ) -> None:
        super().__init__(f"{found}. {advice}", **more)
        self.found = found


class FileError(InputError):
    """A file cannot be read, or cannot be written."""


class OptionError(FaircrowdError, ValueError):
    """An argument is outside its allowed range."""


class MissingPackageError(FaircrowdError, ImportError):
    """A package that a feature needs is not installed; the message says how to install it."""


class NotFittedError(FaircrowdError, ValueError, AttributeError):
    """A result was requested from a model before ``fit``."""


class InfeasibleError(FaircrowdError, ValueError):
    """No labels keep all constraints; the message says which of them clash, and what would do."""


class PushError(FaircrowdError, RuntimeError):
    """A platform could not be reached, or did not take what it was sent."""


class SolverError(FaircrowdError, RuntimeError):
    """A solver found no labels, although there are some."""


class FaircrowdWarning(UserWarning):
    """The root of all warnings that faircrowd gives."""


class DataWarning(FaircrowdWarning):
    """Rows of the input were set aside, or used in a way worth knowing."""


class DrasticChangeWarning(DataWarning):
    """Labels were made fair by changing a large part of them, by giving up a class, or by one label for nearly all."""


class LeftoverWarning(DataWarning):
    """Files that a killed run left behind were removed."""


class ConvergenceWarning(FaircrowdWarning):
    """The rounds ran out before the model converged."""
