"""A process of the command line imports less, and leaves its garbage to the system."""

import subprocess
import sys

SCRIPT = """
import gc, sys
from faircrowd.cli.quick_process import begin_quickly, end_quickly
begin_quickly()
import pyarrow as pa, scipy.special
pa.table({"a": [1]})
print("pandas" in sys.modules, "numpy.f2py.f2py2e" in sys.modules)
gc.collect()
before = gc.get_freeze_count()
end_quickly()
print(before == 0, gc.get_freeze_count() > 10_000)
import pandas
print(pandas.DataFrame({"a": [1]}).a.sum())
"""


def test_what_a_process_is_spared() -> None:
    done = subprocess.run([sys.executable, "-c", SCRIPT], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False", "False", "True", "True", "1"]
