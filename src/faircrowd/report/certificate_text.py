"""A certificate in lines that a person reads."""

from typing import Any

from faircrowd.fair.certificate import Certificate

__all__ = ["fair_lines", "promise_line"]


def promise_line(promise: dict[str, Any]) -> str:
    """Say what is promised of tasks that were not seen."""
    from faircrowd.fair.margin import Margin

    return str(Margin(**promise))


def fair_lines(certificate: Certificate) -> list[tuple[str, str]]:
    """Say what fair labels reached and what they cost: a sentence for a manager, numbers for an engineer."""
    c = certificate
    if c.changed == 0 and c.gap <= c.epsilon:
        said = f"the gap was {c.gap_before:.3f}, within epsilon {c.epsilon:g}; no label was changed"
    else:
        cost = c.expected_accuracy_before - c.expected_accuracy
        said = (
            f"the gap fell from {c.gap_before:.3f} to {c.gap:.3f} (epsilon {c.epsilon:g}); "
            f"{c.changed:,} of {c.tasks:,} labels changed ({c.changed_share:.1%}), at {cost:.2%} of expected accuracy"
        )
    lines = [("fair", said)]
    if c.gap > c.epsilon + 1e-12:
        lines.append(
            ("note", f"whole labels exceed epsilon by {c.gap - c.epsilon:.2g}; --strict keeps it to the letter")
        )
    if c.promise is not None:
        lines.append(("promise", promise_line(c.promise)))
    kind = "with or without a coin" if c.decision == "randomized" else "without a coin"
    proof = (
        f"no labels {kind} are better"
        if c.optimal
        else f"no labels within epsilon gain more than {max(c.optimality_gap, 0):.2g}"
    )
    lines.append(("proof", f"{proof} (bound {c.bound:.6f}, {c.objective} {c.value:.6f}; {c.solver})"))
    moved = [f"{row['tasks']:,} in group {row['group']} from {row['before']} to {row['after']}" for row in c.changes]
    if moved:
        lines.append(("changed", "; ".join(moved[:8])))
    lines.append(("rule", " | ".join(line.strip() for line in c.thresholds.splitlines())))
    return lines
