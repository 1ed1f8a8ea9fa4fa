"""What a fitted ``FairClassifier`` shows: its card in notebooks, its charts, its certified labels as a frame."""

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from faircrowd._display import card_of, chart_of, frame_of, parameters_in_short
from faircrowd.errors import InputError
from faircrowd.fair.certificate import Certificate
from faircrowd.fair.classifier.held_out_estimates import HeldOutEstimates
from faircrowd.fair.frontier import Frontier
from faircrowd.fair.general.constrained_certificate import ConstrainedCertificate
from faircrowd.fair.general.constrained_result import ConstrainedResult
from faircrowd.fair.general.limit_frontier import LimitFrontier
from faircrowd.fair.make import FairResult

if TYPE_CHECKING:
    from faircrowd._display import Chart

__all__ = ["ClassifierViews"]


class ClassifierViews:
    """Mixin of ``FairClassifier``, which imports no scikit-learn: how a fitted one shows itself."""

    estimator: Any
    epsilon: float
    constraints: Any
    rows_: NDArray[np.int64]
    certificate_: Certificate | ConstrainedCertificate | None
    held_out_: HeldOutEstimates | None
    result_: FairResult | ConstrainedResult | None

    def plot(self, chart: str = "rates") -> "Chart":
        """Return a chart of the certified labels, which notebooks show; ``save("rates.png")`` writes it.

        Parameters
        ----------
        chart : {"rates", "frontier", "posterior"}
            The share of each label in each group, before and after (with constraints, what they compare); what a
            smaller gap or another limit costs; or, without constraints, how certain the classifier is in each group.
        """
        return chart_of(self.certified, chart)

    def to_frame(self, backend: str | None = None, *, why: bool = False) -> Any:
        """Return the rows that the rule was learned from: label, label before, probabilities, group and threshold.

        Parameters
        ----------
        backend : str, optional
            "pandas", "polars" or "pyarrow"; by default pandas where it is installed.
        why : bool
            Whether to add the reason of each label, a sentence.
        """
        return frame_of(self, backend, why=why)

    @property
    def frontier_(self) -> Frontier | LimitFrontier:
        """Every epsilon at once, as the classifier believes; with constraints, other limits of the first."""
        return self.certified.frontier

    @property
    def certified(self) -> FairResult | ConstrainedResult:
        """The certified labels; raise if there are none."""
        from sklearn.utils.validation import check_is_fitted

        check_is_fitted(self, "estimator_")
        if self.result_ is None:
            raise InputError(
                "fit(X, y) was not given sensitive_features, so that there are no groups to show.",
                parameter="sensitive_features",
            )
        return self.result_

    def __repr__(self, N_CHAR_MAX: int = 700) -> str:
        """Return the constructor's call: epsilon, and what is not as by default."""
        found: Any = self
        always = () if self.constraints is not None else ("epsilon",)
        return parameters_in_short(self, found.get_params(deep=False), always)[:N_CHAR_MAX]

    def _repr_html_(self) -> str:
        return card_of(self)

    def _repr_mimebundle_(self, **_: object) -> dict[str, str]:
        return {"text/plain": repr(self), "text/html": self._repr_html_()}
