"""Look whether everything is filled in that a release needs: the version, its date, and the project's addresses."""

import argparse
import re
import sys
import tomllib
from pathlib import Path

PROJECT = Path(__file__).parent.parent


def main() -> int:
    """Print what is missing; return 1 if something is."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tag", help="the tag of the release, such as v0.1.0")
    problems = missing(parser.parse_args().tag)
    for problem in problems:
        print(f"not ready: {problem}")
    return int(bool(problems))


def missing(tag: str | None, project: Path = PROJECT) -> list[str]:
    """Return what is missing for a release."""
    said = tomllib.loads((project / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    version = said["version"]
    found = [
        f"[project.urls] of pyproject.toml: {name} is {url}, which stands for an address that is not known yet"
        for name, url in said["urls"].items()
        if re.match(r"https://[^/]+\.example(/|$)", url)
    ]
    if tag is not None and tag != f"v{version}":
        found.append(f"the tag is {tag}, the version in pyproject.toml is {version}")
    for name, pattern in {
        "src/faircrowd/__init__.py": rf'^__version__ = "{re.escape(version)}"$',
        "CITATION.cff": rf"^version: {re.escape(version)}$",
        "CHANGELOG.md": rf"^## {re.escape(version)} \(\d{{4}}-\d\d-\d\d\)$",
    }.items():
        if not re.search(pattern, (project / name).read_text(encoding="utf-8"), re.MULTILINE):
            found.append(f"{name} does not say version {version}" + (" with its date" if "LOG" in name else ""))
    return found


if __name__ == "__main__":
    sys.exit(main())
