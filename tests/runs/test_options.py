"""The options of a run: what they hold, what they refuse, and how they are written down and read back."""

import json
import shlex
from dataclasses import FrozenInstanceError, replace
from pathlib import Path
from typing import Any

import pytest

from faircrowd.errors import OptionError
from faircrowd.runs.how_to_repeat import how_to_repeat
from faircrowd.runs.options import AuditOptions, EngineOptions, FairOptions, ModelOptions, ReadOptions, RunOptions

READ = ReadOptions(Path("my votes.csv"), Path("tasks.csv"), ("gender", "race"))
FAIR = RunOptions(READ, ModelOptions("dawid-skene", {"by_group": True}), FairOptions(0.05))
RUNS: dict[str, RunOptions] = {
    "fair": FAIR,
    "plain": RunOptions(ReadOptions(Path("v.csv")), ModelOptions("wawa")),
    "all": RunOptions(
        ReadOptions(Path("v.csv"), Path("t.csv"), ("g",), "true", "gold", "item", "who", "what", ";", "first", "error"),
        ModelOptions("one-coin", {"n_iter": 7, "tol": float("inf"), "ties": "last", "by_group": True}),
        FairOptions(0.1, "f1", "randomized", True, 5, 0.9),
    ),
    "jury": RunOptions(
        ReadOptions(
            Path("v.csv"),
            probability=("yes", "no"),
            run="none",
            family="vendor",
            abstained="refused",
            abstain_label=("unsure", "n/a"),
        ),
        ModelOptions("jury", {"ties": "last"}),
    ),
    "judge": RunOptions(ReadOptions(Path("v.csv"), probability="p"), ModelOptions("jury")),
    "audit": RunOptions(READ, ModelOptions("majority"), audit=AuditOptions(0.9, 30, 2, "age")),
}


@pytest.mark.parametrize("name", RUNS)
def test_what_is_written_is_read_back(name: str) -> None:
    options = RUNS[name]
    found = json.loads(json.dumps(options.to_dict(), allow_nan=False))
    again = RunOptions.from_dict(options.command, found, options.files)
    assert again.to_dict() == options.to_dict()
    assert again.command == options.command
    assert (again.read, again.fair, again.audit) == (options.read, options.fair, options.audit)


@pytest.mark.parametrize("name", RUNS)
def test_the_command_repeats_the_run(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The command, parsed as the command line does it, gives the same options."""
    from faircrowd.cli.app import run

    asked: list[RunOptions] = []

    def fit(options: RunOptions, *_: Any) -> None:
        asked.append(options)
        raise OptionError("enough")

    monkeypatch.setattr("faircrowd.runs.fit.fit", fit)
    words = shlex.split(how_to_repeat(RUNS[name]))
    assert words[:2] == ["faircrowd", RUNS[name].command]
    assert run(words[1:]) == 2
    assert [options.to_dict() for options in asked] == [RUNS[name].to_dict()]


def test_what_the_command_line_cannot_say_is_said_in_python() -> None:
    for options in (
        replace(FAIR, fair=FairOptions(0.05, [[1, 0], [0, 2]])),
        replace(FAIR, model=ModelOptions("dawid-skene", {"by_group": True, "initial_skill": 0.6})),
    ):
        line = how_to_repeat(options, "again")
        assert line.startswith("FairCrowd(DawidSkene(by_group=True")
        assert line.endswith(
            ").fit('my votes.csv', sensitive_features=['gender', 'race'], tasks='tasks.csv').write('again')"
        )
    assert "epsilon=0.05, objective=..." in how_to_repeat(replace(FAIR, fair=FairOptions(0.05, [[1, 0], [0, 2]])))
    memory = how_to_repeat(RunOptions(ReadOptions(None), ModelOptions("majority"), FairOptions(0.2)), "x")
    assert memory == "FairCrowd(MajorityVote(), epsilon=0.2).fit(votes, sensitive_features=groups).write('x')"


@pytest.mark.parametrize(
    ("options", "message", "parameters"),
    [
        (replace(FAIR, fair=FairOptions(2.0)), "epsilon must be a number from 0 to 1", ("epsilon",)),
        (replace(FAIR, fair=FairOptions(0.1, "f2")), "objective='f2' is not known", ("objective",)),
        (replace(FAIR, read=ReadOptions(Path("v.csv"))), "epsilon bounds the gap between groups", ("epsilon",)),
        (replace(FAIR, model=ModelOptions("nope")), "method='nope' is not known", ("method",)),
        (replace(FAIR, model=ModelOptions("bayes")), "method=bayes learns from known labels", ()),
        (replace(FAIR, model=ModelOptions("glad", {"by_group": True})), "by_group is for method=", ("by_group",)),
        (replace(FAIR, read=replace(READ, group=("a", "a"))), "group=a is given 2 times", ()),
        (replace(FAIR, read=replace(READ, tasks=None, truth="t")), "truth and gold name columns", ("truth", "gold")),
        (replace(RUNS["audit"], audit=AuditOptions(confidence=1.0)), "confidence must be below 1", ("confidence",)),
        (replace(RUNS["audit"], audit=AuditOptions(replicates=-1)), "replicates must be a whole", ("replicates",)),
        (
            replace(RUNS["audit"], read=ReadOptions(Path("v.csv")), audit=AuditOptions(control="age")),
            "compare groups; give group",
            ("control",),
        ),
    ],
)
def test_options_that_do_not_fit_are_refused(options: RunOptions, message: str, parameters: tuple[str, ...]) -> None:
    with pytest.raises(OptionError, match=message) as caught:
        options.check()
    assert caught.value.parameters == parameters


def test_parameters_that_a_method_does_not_have_are_refused() -> None:
    with pytest.raises(OptionError, match=r"^method=majority has no option tol\.$"):
        ModelOptions("majority", {"tol": 0.1}).make()


def test_options_stay_as_they_are() -> None:
    for options in (FAIR, FAIR.read, FAIR.model, FAIR.fair, FAIR.engine, RUNS["audit"].audit):
        name = next(iter(vars(options)))
        with pytest.raises(FrozenInstanceError):
            setattr(options, name, None)


def test_the_engine_leaves_no_trace_but_in_spark() -> None:
    assert replace(FAIR, engine=EngineOptions("stream", 10**9)).to_dict() == FAIR.to_dict()
    cluster = replace(FAIR, engine=EngineOptions("spark", master="local[2]")).to_dict()
    assert (cluster.pop("engine"), cluster.pop("master")) == ("spark", "local[2]")
    assert cluster == FAIR.to_dict()


@pytest.mark.parametrize(
    ("model", "name"),
    [
        (ModelOptions.given("dawid-skene"), "pooled dawid-skene"),
        (ModelOptions.given("dawid-skene", pooling="none"), "dawid-skene"),
        (ModelOptions.given("dawid-skene", pooling=3, by_group=True), "pooled dawid-skene by group"),
        (ModelOptions("dawid-skene", {"pooling": 0, "by_group": True}), "dawid-skene by group"),
        (ModelOptions.given("dawid-skene", calibrated=True), "pooled dawid-skene, calibrated"),
        (ModelOptions.given("majority"), "majority"),
    ],
)
def test_the_method_says_whether_it_is_pooled(model: ModelOptions, name: str) -> None:
    assert model.name == name
