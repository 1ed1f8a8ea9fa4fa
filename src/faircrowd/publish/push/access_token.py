"""The token of a platform: read from a file, and never shown."""

import os
import re
import stat
from dataclasses import dataclass
from pathlib import Path

from faircrowd.errors import FileError, InputError

__all__ = ["AccessToken", "read_token"]

_HIDDEN = "***"
_LONGEST = 8192
_LEAST_HIDDEN = 6
"""Shorter texts are not searched for in messages: they would hide half of them."""


@dataclass(frozen=True)
class AccessToken:
    """A token, which neither ``repr`` nor ``str`` shows.

    Examples
    --------
    >>> token = AccessToken("0123456789abcdef")
    >>> token, f"{token}", token.hidden_in("Token 0123456789abcdef was refused")
    (AccessToken(***), '***', 'Token *** was refused')
    """

    secret: str

    def __repr__(self) -> str:
        return f"AccessToken({_HIDDEN})"

    def __str__(self) -> str:
        return _HIDDEN

    def hidden_in(self, text: str) -> str:
        """Return a text without the token, also without its halves, which a message may have cut."""
        if len(self.secret) < _LEAST_HIDDEN:
            return text
        half = len(self.secret) // 2
        parts = [self.secret] + ([self.secret[:half], self.secret[half:]] if half >= _LEAST_HIDDEN else [])
        for part in parts:
            text = text.replace(part, _HIDDEN)
        return text


def read_token(path: Path) -> tuple[AccessToken, list[str]]:
    """Read a token from a file; return it, and what there is to note about the file.

    Raises
    ------
    FileError
        If the file cannot be read.
    InputError
        If it does not hold one token.
    """
    try:
        with path.open("rb") as file:
            mode = os.fstat(file.fileno()).st_mode
            content = file.read(_LONGEST + 1)
    except OSError as error:
        raise FileError(f"{path} cannot be read: {error.strerror or error}.") from None
    try:
        text = content.decode("ascii").strip()
    except UnicodeDecodeError:
        text = ""
    if len(content) > _LONGEST or not re.fullmatch(r"[!-~]+", text):
        raise InputError(
            f"{path} must hold one token alone, on one line of printable characters without blanks; copy it from the "
            "account page of the platform.",
            parameter="token_file",
        )
    notes = []
    if os.name == "posix" and mode & (stat.S_IRWXG | stat.S_IRWXO):
        notes.append(f"{path} can be read by other users of this machine; chmod 600 keeps the token to yourself")
    return AccessToken(text), notes
