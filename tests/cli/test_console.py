"""What a terminal shows in red, and while something runs."""

import io

import pytest
import rich.console

from faircrowd._steps import count_steps
from faircrowd.cli.console import Console

RED = "\x1b[31m"


@pytest.fixture
def terminal() -> tuple[Console, io.StringIO]:
    """A console that prints colours to a text."""
    console, text = Console(as_json=False), io.StringIO()
    console._out = rich.console.Console(file=text, force_terminal=True, color_system="standard", width=200)
    return console, text


def test_a_warning_is_red(terminal: tuple[Console, io.StringIO]) -> None:
    console, text = terminal
    console.pairs([("accuracy", "68.3%"), ("warning", "the posterior is wrong here")])
    calm, alarming = text.getvalue().splitlines()
    assert "\x1b[31m" not in calm
    assert alarming == f"\x1b[1;31mwarning \x1b[0m  {RED}the posterior is wrong here\x1b[0m"


def test_alarming_cells_are_red(terminal: tuple[Console, io.StringIO]) -> None:
    console, text = terminal
    console.table(("epsilon", "believed", "real"), [("0.1", "90%", "60%"), ("0.2", "91%", "90%")], [(0, 2)])
    lines = text.getvalue().splitlines()
    assert [RED in line for line in lines] == [False, True, False]
    assert lines[1].index("90%") < lines[1].index(RED) < lines[1].index("60%")


def test_a_long_loop_shows_how_far_it_is() -> None:
    console, text = Console(as_json=False), io.StringIO()
    console._err = rich.console.Console(file=text, force_terminal=True, width=100)
    with console.waiting("auditing the crowd"):
        for _ in count_steps(range(1200), "group"):
            pass
        console._err.print("")  # draws what is shown
    assert "auditing the crowd: group 1,200 of 1,200" in text.getvalue()
    text.truncate(0)
    with Console(as_json=True).waiting("auditing the crowd"):
        assert list(count_steps("ab", "letter")) == ["a", "b"]
    assert not text.getvalue()


def test_a_terminal_shows_long_texts_below_each_other() -> None:
    """A pipe has one line each, which programs can search."""
    long = "one two three four five six seven eight nine ten"
    for is_terminal, shown in (
        (True, "a   one two three four five six seven\n    eight nine ten\n"),
        (False, f"a   {long}\n"),
    ):
        console, text = Console(as_json=False), io.StringIO()
        console._out = rich.console.Console(
            file=text, force_terminal=is_terminal, color_system=None, width=40, soft_wrap=True
        )
        console.pairs([("a", long), ("bc", "")])
        assert text.getvalue() == f"{shown}bc  \n"
