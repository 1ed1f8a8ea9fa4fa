"""What the package says about itself, in all the files that say it."""

import ast
import re
import tomllib
from pathlib import Path

import faircrowd

PROJECT = Path(__file__).parent.parent
SAID = tomllib.loads((PROJECT / "pyproject.toml").read_text(encoding="utf-8"))
NO_HOME = "faircrowd.example"
"""Stands for the project's address until there is one."""


def test_the_version_is_one() -> None:
    assert SAID["project"]["version"] == faircrowd.__version__
    assert f"\n## {faircrowd.__version__} " in (PROJECT / "CHANGELOG.md").read_text(encoding="utf-8")


def test_every_extra_is_tried() -> None:
    extras = set(SAID["project"]["optional-dependencies"])
    programs = {path.stem for path in (PROJECT / "tests" / "packages").glob("*.py")}
    assert extras - {"all"} <= programs


def test_messages_name_extras_that_exist() -> None:
    extras = set(SAID["project"]["optional-dependencies"])
    for path in (*(PROJECT / "src").rglob("*.py"), *PROJECT.glob("*.md"), *(PROJECT / "docs").rglob("*.md")):
        text = path.read_text(encoding="utf-8")
        named = {name for found in re.findall(r"faircrowd\[([a-z,]+)\]", text) for name in found.split(",")}
        if path.suffix == ".py":
            calls = [node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Call)]
            needs = [call for call in calls if isinstance(call.func, ast.Name) and call.func.id == "need"]
            named |= {ast.literal_eval(call.args[1]) for call in needs}
        assert named <= extras, path


def test_addresses_are_those_of_the_metadata() -> None:
    urls = set(SAID["project"]["urls"].values())
    assert {"Homepage", "Documentation", "Source", "Changelog", "Issues"} == set(SAID["project"]["urls"])
    hosts = {re.sub(r"https://([^/]+).*", r"\1", url) for url in urls}
    is_home = re.compile("https?://(?:" + "|".join(map(re.escape, hosts)) + r")[^\s)\"'<>`]*")
    files = [*PROJECT.glob("*.*"), *(PROJECT / ".github").rglob("*.*"), *(PROJECT / "docs").rglob("*.md")]
    for path in (path for path in files if path.suffix in (".md", ".cff", ".yml", ".yaml", ".toml", ".py")):
        for url in is_home.findall(path.read_text(encoding="utf-8")):
            home = url.rstrip(".,")
            assert home in urls or home.startswith(SAID["project"]["urls"]["Documentation"]), f"{path}: {url}"
