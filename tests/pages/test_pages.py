"""README and docs do what they say: every block is run in the order of its page, and what it shows is compared.

Blocks of ``sh`` and ``console`` are commands, in a folder with the files that they name (``cupboard.py``); blocks of
``python`` are doctests, in the same folder. What cannot be run is listed in ``not_run.toml`` with the reason.
"""

import doctest
import inspect
import shlex
import subprocess
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from typer.main import get_command

import faircrowd as package
from faircrowd.cli.app import app
from pages.blocks import PAGES, PROJECT, Block, Command, blocks_of, commands_of, inline_commands, page_name
from pages.cupboard import SETTINGS, Setting, fill

NOT_RUN = tomllib.loads((Path(__file__).parent / "not_run.toml").read_text(encoding="utf-8"))
NEEDS_DATA = {"docs/tutorial.md", "docs/datasets.md"}
"""Pages about a real crowd, of the data folder."""
FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
"""Pages break long lines, and leave some out."""
Faircrowd = Callable[..., tuple[int, str, str]]


def is_run(command: Command) -> bool:
    return not any(command.line.startswith(entry["begins"]) for entry in NOT_RUN["command"])


def is_listed(page: Path, block: Block) -> bool:
    return any(
        entry["page"] == page_name(page) and block.first.startswith(entry["begins"]) for entry in NOT_RUN["block"]
    )


@pytest.mark.parametrize("page", [page for page in PAGES if blocks_of(page)], ids=page_name)
def test_a_page(
    page: Path, request: pytest.FixtureRequest, faircrowd: Faircrowd, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = page_name(page)
    if name in NEEDS_DATA:
        monkeypatch.setenv("FAIRCROWD_DATA", str(request.getfixturevalue("data_folder")))
    setting = SETTINGS.get(name, Setting())
    monkeypatch.chdir(tmp_path)
    blocks = [block for block in blocks_of(page) if not is_listed(page, block)]
    if any(block.language in ("sh", "console") for block in blocks):
        fill(tmp_path, setting)
        for line in setting.before:
            run_command(Command(line, None), faircrowd)
    names: dict[str, Any] = {"__name__": "__main__"}
    for block in blocks:
        where = f"{name}, line {block.line}"
        if block.language in ("sh", "console"):
            for command in filter(is_run, commands_of(block)):
                run_command(command, faircrowd, where)
        elif block.language == "python" and ">>>" in block.text:
            run_python(block, names, where)
        else:
            pytest.fail(
                f"{where}: a block of {block.language or 'no language'!r} that nothing runs. Commands are ```sh, or "
                "```console with `$ ` and what is printed; Python has prompts; list others in tests/pages/not_run.toml."
            )


def run_command(command: Command, faircrowd: Faircrowd, where: str = "") -> None:
    """Run a command, ours in this process; it must end well, and print what the page shows."""
    words = shlex.split(command.line)
    if words[0] == "faircrowd":
        code, out, err = faircrowd(*words[1:])
    else:
        ended = subprocess.run(["bash", "-c", command.line], capture_output=True, text=True, check=False)
        code, out, err = ended.returncode, ended.stdout, ended.stderr
    good = (0, 1, 3) if words[:2] == ["faircrowd", "check"] else (0,)  # a verdict is no failure of the command
    assert code in good, f"{where}: {command.line}\nended with {code}:\n{out}{err}"
    if command.shown:
        assert matches(command.shown, out + err), (
            f"{where}: {command.line}\nprinted:\n{out}{err}\nshown:\n{command.shown}"
        )


def matches(shown: str, printed: str) -> bool:
    return doctest.OutputChecker().check_output(shown, printed, FLAGS)


def run_python(block: Block, names: dict[str, Any], where: str) -> None:
    runner = doctest.DocTestRunner(verbose=False)
    complaints: list[str] = []
    test = doctest.DocTestParser().get_doctest(block.text, names, where, where, block.line)
    runner.run(test, out=complaints.append, clear_globs=False)
    names |= test.globs
    assert not complaints, "".join(complaints)


def test_what_is_not_run_is_still_there() -> None:
    lines = [command.line for page in PAGES for block in blocks_of(page) for command in commands_of(block)]
    for entry in NOT_RUN["command"]:
        assert any(line.startswith(entry["begins"]) for line in lines), entry
    for entry in NOT_RUN["block"]:
        blocks = blocks_of(PROJECT / entry["page"])
        assert any(block.first.startswith(entry["begins"]) for block in blocks), entry


@pytest.mark.parametrize("page", [page for page in PAGES if inline_commands(page)], ids=page_name)
def test_commands_in_running_text_name_options_that_exist(page: Path) -> None:
    commands = get_command(app).commands  # type: ignore[attr-defined]
    for line in inline_commands(page):
        name = line.split()[1]
        assert name in commands, line
        known = {option for item in commands[name].params for option in (*item.opts, *item.secondary_opts)}
        used = {word.partition("=")[0] for word in line.split() if word.startswith("--")}
        assert used <= known | {"--help"}, f"{line}: {sorted(used - known)}"


def test_a_block_that_nothing_runs_is_noticed(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(
        "1. See:\n\n   ```console\n   $ faircrowd \\\n     demo  # try\n   a  line\n   ```\n\n```toml\nx = 1\n```\n"
    )
    shown, other = blocks_of(page)
    assert commands_of(shown) == [Command("faircrowd demo", "a  line\n")]
    assert (shown.line, other.language, other.first) == (3, "toml", "x = 1")
    assert not commands_of(other)


def test_what_is_shown_may_be_broken_into_lines_and_left_out() -> None:
    printed = "gap        0.050 (class 1)\nfair       the gap fell\n"
    assert matches("gap 0.050\n    (class 1)\n...\n", printed)
    assert not matches("gap 0.051\n...\n", printed)
    assert not matches("gap 0.050 (class 1)\n", printed)


def test_every_page_is_in_the_menu_and_on_the_front_page() -> None:
    menu = (PROJECT / "docs" / "index.rst").read_text(encoding="utf-8")
    front = (PROJECT / "docs" / "README.md").read_text(encoding="utf-8")
    for page in (PROJECT / "docs").glob("*.md"):
        if page.name != "README.md":
            assert f"<{page.stem}>" in menu or f"   {page.stem}\n" in menu, page
            assert f"]({page.name})" in front, page


def test_every_public_module_has_a_page() -> None:
    """The list of docs/_site is that of the package: subpackages that users import from."""
    site = (PROJECT / "docs" / "_site" / "reference_pages.py").read_text(encoding="utf-8")
    for name in dir(package):
        if inspect.ismodule(getattr(package, name)) and name in package.__dir__():
            assert f'"faircrowd.{name}"' in site, name


def test_there_is_one_way_to_install() -> None:
    """Pages name extras, and one page says how to install them; it lists those that there are."""
    project = tomllib.loads((PROJECT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    install = (PROJECT / "docs" / "install.md").read_text(encoding="utf-8")
    listed = {line.split("`")[1] for line in install.splitlines() if line.startswith("| `")}
    assert listed == set(project["optional-dependencies"])
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        if page_name(page) not in ("docs/install.md", "docs/releasing.md"):
            assert "install 'faircrowd[" not in text, page
