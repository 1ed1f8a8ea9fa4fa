"""The tree is the architecture: a stage imports only from stages to its left, heavy libraries only at home."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

SOURCE = Path(__file__).parent.parent / "src" / "faircrowd"
ROAD = ("votes", "engines", "aggregate", "fair", "audit", "report", "runs", "cli")
EVERYWHERE = ("errors", "_checks", "_params", "_steps", "_types", "exact", "storage")
BESIDE = ("baselines", "experiments", "datasets")
"""What the paper compares with, its figures, and the data sets' front door: the command line alone reaches there."""
FACADES = {"fair/estimator.py": "runs"}
"""``FairCrowd.write``, ``report`` and ``summary`` hand a fitted estimator to the run, which is to its right."""
# A library may be imported only below these folders (or in these files).
HOMES = {
    "pandas": ("votes/style.py",),
    "narwhals": ("_types.py", "votes", "aggregate/initial_error.py"),
    "polars": (),
    "typer": ("cli",),
    "rich": ("cli",),
    "vl_convert": ("report",),
    "pooch": ("datasets/download.py",),
    "jinja2": ("report",),
    "pyspark": ("engines/spark/",),
    "duckdb": ("engines",),
}
MODULES = sorted(SOURCE.rglob("*.py"))


def imports(path: Path) -> list[tuple[int, str]]:
    found = []
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found += [(node.lineno, alias.name) for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}:{node.lineno}: imports are absolute here"
            found.append((node.lineno, node.module or ""))
    return found


def stage(path: Path) -> str:
    return path.relative_to(SOURCE).parts[0]


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_imports_go_one_way(path: Path) -> None:
    own = stage(path)
    for line, name in imports(path):
        parts = name.split(".")
        if parts[0] != "faircrowd" or len(parts) == 1 or parts[1] in EVERYWHERE:
            continue
        assert own.removesuffix(".py") not in EVERYWHERE, f"{path}:{line}: {own} may import nothing but {EVERYWHERE}"
        if parts[1] in BESIDE:
            assert own in ("cli", *BESIDE), f"{path}:{line}: {own} is on the road, {name} stands beside it"
            continue
        if own in ROAD and parts[1] != FACADES.get(path.relative_to(SOURCE).as_posix()):
            assert ROAD.index(parts[1]) <= ROAD.index(own), (
                f"{path}:{line}: {own} imports {name}, which is to its right"
            )


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_heavy_libraries_stay_at_home(path: Path) -> None:
    place = path.relative_to(SOURCE).as_posix()
    for line, name in imports(path):
        home = HOMES.get(name.split(".")[0])
        if home is not None:
            assert place.startswith(home), f"{path}:{line}: {name} may only be imported in {home}"


def test_every_stage_is_on_the_road() -> None:
    folders = {path.name for path in SOURCE.iterdir() if path.is_dir() and path.name != "__pycache__"}
    assert folders <= {*ROAD, *BESIDE, *EVERYWHERE}


@pytest.mark.parametrize(("folder", "other"), [("thresholds", "program"), ("program", "thresholds")])
def test_the_two_solvers_do_not_import_each_other(folder: str, other: str) -> None:
    found = [name for path in (SOURCE / "fair" / folder).rglob("*.py") for _, name in imports(path)]
    assert any(name.startswith(f"faircrowd.fair.{folder}.") for name in found)
    assert not [name for name in found if name.startswith(f"faircrowd.fair.{other}")]


def test_importing_the_fair_rule_does_not_import_spark() -> None:
    code = "import sys; from faircrowd.fair import Margin, apply_rule, margin_for; print('pyspark' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "False\n"


def test_importing_the_package_is_light() -> None:
    code = "import faircrowd, sys; print(sorted({name.split('.')[0] for name in sys.modules}))"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    for heavy in ("numpy", "numba", "pyarrow", "pandas", "scipy", "narwhals", "rich", "typer"):
        assert f"'{heavy}'" not in loaded


def test_public_names_exist() -> None:
    import faircrowd

    for name in faircrowd.__all__:
        assert getattr(faircrowd, name) is not None
    assert set(faircrowd.__all__) <= set(dir(faircrowd))
    with pytest.raises(AttributeError, match="no attribute 'Nonsense'"):
        faircrowd.Nonsense  # noqa: B018
