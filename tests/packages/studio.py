"""The extra studio: the local web page answers."""

import os
import tempfile
from pathlib import Path

os.environ["NUMBA_DISABLE_JIT"] = "1"
from faircrowd.studio.studio_app import make_app
from faircrowd.studio.studio_server import serve_studio
from faircrowd.studio.workspace import Workspace

with tempfile.TemporaryDirectory() as place:
    assert callable(make_app(Workspace(Path(place)), "token"))
assert callable(serve_studio)
