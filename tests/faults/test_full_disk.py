"""No space or no permission to write: exit code 2, one sentence, the old files intact, and nothing else left."""

import errno
import os
import shutil
import subprocess
from collections.abc import Callable, Iterator

import pytest

from faults.conftest import COMMANDS, Faults
from faults.moments import tree

Outputs = Callable[[dict[str, str]], tuple[dict[str, str], list[str]]]


def check(answer: dict, old: dict[str, str], outputs: Outputs, words: str) -> None:
    assert answer["code"] == 2, answer
    assert answer["err"].startswith("faircrowd: ")
    assert words in answer["err"]
    assert answer["err"].count("\n") == 1
    files, litter = outputs(answer["tree"])
    assert litter == []
    files.pop("checkpoint.npz", None)
    assert files == old


@pytest.mark.parametrize("name", COMMANDS)
def test_from_any_moment_on(name: str, faults: Faults, outputs: Outputs) -> None:
    old, moments = tree(faults.whole(name, 1)), faults.moments(name)
    change = moments["exchange"] or moments["moved"]
    for error, at in (("EROFS", 1), ("EACCES", 2), ("ENOSPC", change // 2)):
        answer = faults(faults.command(name, 2), fault=error, at=at, start=str(faults.whole(name, 1)))
        check(answer, old, outputs, os.strerror(getattr(errno, error)))


@pytest.mark.parametrize("name", COMMANDS)
def test_files_may_not_grow(name: str, faults: Faults, outputs: Outputs) -> None:
    old = tree(faults.whole(name, 1))
    answer = faults(faults.command(name, 2), file_size=1000, start=str(faults.whole(name, 1)))
    check(answer, old, outputs, os.strerror(errno.EFBIG))


@pytest.fixture(scope="module")
def small(faults: Faults) -> Iterator[Callable[[int], None]]:
    """A file system of a chosen size, mounted where the runs write."""

    def mount(*options: str) -> bool:
        command = ["mount", *options, "-t", "tmpfs", "none", str(faults.place)]
        return shutil.which("mount") is not None and subprocess.run(command, capture_output=True).returncode == 0

    if not mount("-o", "size=4m"):
        pytest.skip("a small file system cannot be mounted by this user")
    yield lambda kilobytes: assert_(mount("-o", f"remount,size={kilobytes}k"))
    subprocess.run(["umount", str(faults.place)], check=True)


def assert_(done: bool) -> None:
    assert done


@pytest.mark.parametrize("name", COMMANDS)
def test_a_disk_that_is_full(name: str, faults: Faults, outputs: Outputs, small: Callable[[int], None]) -> None:
    small(8192)
    old, new = faults.whole(name, 1), tree(faults.whole(name, 2))
    used = sum(-(-path.stat().st_size // 4096) * 4 for path in old.iterdir())
    codes = set()
    for spare in (0, 12, 4096):
        small(8192)
        shutil.rmtree(faults.place / "out", ignore_errors=True)
        answer = faults(["--version"], start=str(old))
        small(used + spare)
        answer = faults(faults.command(name, 2), keep=True)
        codes.add(answer["code"])
        if answer["code"] == 0:
            assert outputs(answer["tree"]) == (new, [])
        else:
            check(answer, tree(old), outputs, "No space left on device")
    assert codes == {0, 2}
    small(8192)
