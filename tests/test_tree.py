"""The tree stays readable: small folders, one meaning per file name, private names at home, few untyped parameters."""

import ast
import re
from collections import Counter
from pathlib import Path

import pytest

from source_trees import MODULES, SOURCE, tree, walk

PROJECT = Path(__file__).parent.parent
MOST_MODULES = 17
MOST_COMMANDS = 24
"""Modules in cli/, which has one thin file per command."""
MOST_ANY = 0.06
TWINS = {"solve.py", "relaxed.py"}
"""The steps that both solvers of fair/ have, each under its own folder."""
PUBLIC_UNDERSCORES = {"_replace", "_asdict", "_fields", "_make", "_getframe", "_exit"}
"""Names with an underscore that Python's own documentation lists."""


def package(path: Path) -> str:
    return path.relative_to(SOURCE).parts[0]


def most(folder: Path) -> int:
    return MOST_COMMANDS if folder == SOURCE / "cli" else MOST_MODULES


def test_no_folder_is_crowded() -> None:
    sizes = Counter(path.parent for path in MODULES if path.name != "__init__.py")
    crowded = {str(folder.relative_to(SOURCE)): n for folder, n in sizes.items() if n > most(folder)}
    assert not crowded


def test_a_file_name_occurs_once() -> None:
    """A command of cli/ may have the name of what it runs."""
    names = Counter(path.name for path in MODULES if package(path) != "cli" and path.name != "__init__.py")
    assert {name for name, n in names.items() if n > 1} <= TWINS


def test_every_folder_says_what_is_in_it() -> None:
    for path in MODULES:
        assert ast.get_docstring(tree(path)), path


def private(name: str) -> bool:
    return name.startswith("_") and not name.startswith("__")


def defined(path: Path) -> set[str]:
    """Every private name that a module defines: functions, classes, constants, attributes and fields."""
    found: set[str] = set()
    for node in walk(path):
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            found.add(node.name)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            found.add(node.id)
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            found.add(node.attr)
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "__setattr__":
            found |= {str(item.value) for item in node.args if isinstance(item, ast.Constant)}
    return {name for name in found if private(name)}


@pytest.fixture(scope="module")
def homes() -> dict[str, set[str]]:
    """The packages that define each private name."""
    found: dict[str, set[str]] = {}
    for path in MODULES:
        for name in defined(path):
            found.setdefault(name, set()).add(package(path))
    return found


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_private_names_stay_at_home(path: Path, homes: dict[str, set[str]]) -> None:
    """No module imports a private name of another package, or reads a private attribute that only others define."""
    own = package(path)
    for node in walk(path):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("faircrowd."):
            other = (node.module or "").split(".")[1]
            strangers = [alias.name for alias in node.names if private(alias.name) and other != own]
            assert not strangers, f"{path}:{node.lineno}: {strangers} of {other}"
        elif isinstance(node, ast.Attribute) and private(node.attr) and node.attr not in PUBLIC_UNDERSCORES:
            where = homes.get(node.attr)
            assert where is None or own in where, f"{path}:{node.lineno}: {node.attr} is private to {where}"


def test_few_parameters_are_of_any_type() -> None:
    total = of_any = 0
    for path in MODULES:
        for node in walk(path):
            if isinstance(node, ast.FunctionDef):
                arguments = node.args
                named = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
                rest = [item for item in (arguments.vararg, arguments.kwarg) if item is not None]
                kinds = [ast.unparse(item.annotation) for item in (*named, *rest) if item.annotation is not None]
                total, of_any = total + len(kinds), of_any + kinds.count("Any")
    assert of_any / total < MOST_ANY, f"{of_any} of {total} parameters"


def test_the_glossary_names_files_that_exist() -> None:
    text = (PROJECT / "docs" / "glossary.md").read_text(encoding="utf-8")
    named = set(re.findall(r"`([a-z_]+(?:/[a-z_]+)*(?:/|\.py))`", text))
    assert len(named) > 20
    missing = [name for name in named if not (SOURCE / name).exists() and not (PROJECT / name).exists()]
    assert not missing


def test_accuracy_is_believed_or_real_but_not_expected() -> None:
    """The mean posterior is what a model believes; to call it expected would claim that the model is right."""
    texts = [*SOURCE.rglob("*.py"), *SOURCE.rglob("*.html"), *(PROJECT / "docs").rglob("*.md"), PROJECT / "README.md"]
    texts = [path for path in texts if path.parent.name != "reference"]  # copies, made by `make docs`
    wrong = [str(path) for path in texts if re.search(r"expected\W+accuracy", path.read_text(encoding="utf-8"), re.I)]
    assert not wrong
