"""Fixtures that many tests share."""

import os
from pathlib import Path

import pytest
from hypothesis import settings

# Kernels compile on their first call, so no example has a deadline; where CI is set, a run can be repeated exactly.
settings.register_profile("faircrowd", deadline=None, derandomize=bool(os.environ.get("CI")))
settings.load_profile("faircrowd")


@pytest.fixture(scope="session")
def data_folder() -> Path:
    """The folder of real crowds, beside the project or FAIRCROWD_TEST_DATA; without it, tests that read it say so.

    Where CI is set its absence is a failure, not a skip.
    """
    beside = Path(__file__).parents[2] / "shared" / "data"
    folder = Path(os.environ.get("FAIRCROWD_TEST_DATA", beside))
    if not (folder / "accuracy").is_dir():
        message = f"no real crowds at {folder}; set FAIRCROWD_TEST_DATA to a folder that has them"
        if os.environ.get("CI"):
            pytest.fail(message)
        pytest.skip(message)
    return folder
