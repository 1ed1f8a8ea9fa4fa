"""Every number of a dossier is in the folder of the run, at the place that it names."""

import html
import json
import re
import shutil
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import faircrowd as fc
from faircrowd.errors import InputError, OptionError
from runs.dossiers.finished_folders import HOSTILE, aggregate, many_groups, write_crowd

KINDS: dict[str, tuple[str, ...]] = {
    "parity": ("--group", "sex", "--truth", "truth", "--epsilon", "0.02"),
    "constrained": (
        *("--require", "parity(sex) <= 0.05", "--require", "parity(age) <= 0.2", "--require", "reviewed <= 0.1"),
        *("--on-missing-group", "drop"),
    ),
    "randomized": ("--group", "sex", "--epsilon", "0.01", "--decision", "randomized"),
    "left out": ("--group", "age", "--on-missing-group", "own", "--epsilon", "0.3"),
    "unfair": ("--group", "sex"),
    "one group": ("--group", "all"),
    "no groups": (),
}


@pytest.fixture(scope="module")
def crowd(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_crowd(tmp_path_factory.mktemp("crowd"))


@pytest.fixture(scope="module")
def folders(crowd: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """A run of each kind, with its dossier."""
    place = tmp_path_factory.mktemp("runs")
    found = {kind: aggregate(crowd, place / kind, *more) for kind, more in KINDS.items()}
    hostile = write_crowd(place / "hostile crowd", names=HOSTILE)
    found["hostile"] = aggregate(hostile, place / "hostile", "--group", "sex", "--truth", "truth", "--epsilon", "0.05")
    found["many"] = many_groups(place / "many")
    for kind, folder in found.items():
        fc.write_dossier(folder, selected=HOSTILE["label"][1] if kind == "hostile" else 1)
    return found


def index(folder: Path) -> dict[str, Any]:
    return json.loads((folder / "dossier" / "dossier.json").read_text())


def at(document: Any, pointer: str) -> Any:
    """What a JSON pointer (RFC 6901) leads to."""
    for step in pointer.split("/")[1:]:
        step = step.replace("~1", "/").replace("~0", "~")
        document = document[int(step)] if isinstance(document, list) else document[step]
    return document


@pytest.mark.parametrize("kind", [*KINDS, "hostile", "many"])
def test_every_number_is_where_it_says(kind: str, folders: dict[str, Path]) -> None:
    folder = folders[kind]
    facts = index(folder)["facts"]
    assert len(facts) > 30
    for fact in facts:
        file, place, value = fact["file"], fact["place"], fact["value"]
        if place == "SHA-256":
            continue
        if file.endswith(".json"):
            pointer, _, how = place.partition(": number of names")
            found = at(json.loads((folder / file).read_text()), pointer)
            assert value == (len(found) if place != pointer else found), fact
            continue
        column, _, how = place.partition(": ")
        if how in ("smallest", "median", "largest"):
            values = pd.read_csv(folder / file)[column]
            assert value == {"smallest": values.min(), "median": values.median(), "largest": values.max()}[how], fact
        elif column == "verdict":
            assert value == (pd.read_csv(folder / file)["verdict"] == how.split("'")[1]).sum(), fact


TAGS = {
    *(
        "html",
        "head",
        "meta",
        "title",
        "style",
        "body",
        "header",
        "p",
        "h1",
        "h2",
        "nav",
        "ol",
        "li",
        "main",
        "section",
    ),
    *("dl", "div", "dt", "dd", "table", "caption", "thead", "tbody", "tr", "th", "td", "a", "em", "bdi", "code"),
}


class Words(HTMLParser):
    """The text of a page that is ours: not a number with its place, not a name, not code, not a heading."""

    def __init__(self) -> None:
        super().__init__()
        self.open, self.ours, self.tags, self.links = list[str](), list[str](), set[str](), list[str]()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.links += [str(value) for name, value in attrs if name in ("href", "src")]
        if tag != "meta":
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if not {"a", "bdi", "code", "dt", "h2", "style", "caption", "title"} & {*self.open}:
            self.ours.append(data)


@pytest.mark.parametrize("kind", [*KINDS, "hostile", "many"])
def test_the_page_shows_no_number_without_a_place(kind: str, folders: dict[str, Path]) -> None:
    text = (folders[kind] / "dossier" / "dossier.html").read_text()
    page = Words()
    page.feed(text)
    ours = re.sub(r"SHA-256|\(EU\) 2024/1689|Local Law 144|ll144\.csv", "", " ".join(page.ours))
    assert re.findall(r"\S*\d\S*", ours) == []
    assert page.tags <= TAGS
    assert all(link.startswith(("#", "../")) for link in page.links)
    shown = {(fact["file"], fact["shown"]) for fact in index(folders[kind])["facts"]}
    assert {file for file, _ in shown} <= {path.name for path in folders[kind].iterdir()}


def words(page: Path) -> str:
    return html.unescape(re.sub(r"<[^>]+>", "", page.read_text()))


def test_sentences_are_true_of_the_run(folders: dict[str, Path]) -> None:
    """What each kind of run must say, and must not."""
    pages = {kind: words(folder / "dossier" / "dossier.html") for kind, folder in folders.items()}
    for kind, page in pages.items():
        assert "not a statement that any law" in page
        assert ("drawn at random" in page) == (kind == "randomized")
        assert ("left to a person" in page) == (kind == "constrained")
        assert ("No groups were given" in page) == (kind == "no groups")
        assert ("No true labels were given" in page) == (kind not in ("parity", "hostile"))
        assert ("It was not limited" in page) == (kind == "unfair")
        assert "Krippendorff's alpha of the votes is 0." in page
    assert "fewer than 10 tasks" in pages["left out"]
    assert "There are no two groups to compare, so there is no gap." in pages["one group"]
    assert "There is no such table: labels.csv says the group of no task." in pages["no groups"]


def table_of(folder: Path) -> pd.DataFrame:
    return pd.read_csv(folder / "dossier" / "ll144.csv", keep_default_na=False, na_values=[""])


@pytest.mark.parametrize(
    ("kind", "columns"), [("parity", ["sex"]), ("constrained", ["sex", "age"]), ("left out", ["age"])]
)
def test_the_table_of_local_law_144_is_that_of_the_audit(
    kind: str, columns: list[str], folders: dict[str, Path], crowd: Path
) -> None:
    """The groups of the input with the labels of the run give the same table; missing groups are unknown."""
    labels = pd.read_csv(folders[kind] / "labels.csv", dtype=str).set_index("task")["label"]
    tasks = pd.read_csv(crowd / "tasks.csv", dtype={"task": str}).set_index("task").loc[labels.index]
    wanted = fc.audit.impact_table(
        labels.tolist(), sensitive_features={name: tasks[name].tolist() for name in columns}, selected="1"
    )
    found = table_of(folders[kind])
    counted = {(row.attribute, row.category): (row.number, row.selected, row.ratio) for row in wanted.rows}
    known = found[found["category"] != "unknown"]
    have = {(r.attribute, r.category): (r.number, r.selected, r.ratio) for r in known.itertuples()}
    assert have == counted
    unknown = found[found["category"] == "unknown"].set_index("attribute")["number"].to_dict()
    assert {name: unknown[name] for name in columns} == {name: tasks[name].isna().sum() for name in columns}


def test_the_same_bytes_again_and_no_file_of_others_is_lost(folders: dict[str, Path], tmp_path: Path) -> None:
    folder = folders["parity"]
    before = {path.name: path.read_bytes() for path in (folder / "dossier").iterdir()}
    assert "replaced" in fc.write_dossier(folder, selected=1).notes[-1]
    assert {path.name: path.read_bytes() for path in (folder / "dossier").iterdir()} == before
    (tmp_path / "README.md").write_text("mine")
    with pytest.raises(OptionError, match=r"README.md in .* would be overwritten"):
        fc.write_dossier(folder, tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["README.md"]
    fc.write_dossier(folder, tmp_path / "other")
    filled = tmp_path / "other" / "dossier.html"
    filled.write_text(filled.read_text().replace("to be filled in", "told", 1))
    with pytest.raises(OptionError, match=r"dossier.html in .* edited since; move it"):
        fc.write_dossier(folder, tmp_path / "other")


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"selected": "no such"}, "No label of this run is 'no such'; its labels are '0', '1'"),
        ({"leave_out_small": True}, "leave_out_small goes with selected"),
        ({"url": "javascript:alert(1)"}, "url must begin with https://"),
        ({"published": "soon"}, "published must be a date"),
        ({"title": "a\nb"}, "title must be a text"),
    ],
)
def test_wrong_options_are_named(given: dict[str, Any], message: str, folders: dict[str, Path], tmp_path: Path) -> None:
    with pytest.raises((OptionError, InputError), match=re.escape(message)):
        fc.write_dossier(folders["parity"], tmp_path / "out", **given)
    assert not (tmp_path / "out").exists()


