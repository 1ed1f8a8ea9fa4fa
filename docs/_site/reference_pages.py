"""Pages that are made from the package itself: one for each public module, one for the command line, and two copies.

They are written to ``docs/reference`` before Sphinx looks for its pages, so that no name and no option can be missing.
"""

import ast
import importlib.util
import inspect
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.nodes import make_refnode

PUBLIC = (
    "faircrowd",
    "faircrowd.aggregate",
    "faircrowd.fair",
    "faircrowd.constraints",
    "faircrowd.audit",
    "faircrowd.audit.theory",
    "faircrowd.votes",
    "faircrowd.datasets",
    "faircrowd.engines",
    "faircrowd.baselines",
    "faircrowd.errors",
)
"""The modules whose ``__all__`` is public; a name is described on the first of these pages that has it."""

ABOUT = {
    "faircrowd": "What most programs need: `from faircrowd import FairCrowd`.",
    "faircrowd.aggregate": "From votes to one probable label per task, without groups.",
    "faircrowd.fair": "Fair labels, their certificate, their rule for new tasks, and what another epsilon would cost.",
    "faircrowd.constraints": "What labels can be asked to keep.",
    "faircrowd.audit": "How labels and workers treat groups, and how certain that is.",
    "faircrowd.audit.theory": "The paper's theorems as functions.",
    "faircrowd.votes": "Votes, read and checked.",
    "faircrowd.datasets": "The paper's crowds, and tables of your own.",
    "faircrowd.engines": "Votes on disk and in Spark.",
    "faircrowd.baselines": "Other methods, to compare with.",
    "faircrowd.errors": "Errors and warnings.",
}

ROOT = Path(__file__).parents[2]


def public_names() -> dict[str, tuple[str, Any]]:
    """Every public name: where it is described, and the object."""
    found: dict[str, tuple[str, Any]] = {}
    for module in PUBLIC:
        loaded = importlib.import_module(module)
        for name in loaded.__all__:
            found.setdefault(name, (module, getattr(loaded, name)))
    return found


def _module_page(module: str) -> Iterator[str]:
    own = sorted(importlib.import_module(module).__all__, key=str.lower)
    yield from (module, "=" * len(module), "", ABOUT[module].replace("`", "``"), "")
    yield from (".. autosummary::", "   :nosignatures:", "")
    yield from (f"   ~{_NAMES[name][0]}.{name}" for name in own)
    yield from ("", f".. py:module:: {module}")
    for name in own:
        home, value = _NAMES[name]
        if home == module:
            kind = "autofunction"
            if inspect.isclass(value):
                kind = "autoexception" if issubclass(value, BaseException) else "autoclass"
            yield from ("", f".. {kind}:: {module}.{name}")
            if kind == "autoexception":
                yield from ("   :no-members:", "   :show-inheritance:")
    yield ""


def _commands_page() -> Iterator[str]:
    from typer.main import get_command

    from faircrowd.cli.app import app

    group: Any = get_command(app)
    yield from ("# Commands", "", "Every command and option, as `faircrowd COMMAND --help` prints them.", "")
    for name, command in group.commands.items():
        context = type(command).context_class(command, info_name=f"faircrowd {name}")
        usage = " ".join([f"faircrowd {name}", *command.collect_usage_pieces(context)])
        yield from (f"## {name}", "", command.help or "", "", "```sh", usage, "```", "")
        rows = [row for item in command.get_params(context) if (row := item.get_help_record(context)) is not None]
        yield from ("| option | |", "|---|---|")
        for option, text in rows:
            said = text.replace("*", r"\*").replace("|", r"\|")
            yield f"| `{option}` | {said} |"
        yield ""


def _copy(name: str) -> str:
    """A page at the root of the project, with its links as they are seen from docs/reference."""
    text = (ROOT / name).read_text(encoding="utf-8")
    for there, here in (
        ("](docs/decisions/)", "](../decisions/index.rst)"),
        ("](docs/README.md", "](../index.rst"),
        ("](docs/", "](../"),
        ("](CONTRIBUTING.md", "](contributing.md"),
        ("](CHANGELOG.md", "](changelog.md"),
    ):
        text = text.replace(there, here)
    return text


def _linked(text: str, up: str = "") -> str:
    """A page of docs whose links to the root of the project go to the copies."""
    for name in ("CONTRIBUTING.md", "CHANGELOG.md"):
        text = text.replace(f"]({up}../{name}", f"]({up}reference/{name.lower()}")
    return text.replace("](decisions/)", "](decisions/index.rst)")


def write_pages(app: Sphinx) -> None:
    """Write all pages; a page that has not changed keeps its time, so that a second build is quick."""
    folder = Path(app.srcdir) / "reference"
    texts = {f"{module}.rst": "\n".join(_module_page(module)) for module in PUBLIC}
    texts["commands.md"] = "\n".join(_commands_page())
    texts["contributing.md"], texts["changelog.md"] = _copy("CONTRIBUTING.md"), _copy("CHANGELOG.md")
    texts["front.txt"] = _linked((ROOT / "docs" / "README.md").read_text(encoding="utf-8"))
    folder.mkdir(exist_ok=True)
    for old in folder.iterdir():
        if old.name not in texts:
            old.unlink()
    for name, text in texts.items():
        path = folder / name
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")


def link_roots(app: Sphinx, docname: str, content: list[str]) -> None:
    """Point links to the pages at the root of the project to their copies."""
    if not docname.startswith("reference/"):
        content[0] = _linked(content[0], "../" * docname.count("/"))


def find_name(app: Sphinx, env: Any, node: Any, contnode: nodes.Element) -> nodes.Element | None:
    """Link a name of a docstring to where it is described; what is internal stays text, what does not exist warns."""
    target = str(node.get("reftarget", ""))
    parts, described = target.split("."), env.get_domain("py").objects
    for at in range(len(parts) - 1, -1, -1):  # DawidSkene.fit: the method or, if it has no entry, the class
        if parts[at] in _NAMES and (at == 0 or parts[0] == "faircrowd"):
            where = ".".join([_NAMES[parts[at]][0], *parts[at:]])
            found = described.get(where) or described.get(where.rpartition(".")[0])
            if found is not None:
                return make_refnode(app.builder, node["refdoc"], found.docname, found.node_id, contnode, target)
    return contnode if parts[-1] in _INTERNAL or _is_module(target) else None


def _is_module(name: str) -> bool:
    try:
        return name.startswith("faircrowd.") and importlib.util.find_spec(name) is not None
    except ModuleNotFoundError:
        return False


def _internal_names() -> set[str]:
    """Every name that some module of the package defines."""
    found: set[str] = set()
    for path in (ROOT / "src" / "faircrowd").rglob("*.py"):
        for item in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(item, ast.FunctionDef | ast.ClassDef):
                found.add(item.name)
            elif isinstance(item, ast.Name) and isinstance(item.ctx, ast.Store):
                found.add(item.id)
    return found


_NAMES, _INTERNAL = public_names(), _internal_names()


def skip_foreign(app: Sphinx, what: str, name: str, value: Any, skip: bool, options: Any) -> bool | None:
    """Leave out what classes inherit from other packages, whose documentation describes it."""
    home = getattr(value, "__module__", None)
    return True if isinstance(home, str) and inspect.isroutine(value) and not home.startswith("faircrowd") else None


def setup(app: Sphinx) -> dict[str, bool]:
    """Write the pages before Sphinx looks for them, and resolve links."""
    app.connect("builder-inited", write_pages, priority=100)
    app.connect("source-read", link_roots)
    app.connect("missing-reference", find_name)
    app.connect("autodoc-skip-member", skip_foreign)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
