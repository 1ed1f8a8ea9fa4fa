"""A standalone cluster and a Spark Connect server on this machine give the bits of memory, also when a worker dies."""

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from crowds import simulated
from engines.spark.spark_session import ENVIRONMENT as OURS
from engines.spark.spark_session import QUICK
from faircrowd import DawidSkene, FairCrowd

pyspark = pytest.importorskip("pyspark")
HOME = Path(pyspark.__file__).parent
ENVIRONMENT = os.environ | OURS | {"SPARK_HOME": str(HOME), "SPARK_DAEMON_JAVA_OPTS": QUICK}
CROWD = simulated(n_tasks=400, n_workers=15, seed=8)
VOTES = CROWD.votes.assign(group=CROWD.votes["task"].map(CROWD.groups))


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("votes") / "votes.parquet"
    VOTES.sample(frac=1, random_state=1).to_parquet(path, index=False)
    return path


@pytest.fixture(scope="module")
def servers(java: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """Start programs of Spark; all of them are ended by their process id."""
    running: list[subprocess.Popen[bytes]] = []
    folder = tmp_path_factory.mktemp("spark")

    def start(*command: str) -> subprocess.Popen[bytes]:
        with (folder / f"log-{len(running)}").open("wb") as log:
            process = subprocess.Popen(command, env=ENVIRONMENT, cwd=folder, stdout=log, stderr=log)
        running.append(process)
        return process

    yield start
    for process in reversed(running):
        process.terminate()
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def wait_for(port: int, process: subprocess.Popen[bytes], seconds: float = 120) -> None:
    end = time.monotonic() + seconds
    while time.monotonic() < end and process.poll() is None:
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.2)
    pytest.fail(f"nothing answers on port {port}")


def job(url: str, source: Path, result: Path) -> subprocess.Popen[str]:
    program = Path(__file__).with_name("spark_program.py")
    command = [sys.executable, "-W", "ignore", str(program), url, str(source), str(result)]
    with result.with_suffix(".log").open("wb") as log:
        return subprocess.Popen(command, env=ENVIRONMENT, stdout=subprocess.PIPE, stderr=log, text=True)


def finished(process: subprocess.Popen[str], result: Path) -> Any:
    try:
        process.communicate(timeout=300)
    finally:
        process.kill()
    assert process.returncode == 0, result.with_suffix(".log").read_text()[-3000:]
    return np.load(result)


def check(found: Any) -> None:
    fair = FairCrowd(DawidSkene(by_group=True, n_iter=3, tol=-1), epsilon=0.05).fit(VOTES, sensitive_features="group")
    inside = fair.estimator_
    assert found["history"].tolist() == inside.loss_history_
    assert inside._model is not None
    np.testing.assert_array_equal(found["errors"], inside._model.errors)
    np.testing.assert_array_equal(found["priors"], inside._model.priors)
    np.testing.assert_array_equal(found["labels"], inside.posterior_.label_codes)
    np.testing.assert_array_equal(found["fair"], fair.result_.solved.labels)
    assert json.loads(str(found["proof"])) == fair.certificate_.to_dict() | {"seconds": 0}
    assert str(found["rule"]) == fair.rule_.to_json()
    assert fair.certificate_.changed > 0


def children(parent: int) -> list[int]:
    """The processes that a process has started (Linux)."""
    found = []
    for entry in Path("/proc").glob("[0-9]*/stat"):
        try:
            after = entry.read_text().rpartition(")")[2].split()
        except OSError:  # ended meanwhile
            continue
        if int(after[1]) == parent:
            found.append(int(entry.parent.name))
    return found


@pytest.fixture(scope="module")
def connect(servers: Any) -> tuple[int, Any]:
    """A server of Spark Connect, which starts while the cluster is tried."""
    pytest.importorskip("grpc")
    port = free_port()
    return port, servers(
        str(HOME / "bin" / "spark-submit"),
        "--class", "org.apache.spark.sql.connect.service.SparkConnectServer",
        "--master", "local[2]",
        "--conf", f"spark.connect.grpc.binding.port={port}",
        "--conf", "spark.connect.grpc.binding.address=127.0.0.1",
        "--conf", "spark.driver.host=127.0.0.1",
        "--conf", "spark.ui.enabled=false",
        "--conf", f"spark.driver.extraJavaOptions={QUICK}",
        "--conf", "spark.python.daemon.module=engines.spark.quick_daemon",
        "--conf", "spark.sql.shuffle.partitions=2",
        "spark-internal",
    )  # fmt: skip


def test_a_cluster_gives_the_same_bits_though_a_worker_dies(
    servers: Any, connect: Any, source: Path, tmp_path: Path
) -> None:
    port, run = free_port(), str(HOME / "bin" / "spark-class")
    master = servers(
        run, "org.apache.spark.deploy.master.Master",
        "--host", "127.0.0.1", "--port", str(port), "--webui-port", str(free_port()),
    )  # fmt: skip
    url = f"spark://127.0.0.1:{port}"
    worker = "org.apache.spark.deploy.worker.Worker"
    workers = [
        servers(run, worker, "--host", "127.0.0.1", "-c", "1", "-m", "1500m", "--webui-port", str(free_port()), url)
        for _ in range(2)
    ]
    wait_for(port, master)
    result = tmp_path / "cluster.npz"
    process = job(url, source, result)
    assert process.stdout is not None
    for _ in range(2):
        assert process.stdout.readline() == "round\n", result.with_suffix(".log").read_text()[-3000:]
    executors = children(workers[0].pid)
    assert executors, "the worker that is to die runs no executor"
    workers[0].kill()
    for executor in executors:
        os.kill(executor, signal.SIGKILL)
    check(finished(process, result))


def test_spark_connect_gives_the_same_bits(connect: Any, source: Path, tmp_path: Path) -> None:
    wait_for(*connect)
    result = tmp_path / "connect.npz"
    check(finished(job(f"sc://127.0.0.1:{connect[0]}", source, result), result))
