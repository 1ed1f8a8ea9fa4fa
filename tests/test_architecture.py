"""The tree is the architecture: a stage imports only from stages to its left, heavy libraries only at home."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

from source_trees import MODULES, SOURCE, walk

ROAD = ("votes", "engines", "aggregate", "fair", "audit", "report", "runs", "publish", "serve", "studio", "cli")
EVERYWHERE = (
    "errors",
    "_checks",
    "_compiling",
    "_display",
    "_extras",
    "_kernels",
    "_keywords",
    "_params",
    "_searches",
    "_steps",
    "_threads",
    "_types",
    "exact",
    "storage",
)
BESIDE = ("baselines", "experiments", "datasets")
"""What the paper compares with, its figures, and the data sets' front door: the command line alone reaches there."""
FACADES = {"fair/estimator.py": "runs", "_display.py": "report"}
"""``FairCrowd.write``, ``report``, ``plot`` hand a fitted estimator to the run, which is to its right. Results
hand themselves to the cards, charts and frames of notebooks by ``_display``. Both import these when they are called."""
# A library may be imported only below these folders (or in these files).
HOMES = {
    "pandas": ("votes/style.py",),
    "narwhals": ("_types.py", "votes", "aggregate/initial_error.py"),
    "polars": (),
    "typer": ("cli",),
    "rich": ("cli",),
    "vl_convert": ("report",),
    "pooch": ("datasets/download.py",),
    "jinja2": ("report", "studio"),
    "starlette": ("studio",),
    "uvicorn": ("studio",),
    "pyspark": ("engines/spark/",),
    "duckdb": ("engines",),
    "sklearn": ("_params.py", "fair/classifier/"),
    "mlflow": ("publish/mlflow_log.py",),
    "threadpoolctl": ("exact/quasi_newton.py",),
}


def imports(path: Path) -> list[tuple[int, str]]:
    found = []
    for node in walk(path):
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
        facade = FACADES.get(path.relative_to(SOURCE).as_posix())
        if parts[1] == facade:
            continue
        assert own.removesuffix(".py") not in EVERYWHERE, f"{path}:{line}: {own} may import nothing but {EVERYWHERE}"
        if parts[1] in BESIDE:
            assert own in ("cli", *BESIDE), f"{path}:{line}: {own} is on the road, {name} stands beside it"
            continue
        if own in ROAD:
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


def test_scikit_learn_is_imported_only_where_it_is_asked_for() -> None:
    code = (
        "import sys, faircrowd as fc; from faircrowd.fair import FairResult; from faircrowd.baselines import PostTD; "
        "fc.FairCrowd(fc.DawidSkene()).set_params(estimator__n_iter=3).get_params(); print('sklearn' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "False\n"


def test_importing_the_package_is_light() -> None:
    code = "import faircrowd, sys; print(sorted({name.split('.')[0] for name in sys.modules}))"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    for heavy in ("numpy", "numba", "pyarrow", "pandas", "scipy", "narwhals", "rich", "typer", "sklearn"):
        assert f"'{heavy}'" not in loaded


def test_the_help_of_the_command_line_is_light() -> None:
    code = "import faircrowd.cli.app, sys; print(sorted({name.split('.')[0] for name in sys.modules}))"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    for heavy in ("numpy", "numba", "pyarrow", "pandas", "scipy", "narwhals", "jinja2"):
        assert f"'{heavy}'" not in loaded


def test_a_run_does_not_wait_for_scipys_distributions() -> None:
    code = "import faircrowd.runs.write, faircrowd.runs.fit, sys; print('scipy.stats' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "False\n"


def test_public_names_exist() -> None:
    import faircrowd

    for name in faircrowd.__all__:
        assert getattr(faircrowd, name) is not None
    assert set(faircrowd.__all__) <= set(dir(faircrowd))
    with pytest.raises(AttributeError, match="no attribute 'Nonsense'"):
        faircrowd.Nonsense  # noqa: B018


def test_a_command_does_without_pandas_and_whoever_needs_it_later_has_it(tmp_path: Path) -> None:
    votes = tmp_path / "votes.csv"
    votes.write_text("task,worker,label\n" + "".join(f"t{i},w{i % 3},{i % 2}\n" for i in range(30)))
    arguments = ["faircrowd", "aggregate", str(votes), "--out", str(tmp_path / "out"), "--method", "majority"]
    code = (
        f"import sys\nfrom faircrowd.cli import main\nsys.argv = {arguments!r}\n"
        "try:\n    main()\nexcept SystemExit as done:\n    print(done.code, 'pandas' in sys.modules)\n"
        "import pyarrow\nprint(pyarrow.table({'x': [1]}).to_pandas().shape)\n"
    )
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert said.splitlines()[-2:] == ["0 False", "(1, 1)"]
