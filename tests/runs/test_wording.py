"""Messages call parameters by their Python names; the command line spells them as its options."""

import inspect
import re
from collections.abc import Callable
from pathlib import Path

import pytest

import faircrowd as fc
from faircrowd.cli.app import app
from faircrowd.errors import FaircrowdError, InputError, MissingColumnError, NotFittedError, OptionError
from faircrowd.fair.make import make_fair
from faircrowd.runs.wording import OPTIONS, spoken

SOURCE = Path(fc.__file__).parent


def test_every_option_is_known() -> None:
    """A new option of a command needs no more than its name in the list."""
    given = {name for command in app.registered_commands for name in inspect.signature(command.callback).parameters}
    not_options = {"as_json", "folder", "name", "experiments"}
    assert given - not_options == OPTIONS


@pytest.mark.parametrize(
    ("text", "parameters", "expected"),
    [
        ("epsilon must be a number; got 2.", ["epsilon"], "--epsilon must be a number; got 2."),
        ("epsilon must be a number; got 2.", [], "epsilon must be a number; got 2."),
        ("give sensitive_features=... first", [], "give --group COLUMN first"),
        ("true_labels must be one column", [], "--gold must be one column"),
        ("group='a' and group=a.b", [], "--group a and --group a.b"),
        ("n_iter='many' of random_state", [], "--n-iter many of --random-state"),
        ("raise n_iter, or tol; total", [], "raise --n-iter, or --tol; total"),
        ("method=x, engine='spark', strict=True.", [], "--method x, --engine spark, --strict."),
        ("start anew with resume=False.", [], "start anew without --resume."),
        ("read as CSV (format='csv'), give format=...", [], "read as CSV (--from csv), give --from FORMAT"),
        ("color='red' stays", ["color"], "color='red' stays"),
        ("votes of /tmp/votes.csv with votes=...", ["votes"], "--votes of /tmp/votes.csv with --votes FILE"),
        ("the column 'group' is not group", ["group"], "the column 'group' is not --group"),
        ("delimiter='||' must be one plain character", [], "delimiter='||' must be one plain character"),
    ],
)
def test_how_parameters_are_spelled(text: str, parameters: list[str], expected: str) -> None:
    assert spoken(text, parameters) == expected


def test_no_message_of_the_library_speaks_of_options() -> None:
    spoken_of = re.compile(r"(?<![\w-])--[a-z]")
    for path in SOURCE.rglob("*.py"):
        if (
            path.relative_to(SOURCE).parts[0] == "cli" or path == SOURCE / "runs" / "how_to_repeat.py"
        ):  # builds a command
            continue
        text = re.sub(r'(?s)""".*?"""', "", path.read_text(encoding="utf-8"))  # docstrings may show a command
        assert not spoken_of.search(text), f"{path}: {spoken_of.search(text)}"


@pytest.mark.parametrize("kind", [FaircrowdError, InputError, MissingColumnError, NotFittedError, OptionError])
def test_errors_carry_the_names_of_parameters(kind: type[FaircrowdError]) -> None:
    import pickle

    assert kind("message").parameters == ()
    assert kind("message", parameter="epsilon").parameters == ("epsilon",)
    both = kind("message", parameter=["epsilon", "group"])
    assert (str(both), both.parameters) == ("message", ("epsilon", "group"))
    again = pickle.loads(pickle.dumps(both))  # noqa: S301 - as Spark and processes pass errors on
    assert (type(again), str(again), again.parameters) == (kind, "message", ("epsilon", "group"))


def test_each_edge_speaks_its_own_language(tmp_path: Path, faircrowd: Callable[..., tuple[int, str, str]]) -> None:
    with pytest.raises(
        OptionError, match=r"^epsilon must be a number from 0 to 1; got 2\.0\. Did you mean 0\.02\?$"
    ) as caught:
        make_fair([[0.5, 0.5]] * 2, [0, 1], epsilon=2.0)
    assert caught.value.parameters == ("epsilon",)
    (tmp_path / "votes.csv").write_text("task,worker,label,g\n1,a,x,0\n1,b,y,0\n2,a,y,1\n")
    given = ("aggregate", tmp_path / "votes.csv", "--out", tmp_path / "run", "--group", "g")
    code, _, err = faircrowd(*given, "--epsilon", "2")
    assert (code, err) == (2, "faircrowd: --epsilon must be a number from 0 to 1; got 2.0. Did you mean 0.02?\n")
    code, _, err = faircrowd("aggregate", tmp_path / "votes.csv", "--out", tmp_path / "run", "--epsilon", "0.1")
    assert (code, err) == (2, "faircrowd: --epsilon bounds the gap between groups; give --group COLUMN.\n")
