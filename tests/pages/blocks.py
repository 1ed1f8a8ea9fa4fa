"""The blocks of a Markdown page: what is between fences, and the commands of shell blocks."""

import re
from dataclasses import dataclass
from pathlib import Path

__all__ = ["PAGES", "PROJECT", "Block", "Command", "blocks_of", "commands_of", "inline_commands", "page_name"]

PROJECT = Path(__file__).parents[2]
PAGES = [PROJECT / "README.md", *sorted((PROJECT / "docs").rglob("*.md"))]
PAGES = [page for page in PAGES if page.parent.name != "reference"]  # made by `make docs` from the package itself
_FENCE = re.compile(r"^(?P<indent> *)(?P<fence>```+|~~~+)(?P<language>[^`]*)$")


@dataclass(frozen=True)
class Block:
    """What is between two fences: its language, its text without indentation, and the line it begins on."""

    language: str
    text: str
    line: int

    @property
    def first(self) -> str:
        return next((line for line in self.text.splitlines() if line.strip()), "").strip()


@dataclass(frozen=True)
class Command:
    """A line that a reader types, and what the page shows that it prints (None if it shows nothing)."""

    line: str
    shown: str | None


def page_name(page: Path) -> str:
    return page.relative_to(PROJECT).as_posix()


def blocks_of(page: Path) -> list[Block]:
    found: list[Block] = []
    lines = page.read_text(encoding="utf-8").splitlines()
    at = 0
    while at < len(lines):
        opening = _FENCE.match(lines[at])
        if opening is not None:
            fence, indent = opening["fence"], len(opening["indent"])
            end = at + 1
            while lines[end].strip() != fence:
                end += 1
            text = "".join(f"{line[indent:]}\n" for line in lines[at + 1 : end])
            found.append(Block(opening["language"].strip(), text, at + 1))
            at = end
        at += 1
    return found


def commands_of(block: Block) -> list[Command]:
    """The commands of a block: each line of ``sh``; in ``console``, what follows ``$``, with the lines below it."""
    lines = block.text.replace("\\\n", " ").splitlines()
    if block.language == "sh":
        return [Command(_plain(line), None) for line in lines if _plain(line)]
    found: list[Command] = []
    for line in lines:
        if line.startswith("$ "):
            found.append(Command(_plain(line[2:]), ""))
        elif found:
            found[-1] = Command(found[-1].line, f"{found[-1].shown}{line}\n")
    return found


def inline_commands(page: Path) -> list[str]:
    """Commands in running text, between single backticks."""
    text = re.sub(r"^ *```.*?^ *```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE)
    return [" ".join(found.split()) for found in re.findall(r"`(faircrowd [a-z]+(?: [^`]*)?)`", text)]


def _plain(line: str) -> str:
    """A line without its comment."""
    return " ".join(re.sub(r"(^|\s)#.*$", "", line).split())
