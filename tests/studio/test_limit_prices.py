"""The stops of sliders, without a browser or jobs."""

from pathlib import Path
from typing import Any

import pytest

from faircrowd.errors import InfeasibleError
from faircrowd.runs.fit import fit
from faircrowd.runs.progress import QUIET
from faircrowd.studio.limit_prices import limit_prices
from faircrowd.studio.studio_form import limits_of, price_options


@pytest.fixture
def price(tmp_path: Path, crowd_files: tuple[bytes, bytes]) -> Any:
    paths = {"votes": tmp_path / "votes.csv", "tasks": tmp_path / "tasks.csv"}
    for path, content in zip(paths.values(), crowd_files, strict=True):
        path.write_bytes(content)
    read = {name: str(path) for name, path in paths.items()}

    def call(*require: str, group: str = "sex", **more: Any) -> dict[str, Any]:
        asked = {"read": {**read, "group": [group] if group else []}, "method": "majority", "require": require, **more}
        return limit_prices(fit(price_options(asked)), limits_of(asked)[0], QUIET)

    return call


def test_the_stops_of_epsilon_hold_the_one_that_was_asked_for(price: Any) -> None:
    for epsilon in (0.0, 0.0417, 0.9):
        (slider,) = price("parity(sex) <= 0.1", require=[f"parity(sex) <= {epsilon}"])["sliders"]
        limits = [stop["limit"] for stop in slider["stops"]]
        assert limits == sorted(set(limits))
        assert slider["held"] == slider["start"] == limits.index(epsilon)
        assert slider["stops"][-1]["cells"][-2] == "0"  # nothing is changed


def test_a_limit_that_cannot_be_kept_is_no_stop(price: Any) -> None:
    found = price("parity(sex) <= 0.0001", "changed <= 0.007")
    parity, changed = found["sliders"]
    assert parity["held"] is None
    assert parity["stops"][parity["start"]]["limit"] == min(stop["limit"] for stop in parity["stops"]) > 0.0001
    assert changed["held"] is None
    assert min(stop["limit"] for stop in changed["stops"]) > 0.007
    assert any("cannot be kept" in line for line in found["remarks"])


def test_limits_that_clash_whatever_a_slider_does(price: Any) -> None:
    with pytest.raises(InfeasibleError):
        price("rate(label=1) >= 0.9", "rate(label=1) <= 0.1", "changed <= 0.5")


def test_two_limits_in_one_have_no_slider(price: Any) -> None:
    found = price("0.1 <= rate(sex, label=1) <= 0.9", "changed <= 0.5")
    assert found["fixed"] == ["rate(sex, label=1) >= 0.1 and <= 0.9"]
    assert [slider["text"] for slider in found["sliders"]] == ["changed <= 0.5"]


def test_without_limits_there_are_no_sliders(price: Any) -> None:
    assert price(group="")["sliders"] == []
