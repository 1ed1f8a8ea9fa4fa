"""A program that fits votes in Spark, for the tests of servers: kind, address, votes, result."""

import json
import os
import sys
from typing import Any

import numpy as np

from engines.spark.spark_session import QUICK
from faircrowd import DawidSkene, FairCrowd
from faircrowd.engines import spark_session
from faircrowd.engines.spark.votes import spark_votes


def labels_of(frame: Any) -> Any:
    """Return the labels of a frame in the order of the tasks."""
    return frame.toArrow().sort_by("task").column("agg_label").to_numpy()


def main(url: str, source: str, result: str) -> None:
    """Fit votes of a Parquet file by group, and fairly; write parameters, labels and proof, and print each round."""
    cluster = {
        "spark.driver.host": "127.0.0.1",
        "spark.driver.extraJavaOptions": QUICK,
        "spark.executor.extraJavaOptions": QUICK,
        "spark.executor.memory": "700m",
        "spark.sql.shuffle.partitions": "2",
        "spark.ui.enabled": "false",
    }
    session: Any = spark_session(url, **({} if url.startswith("sc://") else cluster))
    votes = spark_votes(session.read.parquet(source), sensitive_features="group", partitions=4)
    fair = FairCrowd(DawidSkene(by_group=True, n_iter=3, tol=-1), epsilon=0.05)
    fair.fit(votes, on_round=lambda *_: print("round", flush=True))  # noqa: T201
    model = fair.estimator_
    votes.check(fair.labels_)
    errors, priors = model._model
    proof = json.dumps(fair.certificate_.to_dict() | {"seconds": 0})
    np.savez(
        result,
        errors=errors,
        priors=priors,
        history=model.loss_history_,
        labels=labels_of(model.labels_),
        fair=labels_of(fair.labels_),
        proof=proof,
        rule=fair.rule_.to_json(),
    )
    session.stop()


if __name__ == "__main__":
    main(*sys.argv[1:])
    os._exit(0)  # the parts of Spark that are still at work have nothing left to do
