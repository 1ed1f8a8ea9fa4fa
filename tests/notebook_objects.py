"""One object of each kind that notebooks show, from a small crowd."""

from functools import cache
from typing import Any

import pandas as pd

import faircrowd as fc
from faircrowd import audit, baselines
from faircrowd.constraints import parse_constraint
from faircrowd.fair.classifier.held_out_estimates import HeldOutEstimates


@cache
def crowd(n_tasks: int = 300) -> fc.SimulatedCrowd:
    return fc.simulate_crowd(n_tasks, 20, random_state=1)


def columns(n_tasks: int = 300) -> pd.DataFrame:
    """Two sensitive columns, whose groups have the same names."""
    group = crowd(n_tasks).sensitive_features
    return pd.DataFrame({"side": group, "age": (group + group.index) % 2}, index=group.index)


@cache
def fair(n_tasks: int = 300) -> fc.FairCrowd:
    given = crowd(n_tasks)
    return fc.FairCrowd(fc.DawidSkene(), epsilon=0.05).fit(given.votes, sensitive_features=given.sensitive_features)


@cache
def calibrated() -> fc.FairCrowd:
    given = crowd()
    known = given.truth.sample(60, random_state=0)
    model = fc.CalibratedCrowd(fc.MajorityVote())
    return fc.FairCrowd(model, epsilon=0.05).fit(given.votes, known, sensitive_features=given.sensitive_features)


@cache
def constrained(n_tasks: int = 300) -> fc.FairCrowd:
    asked = [parse_constraint(text) for text in ("parity(side) <= 0.1", "parity(age) <= 0.1", "changed <= 0.2")]
    return fc.FairCrowd(fc.MajorityVote(), constraints=asked).fit(
        crowd(n_tasks).votes, sensitive_features=columns(n_tasks)
    )


@cache
def votes(n_tasks: int = 300) -> fc.VoteTable:
    given = crowd(n_tasks)
    return fc.read_votes(given.votes, sensitive_features=given.sensitive_features)


@cache
def shown(n_tasks: int = 300) -> dict[str, Any]:
    """Every object by the name of its class."""
    given, first, second, third = crowd(n_tasks), fair(n_tasks), calibrated(), constrained(n_tasks)
    audited = audit.audit_crowd(votes(n_tasks), first.labels_, control=columns(n_tasks)["age"])
    kept = audit.check_constraints(first.labels_, ["parity <= 0.1"], sensitive_features=given.sensitive_features)
    found = [
        *(first, first.result_, first.certificate_, first.frontier_, first.rule_, first.inputs_, first.estimator_),
        *(second.accuracy_, second.gold_estimates_, second.estimator_, second.estimator_.calibration_),
        *(second.estimator_.calibration_.reliability, first.estimator_.posterior_, first.estimator_.report_),
        *(third.result_, third.certificate_, third.certificate_.constraints[0], third.frontier_, third.rule_),
        *(audited, audited.workers, audited.workers.leaning, audited.workers.influence, audited.interval),
        *(audited.agreement, audited.ties, audited.added_up, audited.added_up.implied, audited.curve, audited.bound),
        *(audited.strata, audit.pair_agreement(votes(n_tasks), first.labels_), votes(n_tasks), given),
        *(kept, kept.constraints[0], kept.constraints[0].measured),
        audit.check_labels(first.labels_, given.sensitive_features, epsilon=0.1),
        audit.impact_table(first.labels_, sensitive_features=columns(n_tasks), selected=1),
        audit.check_independence(first.estimator_),
        audit.plan_crowd({"men": 0.8, "women": 0.7}, priors={"men": 0.6, "women": 0.4}, delta=0.02, most=21),
        audit.plan_gold(100, shares={"women": 0.3, "men": 0.7}),
        HeldOutEstimates(
            second.accuracy_, second.accuracy_before_, {"parity <= 0.1": second.price_}, {"parity <= 0.1": 0.2}
        ),
        fc.fair.margin_for([300, 200], 2, 0.1, 0.95),
        fc.fair.Promise("ranks", 0.1, 0.95, 0.05, True, None, 10, 10, "ranks"),
        baselines.PostTD(fc.MajorityVote(), epsilon=0.1)
        .fit(given.votes, sensitive_features=given.sensitive_features)
        .outcome_,
        fc.datasets.load_synthetic(),
        audit.plan_crowd([0.7, 0.7], delta=0.1, most=5).curve,
    ]
    return {type(one).__name__: one for one in found}
