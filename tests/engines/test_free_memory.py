"""What memory is free: the system's, a container's of either kind, and what ``ulimit`` leaves."""

import resource
import subprocess
import sys
from pathlib import Path

import pytest

from faircrowd.engines.free_memory import free_memory

GB = 10**9


def write(root: Path, files: dict[str, str]) -> Path:
    for name, text in {"proc/meminfo": f"MemTotal: 1 kB\nMemAvailable: {8 * GB // 1024} kB\n", **files}.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text, encoding="ascii")
    return root


def group(folder: str, version: int, most: str, used: int, cached: int) -> dict[str, str]:
    most_name, now_name, cached_name = {
        1: ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"),
        2: ("memory.max", "memory.current", "inactive_file"),
    }[version]
    base = {1: "sys/fs/cgroup/memory", 2: "sys/fs/cgroup"}[version] + folder
    stat = f"anon 5\n{cached_name} {cached}\n"
    return {f"{base}/{most_name}": f"{most}\n", f"{base}/{now_name}": f"{used}\n", f"{base}/memory.stat": stat}


def test_the_system_where_nothing_limits(tmp_path: Path) -> None:
    assert free_memory(str(write(tmp_path, {}))) == 8 * GB // 1024 * 1024


@pytest.mark.parametrize(("version", "line"), [(1, "4:memory:/jobs/one\n3:cpu:/"), (2, "0::/jobs/one")])
def test_the_group_of_the_process_and_those_around_it(tmp_path: Path, version: int, line: str) -> None:
    own = group("/jobs/one", version, str(5 * GB), 3 * GB, GB)
    root = write(tmp_path, {"proc/self/cgroup": line + "\n", **own})
    assert free_memory(str(root)) == 3 * GB  # files in memory are given back
    write(tmp_path, group("/jobs", version, str(6 * GB), 5 * GB, GB // 2))
    assert free_memory(str(root)) == GB + GB // 2
    write(tmp_path, group("/jobs", version, str(6 * GB), 7 * GB, 0))
    assert free_memory(str(root)) == 0


def test_a_container_sees_its_group_at_the_top(tmp_path: Path) -> None:
    root = write(tmp_path, {"proc/self/cgroup": "0::/../elsewhere\n", **group("", 2, str(2 * GB), GB, 0)})
    assert free_memory(str(root)) == GB
    write(tmp_path, group("", 2, "max", GB, 0))
    assert free_memory(str(root)) > 7 * GB


@pytest.mark.parametrize("version", [1, 2])
def test_a_group_of_which_little_is_known(tmp_path: Path, version: int) -> None:
    """Without statistics, without the names of groups, and with an inner group that makes no sense."""
    files = group("", version, str(2 * GB), GB, 0)
    root = write(tmp_path, {name: text for name, text in files.items() if not name.endswith("memory.stat")})
    assert free_memory(str(root)) == GB
    line = {1: "4:memory:/one\n", 2: "0::/one\n"}[version]
    write(tmp_path, {"proc/self/cgroup": line, **group("/one", version, "much", GB, 0)})
    assert free_memory(str(root)) == GB


def test_what_cannot_be_read_is_left_out(tmp_path: Path) -> None:
    root = write(tmp_path, {"proc/self/cgroup": "none\n"})
    assert free_memory(str(root)) > 7 * GB
    physical = free_memory(str(tmp_path / "nothing"))
    assert physical == resource.getpagesize() * int(_sysconf("_PHYS_PAGES")) // 2


def _sysconf(name: str) -> str:
    return subprocess.run(["getconf", name], check=True, capture_output=True, text=True).stdout


def test_a_limit_of_the_address_space() -> None:
    code = "import resource; resource.setrlimit(resource.RLIMIT_AS, (3 << 30, 3 << 30)); "
    code += "from faircrowd.engines.free_memory import free_memory; print(free_memory())"
    found = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert 0 < int(found.stdout) < 3 << 30
