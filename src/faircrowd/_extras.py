"""Packages that only some features need, installed with an extra of faircrowd."""

from importlib.util import find_spec

from faircrowd.errors import MissingPackageError

__all__ = ["need"]


def need(package: str, extra: str, what: str, advice: str = "") -> None:
    """Raise with advice unless a package is installed; call it before the package is imported.

    Parameters
    ----------
    package : str
        The package as it is imported.
    extra : str
        The extra of faircrowd that installs it.
    what : str
        What needs it: the subject of the message.
    advice : str
        What to do otherwise, as the rest of the sentence.

    Examples
    --------
    >>> need("json", "app", "A page")
    >>> need("no_such_package", "app", "A page", ", or report=False")
    Traceback (most recent call last):
    faircrowd.errors.MissingPackageError: A page needs no_such_package: pip install 'faircrowd[app]', or report=False.
    """
    if find_spec(package) is None:
        raise MissingPackageError(f"{what} needs {package}: pip install 'faircrowd[{extra}]'{advice}.")
