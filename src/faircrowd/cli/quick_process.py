"""What makes a process of the command line begin and end sooner: less to import, and less looking for garbage."""

import gc
import sys
from importlib.machinery import ModuleSpec
from types import ModuleType

__all__ = ["begin_quickly", "end_quickly"]

_OBJECTS_PER_SEARCH = 50_000
"""How many new objects Python waits for until it looks for garbage among them; 700 by default.

Most objects of a command belong to modules and to kernels, and live as long as it does.
"""


def begin_quickly() -> None:
    """Keep out what libraries would import and nobody needs here, and look for garbage less often."""
    gc.set_threshold(_OBJECTS_PER_SEARCH)
    _keep_pandas_out()
    sys.meta_path.insert(0, _EmptyF2py())


def end_quickly() -> None:
    """Spare Python its last search for garbage, through all modules, whose memory the system frees anyway.

    Only DuckDB misses it: it counts its objects at the end, and prints those that were never freed.
    """
    if "duckdb" not in sys.modules:
        gc.freeze()


class _EmptyF2py:
    """Finds an empty module for numpy.f2py: scipy copies all names of numpy and so loads this compiler, unused."""

    def find_spec(self, name: str, path: object = None, target: object = None) -> ModuleSpec | None:
        return ModuleSpec(name, self) if name == "numpy.f2py" else None  # type: ignore[arg-type]

    def create_module(self, spec: ModuleSpec) -> None:
        """Let Python create the module as usual."""

    def exec_module(self, module: ModuleType) -> None:
        """Leave the module empty."""


class _NoPandas:
    """Finds no pandas, as if it were not installed."""

    def find_spec(self, name: str, path: object = None, target: object = None) -> None:
        if name == "pandas":
            raise ModuleNotFoundError("pandas is not needed here", name=name)


def _keep_pandas_out() -> None:
    """Let pyarrow do without pandas, which it otherwise imports with its first array: a third of a small job's imports.

    It tries to import pandas once, and here does not find it. Commands, unlike Python programs, never give it a frame
    of pandas. Whatever imports pandas afterwards gets it.
    """
    if "pandas" in sys.modules:
        return
    import pyarrow as pa

    finder = _NoPandas()
    sys.meta_path.insert(0, finder)
    try:
        pa.array([0])
        pa.scalar(0)
    finally:
        sys.meta_path.remove(finder)
