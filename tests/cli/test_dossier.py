"""``faircrowd dossier``: what it prints, and how it speaks of options."""

import json
from collections.abc import Callable
from pathlib import Path

from runs.dossiers.finished_folders import aggregate, write_crowd

Run = Callable[..., tuple[int, str, str]]


def test_the_command_says_what_it_wrote_and_what_is_missing(tmp_path: Path, faircrowd: Run) -> None:
    folder = aggregate(write_crowd(tmp_path), tmp_path / "run", "--group", "sex", "--epsilon", "0.1")
    code, out, err = faircrowd("dossier", folder)
    assert (code, err) == (0, "")
    assert "it is    no statement that any law is kept" in out
    assert "note     no table of impact ratios; name the label with --selected LABEL" in out
    assert "--license TEXT, --creator TEXT, --url URL, --published DATE" in out
    assert f"wrote    {folder}/dossier/dossier.html, README.md, croissant.json, dossier.json" in out
    code, out, err = faircrowd("dossier", folder, "--selected", "1", "--json")
    said = json.loads(out)
    assert (code, err, said["out"]) == (0, "", f"{folder}/dossier")
    assert said["files"] == ["dossier.html", "README.md", "croissant.json", "ll144.csv", "dossier.json"]
    index = json.loads((folder / "dossier" / "dossier.json").read_text())
    assert said["facts"] == len(index["facts"])
    assert said["to_fill"] == (folder / "dossier" / "dossier.html").read_text().count("<em>to be filled in</em>")
    code, out, err = faircrowd("dossier", folder, "--leave-out-small")
    assert (code, out, err) == (2, "", "faircrowd: --leave-out-small goes with --selected LABEL.\n")
    code, out, err = faircrowd("dossier", tmp_path / "nowhere")
    assert (code, out) == (2, "")
    assert "nowhere/evidence.json cannot be read: No such file or directory" in err


def test_title_note_and_date_of_the_run_are_told(tmp_path: Path, faircrowd: Run) -> None:
    told = ("--title", "Comments <b>", "--note", "To *train* a filter. " * 20, "--date", "2026-01-31")
    folder = aggregate(write_crowd(tmp_path), tmp_path / "run", *told)
    assert faircrowd("dossier", folder)[0] == 0
    page = (folder / "dossier" / "dossier.html").read_text()
    assert "<h1><bdi>Comments &lt;b&gt;</bdi></h1>" in page
    assert ("To *train* a filter. " * 20).strip() in page
    assert '<a href="../evidence.json#/options/date" title="evidence.json /options/date">2026-01-31</a>' in page
