"""Tables of the experiments, as Markdown."""

from collections.abc import Sequence
from statistics import mean, pstdev
from typing import Any

__all__ = ["comparison_table", "convergence_table", "extra_table"]

_TOLERANCE = 0.005
_SCORES = ("believed accuracy", "accuracy", "changed", "bound - value")


def comparison_table(name: str, rows: Sequence[dict[str, Any]]) -> str:
    """Return F1, accuracy and gap by method and epsilon, as means over resamples."""
    epsilons = sorted({row["epsilon"] for row in rows if row["epsilon"] is not None})
    lines = [
        f"# {name}",
        "",
        "F1 / accuracy / gap (over); over: the share of resamples whose gap exceeds epsilon by more than .005.",
    ]
    for protocol in ("paper", "honest"):
        heads = ["none", *(f"eps {epsilon:g}" for epsilon in epsilons)]
        lines += ["", f"## Protocol {protocol}", "", *_head("method", heads)]
        here = [row for row in rows if row["protocol"] == protocol]
        for method in dict.fromkeys(_method(row) for row in here):
            own = [row for row in here if _method(row) == method]
            cells = [_cell([row for row in own if row["epsilon"] == epsilon]) for epsilon in (None, *epsilons)]
            lines.append(f"| {method} | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def _method(row: dict[str, Any]) -> str:
    if row["fairness"] == "none":
        return f"{row['aggregator']}, no fairness"
    if row["fairness"] == "fair_td":
        return "FairTD"
    objective = " (f1)" if row["objective"] == "f1" else ""
    return f"{row['aggregator']} + {row['fairness']}{objective}"


def _cell(rows: Sequence[dict[str, Any]]) -> str:
    if not rows:
        return ""
    scores = " / ".join(f"{mean(row[name] for row in rows):.3f}" for name in ("f1", "accuracy", "gap"))
    epsilon = rows[0]["epsilon"]
    if epsilon is None:
        return scores
    return f"{scores} ({mean(row['gap'] > epsilon + _TOLERANCE for row in rows):.1f})"


def convergence_table(rows: Sequence[dict[str, Any]]) -> str:
    """Return the difference of the gaps by method and number of workers, as means over seeds."""
    sizes = sorted({row["workers"] for row in rows})
    lines = ["# convergence", "", "Gap of the consensus minus gap of the truth, mean over seeds (spread)."]
    for crowd in dict.fromkeys(row["crowd"] for row in rows):
        lines += ["", f"## {crowd}", "", *_head("method", [f"R = {size}" for size in sizes])]
        here = [row for row in rows if row["crowd"] == crowd]
        for method in dict.fromkeys(row["method"] for row in here):
            cells = []
            for size in sizes:
                own = [row["difference"] for row in here if (row["method"], row["workers"]) == (method, size)]
                cells.append(f"{mean(own):+.3f} ({pstdev(own):.3f})")
            lines.append(f"| {method} | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def extra_table(rows: Sequence[dict[str, Any]]) -> str:
    """Return the results on the other crowds, one line per crowd, aggregator and epsilon."""
    lines = [
        "# extra",
        "",
        "Crowds that the paper could not run. Believed accuracy is the posterior's; accuracy is against the truth.",
        "",
        *_head("crowd", ["groups", "G", "K", "aggregator", "epsilon", "gap", *_SCORES]),
    ]
    for row in rows:
        epsilon = "none" if row["epsilon"] is None else f"{row['epsilon']:g}"
        right = "–" if row["accuracy"] is None else f"{row['accuracy']:.3f}"
        proof = "" if row["optimality_gap"] is None else f"{row['optimality_gap']:.1e}"
        lines.append(
            f"| {row['dataset']} | {row['groups']} | {row['n_groups']} | {row['n_classes']} | {row['aggregator']} | "
            f"{epsilon} | {row['gap']:.3f} | {row['believed_accuracy']:.3f} | {right} | {row['changed']:,} | {proof} |"
        )
    return "\n".join(lines) + "\n"


def _head(first: str, others: Sequence[str]) -> list[str]:
    return [f"| {first} | {' | '.join(others)} |", "|---" * (len(others) + 1) + "|"]
