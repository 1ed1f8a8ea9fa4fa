"""How fast the studio's sliders answer at a million tasks, and how long their stops take to be computed before.

Prints the seconds of each job, how long a slider takes to show the price of a stop (``performance.now()`` in Chromium,
from the event until the page is laid out; the slowest of all stops), and how much longer computing that stop takes.

    python benchmarks/studio_prices.py --tasks 1e6
"""

import argparse
import json
import tempfile
import time
from pathlib import Path

from studio_walk import Walk, crowd_files

_MOVE = """
const done = arguments[arguments.length - 1], took = [];
for (const slider of document.querySelectorAll("[data-slider] input")) {
  const start = slider.value;
  for (let at = 0; at <= Number(slider.max); at++) {
    slider.value = at;
    const before = performance.now();
    slider.dispatchEvent(new Event("input"));
    document.body.getBoundingClientRect();
    took.push(performance.now() - before);
  }
  slider.value = start;
  slider.dispatchEvent(new Event("input"));
}
done(took);
"""


def _timed(walk: Walk, button: str, there: str, sliders: int | None = None) -> float:
    start = time.perf_counter()
    walk.press(button)
    walk.at(there)
    if sliders is not None:
        walk.until("document.querySelectorAll('[data-slider]').length === arguments[0]", sliders)
    return time.perf_counter() - start


def _slider(walk: Walk, seconds: float, what: str) -> None:
    took = walk.driver.execute_async_script(_MOVE)
    sliders = json.loads(walk.js("return document.querySelector('#sliders').textContent"))
    stops = sum(len(slider["stops"]) for slider in sliders)
    each = 1000 * seconds / stops
    print(
        f"{what:38} {seconds:7.1f} s for {stops} stops; a slider answers in at most {max(took):.1f} ms, "
        f"{each / max(took):,.0f} times faster than one stop is computed ({each:,.0f} ms)",
        flush=True,
    )


def main() -> None:
    """Make a crowd, and ask the studio what limits cost."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tasks", type=float, default=1e6)
    n_tasks = int(parser.parse_args().tasks)
    with tempfile.TemporaryDirectory() as place:
        files = crowd_files(Path(place), n_tasks)
        with Walk(Path(place, "studio")) as walk:
            walk.driver.get(walk.url)
            walk.choose(files)
            print(f"{n_tasks:,} tasks, 5 votes each", flush=True)
            print(f"{'read':38} {_timed(walk, 'Read the files', '/data/'):7.1f} s", flush=True)
            _slider(walk, _timed(walk, "Next: how far", "/prices/"), "method, and the stops of the gap")
            walk.set("#kind", "changed <=")
            _slider(walk, _timed(walk, "Add it", "/prices/", 2), "the same with two constraints")
            print(f"{'labels and all files of the run':38} {_timed(walk, 'Make labels with', '/runs/'):7.1f} s")


if __name__ == "__main__":
    main()
