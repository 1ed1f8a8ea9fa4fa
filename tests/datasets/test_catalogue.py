"""The catalogue of data sets: descriptions, addresses and checksums."""

import hashlib
from pathlib import Path

import pytest

from faircrowd.datasets.catalogue import ABOUT

real = pytest.mark.real


@real
def test_the_checksums_are_those_of_the_real_files(data_folder: Path) -> None:
    for name in ("crowd-judgement", "jigsaw-toxicity"):
        for file in ABOUT[name].files:
            assert hashlib.sha256((data_folder / name / file.name).read_bytes()).hexdigest() == file.sha256


def test_every_set_is_described() -> None:
    for name, one in ABOUT.items():
        assert one.name == name
        assert min(len(text) for text in (one.description, one.licence, one.citation, one.source)) > 5
        for file in one.files:
            assert file.url.startswith("https://")
            assert file.url.endswith(file.name)
            assert len(file.sha256) == 64
