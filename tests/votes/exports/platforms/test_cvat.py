"""Tags of CVAT."""

import copy
from pathlib import Path

import pytest

from faircrowd.errors import FileError
from votes.exports.examples import CVAT_JOBS, XML, packed
from votes.exports.reading import see, write


def test_replicas_are_workers(tmp_path: Path) -> None:
    seen = see(packed(CVAT_JOBS, tmp_path / "cvat"), label="tag")
    assert set(seen.rows) == {("9/0", 5, "cat"), ("9/0", "job-3", "dog")}
    assert seen.left_out == {"merged from replicas": 1, "rejected": 1, "not answered": 2, "ground truth": 1}
    assert seen.golden == {"9/0": "cat"}
    assert "example.com" not in str(seen.cells)


def test_attributes_are_questions(tmp_path: Path) -> None:
    assert ("9/0", 5, "yes") in see(packed(CVAT_JOBS, tmp_path / "cvat"), label="cat.sure").rows


def test_without_replicas_every_job_is_a_worker(tmp_path: Path) -> None:
    files = copy.deepcopy(CVAT_JOBS)
    jobs = files["jobs.json"]["results"]
    files["jobs.json"]["results"] = [{**job, "type": "annotation", "consensus_replicas": 0} for job in jobs[1:3]]
    assert see(packed(files, tmp_path / "cvat"), label="tag").votes == 2


@pytest.mark.parametrize("ending", ["", ".zip"])
def test_xml_of_several_jobs(ending: str, tmp_path: Path) -> None:
    files = {
        "ann/annotations.xml": XML.format(job=7, user="ann", label="cat"),
        "bob/annotations.xml": XML.format(job=8, user="", label="dog"),
    }
    seen = see(packed(files, tmp_path / f"cvat{ending}"), label="tag")
    assert set(seen.rows) == {("a.png", "ann", "cat"), ("a.png", "job-8", "dog")}
    assert seen.left_out == {"not answered": 2}


def test_xml_with_entities_is_refused(tmp_path: Path) -> None:
    laughs = '<!DOCTYPE x [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;">]>'
    text = XML.format(job=7, user="&b;", label="cat").replace("<annotations>", f"{laughs}<annotations>")
    with pytest.raises(FileError, match="defines a document type or entities"):
        see(write(tmp_path / "annotations.xml", text), format="cvat")
    with pytest.raises(FileError, match="is not XML"):
        see(write(tmp_path / "cut.xml", XML[:400]), format="cvat")


def test_a_page_of_several_is_refused(tmp_path: Path) -> None:
    files = {**CVAT_JOBS, "jobs.json": {**CVAT_JOBS["jobs.json"], "next": "http://localhost/api/jobs?page=2"}}
    with pytest.raises(FileError, match="one page of several"):
        see(packed(files, tmp_path / "cvat"))