def test_folders_that_are_no_run_or_were_changed_are_refused(
    folders: dict[str, Path], crowd: Path, tmp_path: Path
) -> None:
    with pytest.raises(InputError, match=r"evidence.json cannot be read"):
        fc.write_dossier(crowd)
    changed = Path(shutil.copytree(folders["parity"], tmp_path / "changed"))
    (changed / "labels.csv").write_text((changed / "labels.csv").read_text().replace("true", "false", 1))
    with pytest.raises(InputError, match=r"labels.csv in .* is not as the run wrote it"):
        fc.write_dossier(changed)
    said = json.loads((changed / "evidence.json").read_text())
    (changed / "evidence.json").write_text(json.dumps({**said, "command": "audit"}))
    with pytest.raises(InputError, match="holds no labels of faircrowd aggregate"):
        fc.write_dossier(changed)
    (changed / "summary.json").write_text("{}")
    (changed / "evidence.json").write_text(json.dumps({**said, "outputs": {}}))
    with pytest.raises(InputError, match="damaged or incomplete"):
        fc.write_dossier(changed)


def test_labels_of_a_run_in_spark_are_read(folders: dict[str, Path], tmp_path: Path) -> None:
    """A run in Spark writes a folder of Parquet, and no workers; the table is the same."""
    from faircrowd.storage.content_hash import content_hash

    folder = Path(shutil.copytree(folders["parity"], tmp_path / "run", ignore=shutil.ignore_patterns("dossier")))
    labels = pd.read_csv(folder / "labels.csv").drop(columns=["votes", "why"])
    (folder / "labels.parquet").mkdir()
    labels[:70].to_parquet(folder / "labels.parquet" / "part-0.parquet")
    labels[70:].to_parquet(folder / "labels.parquet" / "part-1.parquet")
    for name in ("labels.csv", "workers.csv"):
        (folder / name).unlink()
    said = json.loads((folder / "evidence.json").read_text())
    outputs = {name: value for name, value in said["outputs"].items() if name not in ("labels.csv", "workers.csv")}
    outputs["labels.parquet"] = content_hash(folder / "labels.parquet")
    (folder / "evidence.json").write_text(json.dumps({**said, "outputs": outputs}))
    assert any("beside croissant.json" in note for note in fc.write_dossier(folder, selected=1).notes)
    pd.testing.assert_frame_equal(table_of(folder), table_of(folders["parity"]))
