"""The modules that CONTRIBUTING.md adds as examples work; those of exports and constraints have tests of their own."""

import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType, SimpleNamespace

import numpy as np
import pytest
import vl_convert

from faircrowd import FairCrowd, MajorityVote, simulate_crowd
from faircrowd.votes.readers.reader import Source
from pages.blocks import PROJECT, blocks_of

BLOCKS = [block for block in blocks_of(PROJECT / "CONTRIBUTING.md") if block.language == "python"]
MODULES = {block.first.strip('"'): block for block in BLOCKS if block.text.startswith('"""')}


@pytest.fixture
def example(request: pytest.FixtureRequest) -> Iterator[ModuleType]:
    """The module whose docstring begins as the test says."""
    (block,) = (block for first, block in MODULES.items() if first.startswith(request.param))
    module = sys.modules["example_of_contributing"] = ModuleType("example_of_contributing")
    exec(block.text, module.__dict__)  # noqa: S102
    yield module
    del sys.modules["example_of_contributing"]


@pytest.mark.parametrize("example", ["Majority vote weighted by experience"], indirect=True)
def test_an_aggregator(example: ModuleType) -> None:
    crowd = simulate_crowd(200, 20, 5, random_state=0)
    model = example.ExperienceVote().fit(crowd.votes)
    counts = crowd.votes["worker"].value_counts()
    votes = crowd.votes.assign(weight=np.sqrt(crowd.votes["worker"].map(counts)))
    shares = votes.pivot_table(index="task", columns="label", values="weight", aggfunc="sum", fill_value=0.0)
    np.testing.assert_allclose(model.probas_, shares.div(shares.sum(axis=1), axis=0))
    assert (model.predict(crowd.votes) == model.labels_).all()


@pytest.mark.parametrize("example", ["Text with one line per task"], indirect=True)
def test_a_reader(example: ModuleType, tmp_path: Path) -> None:
    (tmp_path / "votes.pertask").write_text("t1: ann=1 bob=0\nt2: ann=1\n")
    source = Source(tmp_path / "votes.pertask", example.PER_TASK)
    assert source.header() == ["task", "worker", "label"]
    found = {name: column.to_pylist() for name, column in example.PER_TASK.columns(source, source.header()).items()}
    assert found == {"task": ["t1", "t1", "t2"], "worker": ["ann", "bob", "ann"], "label": ["1", "0", "1"]}


@pytest.mark.parametrize("example", ["How many labels changed in each group"], indirect=True)
def test_a_chart(example: ModuleType) -> None:
    crowd = simulate_crowd(400, 20, 5, random_state=0)
    fair = FairCrowd(MajorityVote(), epsilon=0.02).fit(crowd.votes, sensitive_features=crowd.sensitive_features)
    chart = example.CHANGES.make(SimpleNamespace(result=fair.result_))
    assert chart["data"]["values"] == list(fair.certificate_.changes)
    assert vl_convert.vegalite_to_svg(chart).startswith("<svg")


def test_every_example_is_tried() -> None:
    here = ("Majority vote weighted", "Text with one line", "How many labels changed")
    elsewhere = ("Verdicts: JSON lines", "Precision floor:")  # tests/votes/exports/platforms, tests/fair/constraints
    assert len(MODULES) == len(here) + len(elsewhere)
    assert all(first.startswith(here + elsewhere) for first in MODULES)
