"""Try the same changes in two versions of the code, each with its own tests.

    git worktree add ../before 9f2cf72
    git worktree add ../after 5920a56
    python tests/mutants/paired.py ../before ../after --sample 150 --seed 1

Samples of two versions contain different changes, so their shares differ by chance alone. Here a change is drawn from
those that both versions have, whatever their files are called: the same change of a statement with the same text. What
only one version has is left out. Each version records its own tests, those that its ``tests/mutants/run.py`` lists.
"""

import argparse
import ast
import copy
import math
import os
import random
import runpy
import subprocess
import sys
from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from run import FOLDERS, read_outcomes
from scipy.stats import binomtest

from mutants import Mutant, mutants_of


class Place(NamedTuple):
    """Where a change is: the classes and functions around it, its statement, and the statement's position."""

    owner: str
    text: str
    position: tuple[str, int]


def main() -> None:
    """Run what the command line asks for, and print how the two versions differ."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("before", type=Path, help="the folder of a version")
    parser.add_argument("after", type=Path, help="the folder of the other version")
    parser.add_argument("--sample", type=int, default=150, help="number of pairs to try")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--most", type=float, default=60.0, help="processor seconds of tests for one change")
    parser.add_argument("--folder", type=Path, default=Path("build/paired"), help="where to keep the outcomes")
    given = parser.parse_args()
    trees = [given.before.resolve(), given.after.resolve()]
    folders = [given.folder.resolve() / name for name in ("before", "after")]
    changes = [list(_changes(tree)) for tree in trees]
    pairs = _pairs(*changes)
    print(f"{len(changes[0])} and {len(changes[1])} changes, {len(pairs)} in both", flush=True)
    random.Random(given.seed).shuffle(pairs)  # noqa: S311 - no security involved
    keys = [[mutant.key for mutant in side] for side in zip(*pairs[: given.sample], strict=True)]
    runs = [_start(*one, given.most) for one in zip(trees, folders, keys, strict=True)]
    codes = [run.wait() for run in runs]
    outcomes = [read_outcomes(folder / "outcomes.jsonl") for folder in folders]
    _show(list(zip(*keys, strict=True)), *outcomes)
    sys.exit(max(codes))


def _changes(tree: Path) -> Iterator[tuple[Mutant, Place]]:
    """Yield the changes of a version, with paths relative to it, and their places."""
    for path in sorted(path for folder in FOLDERS for path in (tree / folder).rglob("*.py")):
        statements = list(_statements(ast.parse(path.read_text(encoding="utf-8"))))
        name = path.relative_to(tree).as_posix()
        for mutant in mutants_of(path):
            # A statement comes after those around it.
            at = max(at for at, (first, last, *_) in enumerate(statements) if first <= mutant.line <= last)
            yield mutant._replace(path=name), Place(*statements[at][2:], (name, at))


def _statements(node: ast.AST, owner: str = "") -> Iterator[tuple[int, int, str, str]]:
    """Yield first line, last line, owner, and text without inner statements of all statements."""
    for child in ast.iter_child_nodes(node):
        inner = owner
        if isinstance(child, ast.FunctionDef | ast.ClassDef):
            inner = f"{owner}.{child.name}"
        if isinstance(child, ast.stmt | ast.ExceptHandler):
            first = min([child.lineno, *(given.lineno for given in getattr(child, "decorator_list", []))])
            yield first, child.end_lineno or 0, inner, _text(child)
        yield from _statements(child, inner)


def _text(node: ast.stmt | ast.ExceptHandler) -> str:
    short = copy.copy(node)
    for field in {"body", "orelse", "finalbody", "handlers", "cases"} & set(node._fields):
        setattr(short, field, [])
    return ast.unparse(short)


def _pairs(before: list[tuple[Mutant, Place]], after: list[tuple[Mutant, Place]]) -> list[tuple[Mutant, Mutant]]:
    """Return the changes of both versions: first by owner and text, then, where functions were renamed, by text."""
    ways: list[Callable[[Mutant, Place], Hashable]] = [
        lambda mutant, place: (place.owner, place.text, mutant.operator),
        lambda mutant, place: (place.text, mutant.operator),
    ]
    found: list[tuple[Mutant, Mutant]] = []
    for way in ways:
        groups = []
        for side, changes in enumerate((before, after)):
            paired = {pair[side] for pair in found}
            group = defaultdict(list)
            for mutant, place in changes:
                if mutant not in paired:
                    group[way(mutant, place)].append((mutant, place))
            groups.append(group)
        for key in (key for key in groups[0] if key in groups[1]):
            both = [group[key] for group in groups]
            # Of two statements with the same text it is unknown which is which.
            if all(len({place.position for _, place in one}) == 1 for one in both):
                found += [(one, other) for (one, _), (other, _) in zip(*both, strict=True)]
    return found


def _start(tree: Path, folder: Path, keys: list[str], most: float) -> subprocess.Popen[bytes]:
    """Start to try changes of a version, with the tests that it lists itself."""
    folder.mkdir(parents=True, exist_ok=True)
    changes = folder / "changes.txt"
    changes.write_text("\n".join(keys) + "\n", encoding="utf-8")
    tests = runpy.run_path(str(tree / "tests" / "mutants" / "run.py"))["TESTS"]
    command = [sys.executable, Path(__file__).with_name("run.py"), "--changes", changes, "--folder", folder]
    command += ["--most", str(most), "--processes", "1", "--tests", *tests]
    with (folder / "log.txt").open("ab") as log:
        environment = {**os.environ, "PYTHONPATH": str(tree / "src")}
        return subprocess.Popen(command, cwd=tree, env=environment, stdout=log, stderr=log)


def _show(pairs: list[tuple[str, str]], before: dict[str, Any], after: dict[str, Any]) -> None:
    """Print in which versions changes were noticed, and those that only one version noticed."""
    count: Counter[tuple[bool, bool]] = Counter()
    for keys in pairs:
        if keys[0] not in before or keys[1] not in after:
            continue
        rows = before[keys[0]], after[keys[1]]
        noticed = tuple(row["outcome"] in ("killed", "timeout") for row in rows)
        count[noticed[0], noticed[1]] += 1
        if noticed[0] != noticed[1]:
            print(f"only {'before' if noticed[0] else 'after'}: {keys[0]}:{rows[0]['line']} ({rows[0]['outcome']}),")
            print(f"    {keys[1]}:{rows[1]['line']} ({rows[1]['outcome']}): {rows[1]['change']}")
    both, lost, won, none = (count[pair] for pair in ((True, True), (True, False), (False, True), (False, False)))
    total = max(count.total(), 1)
    print(f"{count.total()} pairs: noticed by both {both}, only before {lost}, only after {won}, by none {none}")
    spread = 1.96 * math.sqrt(lost + won - (lost - won) ** 2 / total) / total
    p = binomtest(lost, lost + won).pvalue if lost + won else 1.0
    print(f"after - before: {(won - lost) / total:+.1%} +- {spread:.1%}; McNemar's exact test: p = {p:.3f}")


if __name__ == "__main__":
    main()
