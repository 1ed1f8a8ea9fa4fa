"""What the scripts of this folder share: run a target under atheris for some seconds, from its seeds."""

import argparse
import sys
import tempfile
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from pathlib import Path

try:
    import atheris
except ImportError:
    sys.exit("atheris is needed: pip install atheris")

__all__ = ["instrumented", "run"]


def instrumented() -> AbstractContextManager[None]:
    """Watch the modules of faircrowd that are imported in the ``with`` block, except kernels, which numba compiles."""
    source = Path(__file__).parents[2] / "src"
    files = [path for path in source.rglob("*.py") if "import numba" in path.read_text(encoding="utf-8")]
    kernels = [".".join(path.relative_to(source).with_suffix("").parts) for path in files]
    return atheris.instrument_imports(include=["faircrowd"], exclude=kernels)  # type: ignore[no-any-return]


def run(targets: dict[str, Callable[[bytes], None]], seeds: dict[str, Sequence[bytes]]) -> None:
    """Fuzz one target by name until the time is over; an exception that is not faircrowd's ends the run."""
    parser = argparse.ArgumentParser(description="Coverage-guided fuzzing; needs atheris (pip install atheris).")
    parser.add_argument("target", choices=list(targets), help="what to fuzz")
    parser.add_argument("--seconds", type=int, default=60)
    parser.add_argument("--corpus", type=Path, help="a folder to keep the inputs found; by default they are not kept")
    parser.add_argument("--crash", type=Path, help="run only the bytes of this file")
    given = parser.parse_args()
    if given.crash is not None:
        targets[given.target](given.crash.read_bytes())
        return

    with tempfile.TemporaryDirectory() as place:
        corpus = given.corpus or Path(place) / "corpus"
        corpus.mkdir(parents=True, exist_ok=True)
        for number, seed in enumerate(seeds[given.target]):
            (corpus / f"seed-{number}").write_bytes(seed)
        options = [f"-max_total_time={given.seconds}", "-max_len=4096", "-rss_limit_mb=4096", "-timeout=20"]
        options.append(f"-artifact_prefix={tempfile.gettempdir()}/faircrowd-")
        atheris.Setup([sys.argv[0], *options, str(corpus)], targets[given.target])
        atheris.Fuzz()
