"""The syntax trees of the package's modules, each parsed once for all tests that look at them."""

import ast
import functools
from pathlib import Path

__all__ = ["MODULES", "SOURCE", "tree", "walk"]

SOURCE = Path(__file__).parent.parent / "src" / "faircrowd"
MODULES = sorted(SOURCE.rglob("*.py"))


@functools.cache
def tree(path: Path) -> ast.Module:
    """Return the syntax tree of a module."""
    return ast.parse(path.read_text(encoding="utf-8"))


@functools.cache
def walk(path: Path) -> tuple[ast.AST, ...]:
    """Return every node of the syntax tree of a module."""
    return tuple(ast.walk(tree(path)))
