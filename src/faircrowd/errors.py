"""Every exception and warning of faircrowd.

::

    FaircrowdError
    ├── InputError (ValueError)          votes, groups or truth that cannot be used
    │   ├── MissingColumnError (KeyError)    a table lacks a column
    │   └── FileError                        a file cannot be read or written
    ├── OptionError (ValueError)         an argument outside its range
    └── NotFittedError (ValueError, AttributeError)

    FaircrowdWarning (UserWarning)
    ├── DataWarning                      rows were set aside; how many and why
    └── ConvergenceWarning               the rounds ran out before the model settled

A message says what was found, where, and what to do about it, on one line.
"""

__all__ = [
    "ConvergenceWarning",
    "DataWarning",
    "FaircrowdError",
    "FaircrowdWarning",
    "FileError",
    "InputError",
    "MissingColumnError",
    "NotFittedError",
    "OptionError",
]


class FaircrowdError(Exception):
    """The root of all errors that faircrowd raises on purpose."""


class InputError(FaircrowdError, ValueError):
    """The votes, groups or true labels cannot be used as they are."""


class MissingColumnError(InputError, KeyError):
    """A table lacks a column that is needed."""

    def __str__(self) -> str:
        return str(self.args[0])  # KeyError would show the message in quotes


class FileError(InputError):
    """A file cannot be read, or cannot be written."""


class OptionError(FaircrowdError, ValueError):
    """An argument lies outside what it may be."""


class NotFittedError(FaircrowdError, ValueError, AttributeError):
    """A result was asked of a model before ``fit``."""


class FaircrowdWarning(UserWarning):
    """The root of all warnings that faircrowd gives."""


class DataWarning(FaircrowdWarning):
    """Rows of the input were set aside, or used in a way worth knowing."""


class ConvergenceWarning(FaircrowdWarning):
    """The rounds ran out before the model settled."""
