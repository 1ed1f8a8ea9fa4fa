"""croissant.json is Croissant 1.1 with RAI fields, by mlcroissant; README.md is a dataset card of Hugging Face."""

import csv
import json
import logging
import warnings
from pathlib import Path

import pytest

import faircrowd as fc
from runs.dossiers.finished_folders import HOSTILE, aggregate, write_crowd

TOLD = {"license": "CC-BY-4.0", "creator": "Somebody", "url": "https://data.example/x", "published": "2026-01-31"}


@pytest.fixture(scope="module", params=["plain", "hostile"])
def folder(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("croissant")
    crowd = write_crowd(place, names=HOSTILE if request.param == "hostile" else None)
    run = aggregate(crowd, place / "run", "--group", "sex", "--truth", "truth", "--epsilon", "0.05")
    fc.write_dossier(run, title='n: "x" # {{ 7 }} <b>' if request.param == "hostile" else "Plain", **TOLD)
    return run


def test_mlcroissant_reads_the_labels(folder: Path, caplog: pytest.LogCaptureFixture) -> None:
    with warnings.catch_warnings(), caplog.at_level(logging.WARNING):
        warnings.simplefilter("ignore")
        import mlcroissant

        data = mlcroissant.Dataset(folder / "dossier" / "croissant.json")
        rows = list(data.records("labels"))
        people = list(data.records("workers"))
    # Not caplog.text: pyspark, once imported, gives every handler a format of its own.
    said = [line for record in caplog.records for line in record.getMessage().splitlines()]
    assert {line.rsplit("/", 1)[-1] for line in said if "is recommended" in line} == {
        *('citeAs" is recommended, but does not exist.', 'version" is recommended, but does not exist.')
    }
    assert not data.metadata.ctx.issues.errors
    assert data.metadata.ctx.is_v1_1()
    assert data.metadata.conforms_to[1] == "http://mlcommons.org/croissant/RAI/1.0"
    about = data.metadata
    assert about.annotations_per_item == "Each task has 5 votes."
    assert any("Krippendorff" in text for text in about.data_annotation_analysis)
    assert about.data_biases and about.data_limitations and about.data_preprocessing_protocol  # noqa: PT018
    with (folder / "labels.csv").open(encoding="utf-8", newline="") as file:
        written = list(csv.DictReader(file))
    assert [row["labels/label"].decode() for row in rows] == [row["label"] for row in written]
    assert [row["labels/votes"] for row in rows] == [int(row["votes"]) for row in written]
    assert len(people) == 9


def test_every_file_has_its_hash(folder: Path) -> None:
    from faircrowd.storage.content_hash import content_hash

    found = json.loads((folder / "dossier" / "croissant.json").read_text())
    named = {given["name"]: given["sha256"] for given in found["distribution"]}
    assert set(named) == {path.name for path in folder.iterdir() if path.is_file()}
    assert all(content_hash(folder / name) == value for name, value in named.items())
    assert (found["license"], found["url"], found["datePublished"]) == (TOLD["license"], TOLD["url"], TOLD["published"])


def test_the_card_is_one_of_hugging_face(folder: Path) -> None:
    card = pytest.importorskip("huggingface_hub").DatasetCard.load(folder / "dossier" / "README.md")
    data = card.data.to_dict()
    assert data["license"] == "cc-by-4.0"
    assert data["size_categories"] == ["n<1K"]
    assert data["configs"] == [{"config_name": "default", "data_files": "labels.csv"}]
    assert data["annotations_creators"] == ["crowdsourced"]
    assert data["pretty_name"] in ("Plain", 'n: "x" # {{ 7 }} <b>')
    assert "Labels of 150 tasks" in card.text
    assert "<b>" not in card.text
    assert "<script" not in card.text
