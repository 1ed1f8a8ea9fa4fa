"""Compare speed and memory with crowd-kit, as ratios in one run; each measurement in a fresh process."""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

MEASURE_FIT = Path(__file__).with_name("measure_fit.py")


def measure(environment: dict[str, str] | None = None, **job: object) -> dict[str, float]:
    done = subprocess.run(
        [sys.executable, str(MEASURE_FIT), json.dumps({"rounds": 20, "classes": 2, **job})],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, **(environment or {})},
    )
    return json.loads(done.stdout.splitlines()[-1])


RESULTS: list[dict[str, object]] = []


def versus(method: str, votes: int, **more: object) -> None:
    """Measure both packages, print one row of the table, and add it to RESULTS."""
    repeat = 3 if votes <= 1_000_000 else 1
    ours = measure(package="faircrowd", method=method, votes=votes, repeat=repeat, **more)
    theirs = measure(package="crowd-kit", method=method, votes=votes, repeat=1, **more)
    RESULTS.append({"method": method, "votes": votes, **more, "faircrowd": ours, "crowd-kit": theirs})
    print(
        f"{method:<18}{votes:>11,}{more.get('classes', 2):>4}{more.get('names', 'numbers'):>9}"
        f"{ours['seconds']:>10.3f}{theirs['seconds']:>10.2f}{theirs['seconds'] / ours['seconds']:>8.1f}"
        f"{ours['peak']:>9.0f}{theirs['peak']:>9.0f}{theirs['peak'] / ours['peak']:>7.1f}"
        f"{ours['extra']:>9.0f}{theirs['extra']:>9.0f}{theirs['extra'] / max(ours['extra'], 1):>7.1f}",
        flush=True,
    )


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--most", type=float, default=1e7, help="largest number of votes (default 1e7)")
    options.add_argument("--save", type=Path, help="write the table as JSON, for figure.py")
    given = options.parse_args()
    most = int(given.most)
    sizes = [size for size in (10_000, 100_000, 1_000_000, 10_000_000) if size <= most]

    print("From data frame to labels, 20 rounds of Dawid-Skene; rows in random order; packages loaded, code compiled.")
    print("peak: MB of the process, with frame and packages; extra: MB that the call adds; x: crowd-kit / ours.")
    print(
        f"{'method':<18}{'votes':>11}{'K':>4}{'ids':>9}{'ours s':>10}{'theirs s':>10}{'x':>8}"
        f"{'peak':>9}{'theirs':>9}{'x':>7}{'extra':>9}{'theirs':>9}{'x':>7}"
    )
    for size in sizes:
        versus("MajorityVote", size)
        versus("DawidSkene", size)
    versus("DawidSkene", min(1_000_000, most), classes=5)
    versus("DawidSkene", min(1_000_000, most), names="text")
    versus("OneCoinDawidSkene", min(10_000, most))
    versus("GLAD", min(10_000, most))

    if given.save:
        given.save.write_text(json.dumps(RESULTS, indent=1) + "\n")

    print("\nGrowth, ours only (seconds per million votes):")
    for method in ("MajorityVote", "DawidSkene"):
        cells = [measure(package="faircrowd", method=method, votes=size, repeat=3)["seconds"] for size in sizes]
        print(f"  {method:<14}" + "".join(f"{s:>12,}: {c / s * 1e6:.3f}" for s, c in zip(sizes, cells, strict=True)))

    print("\nFirst call in a process, 100,000 votes, 20 rounds:")
    with tempfile.TemporaryDirectory() as cache:
        place = {"NUMBA_CACHE_DIR": cache}
        for name in ("compiling", "compiled code on disk"):
            cost = measure(place, package="faircrowd", method="DawidSkene", votes=100_000, first=True)
            print(f"  {name:<24}{cost['seconds']:.2f} s")
    print(f"  {'warm':<24}{measure(package='faircrowd', method='DawidSkene', votes=100_000)['seconds']:.2f} s")
    size = min(1_000_000, most)
    print(f"\nGLAD, {size:,} votes: {measure(package='faircrowd', method='GLAD', votes=size)['seconds']:.1f} s")
    threads = [
        measure({"FAIRCROWD_THREADS": n}, package="faircrowd", method="DawidSkene", votes=size, repeat=3)["seconds"]
        for n in ("1", "2")
    ]
    print(f"Dawid-Skene, {size:,} votes: {threads[0]:.2f} s with one thread, {threads[1]:.2f} s with two")


if __name__ == "__main__":
    main()
