"""Build the wheel and the sdist, look whether they are complete, and use them in empty environments, one per extra.

Each extra has a program in tests/packages that uses what it installs; bare.py uses faircrowd alone, and looks whether
it says what to install for the rest.
"""

import argparse
import os
import subprocess
import sys
import tarfile
import tempfile
import time
import tomllib
import zipfile
from email import message_from_bytes
from pathlib import Path

PROJECT = Path(__file__).parent.parent
PROGRAMS = PROJECT / "tests" / "packages"
BARE = "bare"
TOGETHER = ("all",)
"""Extras that only name others."""


def main() -> int:
    """Build, check and try; return 1 if something is wrong."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--python", default=sys.executable, help="the Python of the empty environments")
    parser.add_argument("--uv", default="uv")
    parser.add_argument("--dist", type=Path, help="a folder with a wheel and an sdist that were built before")
    parser.add_argument("extras", nargs="*", help="by default all, and faircrowd alone (bare)")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="packages-of-faircrowd-") as name:
        place = Path(name)
        dist = given.dist or place / "dist"
        if given.dist is None:  # the wheel is built from the sdist
            run([given.uv, "build", "--quiet", "--out-dir", dist, PROJECT])
        (wheel,), (sdist,) = dist.glob("*.whl"), dist.glob("*.tar.gz")
        problems = [*missing_files(wheel, sdist), *metadata_problems(wheel)]
        if not given.extras:
            problems += tests_in(sdist, place / "sdist")
        for extra in given.extras or (BARE, *extras()):
            problems += try_extra(extra, wheel, place / "environment", given.uv, given.python)
        print(f"{wheel.name} ({wheel.stat().st_size:,} bytes), {sdist.name} ({sdist.stat().st_size:,} bytes)")
    for problem in problems:
        print("wrong:", problem)
    return int(bool(problems))


def extras() -> list[str]:
    """Return the extras that install packages of their own."""
    found = tomllib.loads((PROJECT / "pyproject.toml").read_text(encoding="utf-8"))
    return [name for name in found["project"]["optional-dependencies"] if name not in TOGETHER]


def missing_files(wheel: Path, sdist: Path) -> list[str]:
    """Compare the archives with the files that git knows; without git there is nothing to compare with."""
    listed = subprocess.run(["git", "-C", PROJECT, "ls-files"], capture_output=True, text=True, check=False)  # noqa: S607
    if listed.returncode:
        print("not compared with git: this is no clone")
        return []
    known = {name for name in listed.stdout.splitlines() if (PROJECT / name).is_file()}
    with tarfile.open(sdist) as archive:
        in_sdist = {name.partition("/")[2] for name in archive.getnames()}
    with zipfile.ZipFile(wheel) as packed:
        in_wheel = {name for name in packed.namelist() if ".dist-info/" not in name}
    sources = {name.removeprefix("src/") for name in known if name.startswith("src/")}
    built = {name for name in in_wheel if name.endswith((".pyc", ".nbi", ".nbc"))}
    return [
        *(f"the sdist lacks {name}" for name in sorted(known - in_sdist)),
        *(f"the wheel lacks {name}" for name in sorted(sources - in_wheel)),
        *(f"the wheel has {name}" for name in sorted(built)),
    ]


def metadata_problems(wheel: Path) -> list[str]:
    """Return what the wheel does not say about itself."""
    with zipfile.ZipFile(wheel) as packed:
        found = {name.rpartition("/")[2]: packed.read(name) for name in packed.namelist() if ".dist-info/" in name}
    said = message_from_bytes(found["METADATA"])
    wanted = ("Author", "Classifier", "Keywords", "License-Expression", "Project-URL", "Requires-Python", "Summary")
    problems = [f"the wheel says no {name}" for name in wanted if not said[name]]
    return problems + (["the wheel has no LICENSE"] if "LICENSE" not in found else [])


def tests_in(sdist: Path, place: Path) -> list[str]:
    """Run a few tests of the sdist by itself."""
    with tarfile.open(sdist) as archive:
        archive.extractall(place, filter="data")
    (folder,) = place.iterdir()
    own = {**os.environ, "PYTHONPATH": str(folder / "src"), "PYTHONDONTWRITEBYTECODE": "1"}
    command = [sys.executable, "-m", "pytest", "tests/test_tree.py", "-k", "folder or name"]
    done = subprocess.run(command, cwd=folder, env=own, capture_output=True, text=True, check=False)
    return [f"tests of the sdist fail: {done.stdout[-2000:]}{done.stderr[-2000:]}"] if done.returncode else []


def try_extra(extra: str, wheel: Path, place: Path, uv: str, python: str) -> list[str]:
    """Install the wheel with an extra, and nothing else, and run its program in an empty folder.

    The environment is emptied of what another extra needed, rather than made anew: that takes seconds, and so does
    compiling packages again.
    """
    program = PROGRAMS / f"{extra}.py"
    if not program.is_file():
        return [f"no program {program} tries the extra {extra}"]
    started = time.perf_counter()
    what = str(wheel) if extra == BARE else f"{wheel}[{extra}]"
    if not place.exists():
        run([uv, "venv", "--quiet", "--python", python, place])
    # Spark has no wheel: what uv has built before is taken from its cache, if all that is needed is there.
    install = [uv, "pip", "install", "--quiet", "--exact", "--link-mode", "symlink", "--python", str(place), what]
    if subprocess.run([*install, "--offline"], capture_output=True, check=False).returncode:
        run([*install])
    installed = time.perf_counter()
    work = place / "work" / extra
    work.mkdir(parents=True)
    binaries = place / ("Scripts" if os.name == "nt" else "bin")
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "VIRTUAL_ENV"))}
    clean |= {"PATH": f"{binaries}{os.pathsep}{os.environ['PATH']}", "OPENBLAS_NUM_THREADS": "1"}
    clean["PYTHONWARNINGS"] = "ignore"  # of integers that overflow on purpose, where kernels are plain Python
    command = [binaries / "python", "-P", program]  # its neighbours have names of packages
    done = subprocess.run(command, cwd=work, env=clean, capture_output=True, text=True, check=False)
    ended = time.perf_counter()
    print(f"{extra}: installed in {installed - started:.1f} s, tried in {ended - installed:.1f} s", flush=True)
    return [f"{extra}:\n{done.stdout[-3000:]}{done.stderr[-3000:]}"] if done.returncode else []


def run(command: list[object]) -> None:
    """Run a command that has to succeed."""
    subprocess.run([str(word) for word in command], check=True)


if __name__ == "__main__":
    sys.exit(main())
