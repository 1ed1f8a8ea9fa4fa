"""The extra mlflow: a run of its own and one that is open, in a store of files."""

import os
from pathlib import Path

os.environ |= {
    "NUMBA_DISABLE_JIT": "1",
    "MLFLOW_ALLOW_FILE_STORE": "true",
    "MLFLOW_TRACKING_URI": Path("runs").absolute().as_uri(),
    "MLFLOW_DISABLE_TELEMETRY": "true",
}
import mlflow

import faircrowd as fc

crowd = fc.simulate_crowd(n_tasks=100, n_workers=10, votes_per_task=3, random_state=0)
fair = fc.FairCrowd(fc.MajorityVote(), epsilon=0.05)
fair.fit(crowd.votes, sensitive_features=crowd.sensitive_features)
first = fc.log_mlflow(fair, report=False, truth=dict(enumerate(crowd.truth["truth"].to_pylist())))
assert mlflow.active_run() is None
with mlflow.start_run() as run:
    assert fc.log_mlflow(fair, artifact_path=None) == run.info.run_id
    mlflow.log_metric("mine", 1.0)
for run_id in (first, run.info.run_id):
    found = mlflow.get_run(run_id)
    assert found.info.status == "FINISHED"
    assert found.data.metrics["gap"] == fair.certificate_.gap
    assert found.data.metrics["believed_accuracy"] == fair.certificate_.believed_accuracy
    assert found.data.params["epsilon"] == "0.05"
    assert found.data.tags["faircrowd.version"] == fc.__version__
assert "accuracy" in mlflow.get_run(first).data.metrics
files = {file.path for file in mlflow.MlflowClient().list_artifacts(first, "faircrowd")}
assert {"faircrowd/labels.csv", "faircrowd/certificate.json", "faircrowd/evidence.json"} <= files, files
