"""``faircrowd plan``: sentences, tables, JSON, and what it refuses."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

import faircrowd as fc
from faircrowd.audit.planner import plan_crowd, plan_gold

Run = Callable[..., tuple[int, str, str]]

ASSUMED = ("plan", "--skill", "men=0.8", "--skill", "women=0.7", "--delta", "0.02")
PRIORS = ("--prior", "men=0.6", "--prior", "women=0.4")


@pytest.fixture
def crowd(tmp_path: Path) -> tuple[Path, Path]:
    drawn = fc.simulate_crowd(800, 30, 5, random_state=3)
    votes, tasks = tmp_path / "votes.csv", tmp_path / "tasks.csv"
    drawn.votes.to_csv(votes, index=False)
    frame = drawn.sensitive_features.map({0: "left", 1: "right"}).rename("side").reset_index()
    frame.assign(truth=drawn.truth.to_numpy(), one="all").to_csv(tasks, index=False)
    return votes, tasks


def test_assumed_skills(faircrowd: Run) -> None:
    code, out, err = faircrowd(*ASSUMED, *PRIORS)
    assert (code, err) == (0, "")
    lines = out.splitlines()
    assert lines[0].startswith(
        "10 votes per task bring the majority's gap within 0.02 of the truth's: 0.2146 against 0.2000"
    )
    assert "10              0.2146    0.0146   0.5256" in lines
    assert lines[-4:] == [
        "group men    right with probability 0.800, 60.0% are 1",
        "group women  right with probability 0.700, 40.0% are 1",
        "truth        gap 0.2000",
        "crowd        any number of workers; a tie goes to the first class",
    ]


def test_json_is_the_plan(faircrowd: Run) -> None:
    more = ("--vote", "bayes", "--ties", "last", "--most", "40")
    code, out, err = faircrowd(*ASSUMED, *PRIORS, *more, "--json")
    assert (code, err) == (0, "")
    said = json.loads(out)
    ones = {"men": 0.6, "women": 0.4}
    known = plan_crowd({"men": 0.8, "women": 0.7}, priors=ones, delta=0.02, vote="bayes", ties="last", most=40)
    assert {name: said[name] for name in known.to_dict()} == known.to_dict()
    assert len(said["curve"]["votes"]) == 40
    assert said["options"]["skill"] == ["men=0.8", "women=0.7"]


def test_without_priors_and_never(faircrowd: Run) -> None:
    code, out, _ = faircrowd(*ASSUMED)
    assert code == 0
    assert "off by at most" in out
    assert "unknown priors" in out
    assert "1                 -         -   0.5000" in out.splitlines()
    assert json.loads(faircrowd(*ASSUMED, "--json")[1])["curve"]["gap"][0] is None
    code, out, _ = faircrowd("plan", "--skill", "a=b=0.8", "--skill", "b=0.5", "--delta", "0.02")
    assert code == 0
    assert out.startswith("Never, with this crowd: in group b workers are right with a mean probability of 0.5")
    assert "group a=b  right" in out


@pytest.mark.parametrize("more", [(), ("--gold", "truth"), ("--vote", "bayes")])
def test_skills_from_votes(crowd: tuple[Path, Path], more: tuple[str, ...], faircrowd: Run) -> None:
    votes, tasks = crowd
    given = ("plan", votes, "--tasks", tasks, "--group", "side", "--delta", "0.05", *more)
    code, out, err = faircrowd(*given)
    assert (code, err) == (0, "")
    assert "votes per task bring" in out
    assert "group left   right with probability 0." in out
    assert "a pool of 30 workers" in out
    assert ("and so is the truth" in out) == ("--gold" not in more)
    code, out, _ = faircrowd(*given, "--json")
    said = json.loads(out)
    assert (code, said["groups"], said["workers"]) == (0, ["left", "right"], 30)
    assert said["method"] == ("bound" if "bayes" in more else "exact")
    assert said["options"]["method"] == "one-coin"
    if not more:
        code, out, _ = faircrowd(*given, "--prior", "left=0.5", "--prior", "right=0.5", "--json")
        assert json.loads(out)["truth_gap"] == 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--delta", "0.1"), "Give --skill GROUP=NUMBER for each group, or VOTES with --group COLUMN"),
        (("--skill", "a=0.8"), "Missing option '--delta'"),
        (("--delta", "2", "--skill", "a=0.8"), "--delta must be a number from 0 to 1"),
        (("--delta", "0.1", "--skill", "a=0.8"), "Parity compares groups; got the skills of 'a' only"),
        (("--delta", "0.1", "--skill", "a=high"), "--skill 'a=high' is not GROUP=NUMBER"),
        (("--delta", "0.1", "--skill", "0.8"), "--skill '0.8' is not GROUP=NUMBER"),
        (("--delta", "0.1", "--skill", "a=nan"), "--skill 'a=nan' is not GROUP=NUMBER"),
        (("--delta", "0.1", "--skill", "a=.8", "--skill", "a=.7"), "--skill names group 'a' twice"),
        (("--delta", "0.1", "--skill", "a=.8", "--skill", "b=.7", "--prior", "a=.5"), "priors lack group 'b'"),
        (("--delta", "0.1", "--skill", "a=.8", "--skill", "b=.7", "--vote", "mode"), "--vote mode is not known"),
        (("--delta", "0.1", "--skill", "a=.8", "--skill", "b=.7", "--ties", "coin"), "--ties coin is not known"),
        (("--delta", "0.1", "--skill", "a=.8", "--skill", "b=.7", "--most", "0"), "--most must be a whole number"),
        (("--delta", "0.1", "--skill", "a=.8", "--group", "a"), "reading and fitting votes go with VOTES"),
        (("--delta", "0.1", "--skill", "a=.8", "--worker", "w"), "reading and fitting votes go with VOTES"),
        (("VOTES", "--delta", "0.1", "--skill", "a=.8"), "leave out --skill or VOTES"),
        (("VOTES", "--delta", "0.1"), "give --group COLUMN"),
        (("VOTES", "--delta", "0.1", "--tasks", "TASKS", "--group", "one"), "got the skills of 'all' only"),
        (("VOTES", "--delta", "0.1", "--tasks", "TASKS", "--group", "sied"), "sied"),
        (("--gold", "truth"), "--gold 'truth' is not a whole number"),
        (("--gold", "100", "--tasks", "tasks.csv"), "--tasks 'tasks.csv' is not a whole number"),
        (("--gold", "100", "--delta", "0.1"), "With --gold NUMBER go only --accuracy, --share, --tasks NUMBER"),
        (("--gold", "100", "--share", "a=0.5"), "shares must add up to 1"),
        (("--gold", "100", "--accuracy", "2"), "--accuracy must be a number from 0 to 1"),
        (("--gold", "100", "--tasks", "20"), "--gold is 100, more than the 20 tasks"),
        (("--delta", "0.1", "--skill", "a=.8", "--skill", "b=.7", "--accuracy", "0.8"), "go with --gold NUMBER"),
    ],
)
def test_what_it_refuses(arguments: tuple[str, ...], message: str, crowd: tuple[Path, Path], faircrowd: Run) -> None:
    paths = {"VOTES": crowd[0], "TASKS": crowd[1]}
    code, out, err = faircrowd("plan", *(paths.get(argument, argument) for argument in arguments))
    assert (code, out) == (2, "")
    assert message in err
    assert err.count("\n") == 1


def test_known_labels(faircrowd: Run) -> None:
    given = (
        "plan",
        "--gold",
        "200",
        "--accuracy",
        "0.9",
        "--share",
        "women=0.3",
        "--share",
        "men=0.7",
        "--tasks",
        "3000",
    )
    known = plan_gold(200, accuracy=0.9, shares={"women": 0.3, "men": 0.7}, tasks=3000)
    code, out, err = faircrowd(*given)
    assert (code, err) == (0, "")
    lines = out.splitlines()
    assert lines[0] == str(known)
    assert [line.split()[0] for line in lines[2:6]] == ["group", "all", "women", "men"]
    women = known.groups[0]
    assert lines[4].split() == ["women", "60", f"{women.low:.1%}", f"{women.high:.1%}", f"{100 * women.width:.1f}"]
    assert "usually narrower" in lines[-1]
    said = json.loads(faircrowd(*given, "--json")[1])
    assert {name: said[name] for name in known.to_dict()} == known.to_dict()


@pytest.mark.real
def test_three_classes_are_refused(data_folder: Path, faircrowd: Run) -> None:
    folder = data_folder / "tweets-hate-3class"
    given = ("plan", folder / "votes.csv", "--tasks", folder / "tasks.csv", "--group", "dialect", "--delta", "0.05")
    code, _, err = faircrowd(*given)
    assert code == 2
    assert "A plan is made for two classes; these votes have 3." in err
