"""What every epsilon costs: the labels of some epsilons, the bound for all of them, and the files of both."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import pyarrow as pa

from faircrowd.aggregate.calibration.accuracy_estimate import AccuracyEstimate
from faircrowd.fair import FairResult, Frontier
from faircrowd.fair.gap import within
from faircrowd.fair.what_if import Choice, choices
from faircrowd.report.accuracy_curves import AccuracyCurve, accuracy_curves, estimated_curve
from faircrowd.report.charts import frontier_chart
from faircrowd.report.words.fair_words import in_points
from faircrowd.runs.frontiers.traced_frontier import TracedFrontier

__all__ = ["FrontierRun"]

_SHOWN = (0.0, 0.01, 0.02, 0.03, 0.05, 0.075, 0.1, 0.15, 0.2, 0.3, 0.5)


@dataclass(frozen=True, eq=False)
class FrontierRun(TracedFrontier):
    """The frontier of a run over epsilon.

    Attributes
    ----------
    shown : tuple of float
        The epsilons that are shown, of those below the gap of labels without a limit.
    also : tuple of float
        More epsilons, which are shown wherever they are.
    """

    shown: tuple[float, ...] = _SHOWN
    also: tuple[float, ...] = ()

    @cached_property
    def _result(self) -> FairResult:
        return self.run.unconstrained(self.asked.objective, self.asked.random_state, self.asked.positive)

    @cached_property
    def bound(self) -> Frontier:
        """The best that labels reach for every epsilon, on average if they are drawn at random."""
        truth = self.run.scoring_truth
        return self._result.frontier if truth is None else self._result.frontier_against(truth)

    @cached_property
    def epsilons(self) -> list[float]:
        """The epsilons that are shown: round numbers up to the gap of labels without a limit, and this gap."""
        widest = float(self.bound.gap[0])
        return sorted({*(epsilon for epsilon in self.shown if epsilon < widest), widest, *self.also})

    @cached_property
    def points(self) -> list[Choice]:
        """The labels of each of these epsilons, in numbers: those that ``aggregate`` gives for it."""
        return choices(self._result, self.epsilons, self.run.scoring_truth)

    @cached_property
    def estimates(self) -> list[AccuracyEstimate] | None:
        """The accuracy of these labels as estimated from known labels; None without calibration."""
        asked = self.asked
        return self.run.estimated_frontier(
            self.epsilons, objective=asked.objective, random_state=asked.random_state, positive=asked.positive
        )

    def accuracies(self) -> dict[str, list[float]]:
        """Return the accuracy of the labels of each epsilon, by kind: estimated, believed, real."""
        found: dict[str, list[float]] = {}
        if self.estimates is not None:
            found["estimated"] = [estimate.estimate for estimate in self.estimates]
        found["believed"] = [point.believed_accuracy for point in self.points]
        if self.run.scoring_truth is not None:
            found["real"] = [point.real_accuracy or 0.0 for point in self.points]
        return found

    def table(self) -> pa.Table:
        """Return one row per epsilon that is shown."""
        columns: dict[str, Any] = {"epsilon": self.epsilons, "gap": [point.gap for point in self.points]}
        for name, values in self.accuracies().items():
            columns[f"{name}_accuracy"] = values
            if name == "estimated" and self.estimates is not None:
                columns["estimated_accuracy_low"] = [estimate.low for estimate in self.estimates]
                columns["estimated_accuracy_high"] = [estimate.high for estimate in self.estimates]
        columns["labels_changed"] = [point.changed for point in self.points]
        if self.asked.objective != "accuracy":
            columns[f"believed_{self.asked.objective}"] = [point.value for point in self.points]
        return pa.table({**columns, "bound": [point.bound for point in self.points]})

    def bound_table(self) -> pa.Table:
        """Return the bound: one row per vertex, between which it is a straight line."""
        return pa.table({"epsilon": self.bound.gap, f"believed_{self.asked.objective}": self.bound.value})

    def to_dict(self) -> dict[str, Any]:
        """Return the points as plain values, ready for JSON."""
        points = []
        accuracies = self.accuracies()
        for i, point in enumerate(self.points):
            kinds = {f"{name}_accuracy": values[i] for name, values in accuracies.items()}
            numbers = {"epsilon": point.epsilon, "gap": point.gap, "value": point.value, "changed": point.changed}
            points.append({**numbers, **kinds, "bound": point.bound})
        known = {name: getattr(self.run.summary, name) for name in ("truths", "truth_gap", "truth_shares")}
        more = {"exact": self.bound.exact, "optimality_gap": self.bound.optimality_gap}
        return {"points": points, **more, **known, "options": self.run.options.to_dict()}

    def rows(self) -> tuple[list[str], list[list[str]]]:
        """Return the points as texts: the header, and a row for each."""
        accuracies, tasks = self.accuracies(), self.run.summary.tasks
        # Prices of three kinds would not fit, and that of an estimate says little without its interval.
        priced = [] if self.estimates is not None else list(accuracies)
        price = ["given up"] if len(priced) == 1 else [f"{name} price" for name in priced]
        header = ["epsilon", "gap", *(f"{name} accuracy" for name in accuracies), *price, "labels changed", "of all"]
        rows = []
        for i, point in enumerate(self.points):
            cells = [self._accuracy_text(name, values, i) for name, values in accuracies.items()]
            prices = [in_points(self._before(name) - accuracies[name][i]) for name in priced]
            changed = f"{point.changed:,}", f"{point.changed / tasks:.1%}"
            gap = f"{point.gap:.3f}" if within(point.gap, point.epsilon) else f"{point.gap:.3g}"
            rows.append([f"{point.epsilon:.3f}", gap, *cells, *prices, *changed])
        return header, rows

    def _accuracy_text(self, name: str, values: list[float], i: int) -> str:
        if name == "estimated" and self.estimates is not None:
            found = self.estimates[i]
            return f"{found.estimate:.1%} ({found.low:.1%} to {found.high:.1%})"
        return f"{values[i]:.2%}"

    def _before(self, name: str) -> float:
        """Return the accuracy of the aggregator's own labels."""
        summary = self.run.summary
        return float((summary.believed_accuracy if name == "believed" else summary.accuracy) or 0.0)

    def remarks(self) -> list[str]:
        """Return what the last row is, and what is known about all other epsilons."""
        bound, method, objective = self.bound, self.run.options.model.name, self.asked.objective
        which = f"as {method} gives them" if objective == "accuracy" else f"of the highest believed {objective}"
        last = f"The last line is the labels {which}: gap {self.points[-1].gap:.3f}."
        if not all(within(point.gap, point.epsilon) for point in self.points):
            smallest = int(self._result.problem.compared().sizes.min())
            last += (
                " Where a gap is above its epsilon, whole tasks cannot keep that without changing many more labels: it "
                f"is above by less than one task of the smallest group, which has {smallest:,}."
            )
        curve = f"bound.csv: what labels drawn at random reach on average for every epsilon, {bound.gap.size:,} points"
        if bound.exact:
            return [last, f"{curve} and the straight lines between them, exact."]
        short = f"at none of these points can labels be better by more than {bound.optimality_gap:.1g}"
        return [last, f"{curve}; certified: {short} under this posterior."]

    def tables(self) -> dict[str, pa.Table]:
        """Return the labels of some epsilons, and the bound for all of them."""
        return {"frontier.csv": self.table(), "bound.csv": self.bound_table()}

    def chart(self) -> dict[str, Any]:
        """Return the specification of the chart: accuracy against epsilon."""
        curves: list[AccuracyCurve] = accuracy_curves(self.bound)
        if self.estimates is not None:
            curves.insert(0, estimated_curve(self.bound, self.epsilons, self.estimates))
        dots = [
            {"gap": epsilon, "accuracy": value}
            for values in self.accuracies().values()
            for epsilon, value in zip(self.epsilons, values, strict=True)
        ]
        return frontier_chart(self.bound, chosen=dots, curves=curves)
