"""Kernels are compiled in one way, and nothing calls one from Python that has no entry point for it."""

import ast
import functools
import gc
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest

from faircrowd._kernels import _CollectSeldom
from source_trees import MODULES, SOURCE, tree, walk


def decorated(path: Path, name: str) -> Iterator[ast.FunctionDef]:
    for node in walk(path):
        if isinstance(node, ast.FunctionDef) and name in map(ast.unparse, node.decorator_list):
            yield node


def module(path: Path) -> str:
    return ".".join(("faircrowd", *path.relative_to(SOURCE).with_suffix("").parts))


@functools.cache
def inner_kernels() -> set[tuple[str, str]]:
    """Return the module and name of each; not at import, because every process that runs tests imports this file."""
    return {(module(path), node.name) for path in MODULES for node in decorated(path, "inner_kernel")}


def names_meant(path: Path) -> dict[str, tuple[str, str]]:
    """Return the function that each name of a module stands for."""
    own = {node.name: (module(path), node.name) for node in tree(path).body if isinstance(node, ast.FunctionDef)}
    for node in walk(path):
        if isinstance(node, ast.ImportFrom) and node.module:
            own |= {alias.asname or alias.name: (node.module, alias.name) for alias in node.names}
    return own


def test_there_are_inner_kernels() -> None:
    assert ("faircrowd.fair.thresholds.integer", "_bound") in inner_kernels()


@pytest.mark.parametrize("path", MODULES, ids=lambda path: path.relative_to(SOURCE).as_posix())
def test_inner_kernels_are_called_by_kernels_alone(path: Path) -> None:
    meant = names_meant(path)
    in_kernels = {
        id(node) for name in ("kernel", "inner_kernel") for one in decorated(path, name) for node in ast.walk(one)
    }
    for node in walk(path):
        if isinstance(node, ast.Name) and id(node) not in in_kernels:
            assert meant.get(node.id) not in inner_kernels(), f"{path}:{node.lineno}: Python would crash in {node.id}"


def test_numba_is_called_in_one_place() -> None:
    users = {path.relative_to(SOURCE).as_posix() for path in MODULES if "njit" in path.read_text(encoding="utf-8")}
    assert users == {"_kernels.py"}


@pytest.mark.parametrize("given", [(700, 10, 10), (90_000, 5, 5), (0, 10, 10)])
def test_garbage_is_looked_for_less_often_while_kernels_are_compiled(given: tuple[int, int, int]) -> None:
    """As often as before afterwards; never, if the user has turned it off, and not more often than asked for."""
    listener = _CollectSeldom()

    def event(module: str) -> SimpleNamespace:
        return SimpleNamespace(data={"dispatcher": SimpleNamespace(py_func=SimpleNamespace(__module__=module))})

    ours, theirs = event("faircrowd.exact.sums"), event("numba.np.arrayobj")
    seldom = (0 if given[0] == 0 else max(given[0], 50_000), *given[1:])
    before = gc.get_threshold()
    try:
        gc.set_threshold(*given)
        for change, what, expected in (
            (listener.on_start, theirs, given),
            (listener.on_end, theirs, given),
            (listener.on_start, ours, seldom),
            (listener.on_start, theirs, seldom),
            (listener.on_start, ours, seldom),
            (listener.on_end, ours, seldom),
            (listener.on_end, theirs, seldom),
            (listener.on_end, ours, given),
        ):
            change(what)
            assert gc.get_threshold() == expected
    finally:
        gc.set_threshold(*before)
