"""What scikit-learn expects of an estimator: parameters by name, tags, and which metadata its methods take.

scikit-learn itself is imported only where it asks.
"""

from inspect import Parameter, signature
from typing import Any, Protocol, Self, runtime_checkable

from faircrowd._checks import few, suggestion
from faircrowd._display import parameters_in_short
from faircrowd.errors import OptionError

__all__ = ["Parameters"]

_ROUTED = ("fit", "predict", "predict_proba", "predict_log_proba", "score")
"""Methods to which scikit-learn passes metadata on."""

_GOLD = "true_labels"


@runtime_checkable
class _HasParameters(Protocol):
    def get_params(self, deep: bool = True) -> dict[str, Any]: ...

    def set_params(self, **params: Any) -> object: ...


class Parameters:
    """Mixin of estimators whose constructor stores each of its arguments under the argument's name.

    ``sklearn.base.clone``, ``Pipeline`` and metadata routing work with them. Dataclasses need ``repr=False``, as they
    would write their own.

    Examples
    --------
    >>> from faircrowd import DawidSkene, FairCrowd
    >>> fair = FairCrowd(DawidSkene(n_iter=50)).set_params(epsilon=0.1, estimator__n_iter=20)
    >>> fair.epsilon, fair.estimator.n_iter
    (0.1, 20)
    """

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters by name.

        Parameters
        ----------
        deep : bool
            Whether to add the parameters of parameters that are estimators, as ``estimator__n_iter``.
        """
        names = (name for name in signature(type(self)).parameters if not name.startswith("_"))
        found = {name: getattr(self, name) for name in names}
        if deep:
            for name, value in list(found.items()):
                if isinstance(value, _HasParameters) and not isinstance(value, type):
                    found |= {f"{name}__{inner}": given for inner, given in value.get_params().items()}
        return found

    def set_params(self, **params: Any) -> Self:
        """Set parameters by name, and those of parameters that are estimators as ``estimator__n_iter``.

        Raises
        ------
        OptionError
            If there is no such parameter; then none of those given is set.
        """
        known = self.get_params(deep=False)
        inner: dict[str, dict[str, Any]] = {}
        for name, value in params.items():
            own, is_inner, rest = name.partition("__")
            if own not in known:
                raise OptionError(
                    f"Invalid parameter {name!r} for estimator {type(self).__name__}. Valid parameters are: "
                    f"{sorted(known)}.{suggestion(name, known)}",
                    parameter=name,
                )
            if is_inner:
                inner.setdefault(own, {})[rest] = value
        for name, settings in inner.items():
            estimator = params.get(name, known[name])
            if not isinstance(estimator, _HasParameters) or isinstance(estimator, type):
                rest = next(iter(settings))
                raise OptionError(
                    f"Invalid parameter {f'{name}__{rest}'!r} for estimator {type(self).__name__}: {name} is "
                    f"{few([estimator])}, which has no parameters.",
                    parameter=name,
                )
            estimator.set_params(**settings)
        for name, value in params.items():
            if "__" not in name:
                setattr(self, name, value)
        return self

    def __repr__(self) -> str:
        return parameters_in_short(self, self.get_params(deep=False))

    def __sklearn_tags__(self) -> Any:
        """Return what scikit-learn (1.6 or later) wants to know: votes are no table of features, and need no target."""
        from sklearn.utils import InputTags, Tags, TargetTags

        return Tags(
            estimator_type=None,
            target_tags=TargetTags(required=False),
            input_tags=InputTags(two_d_array=False, string=True),
        )

    def get_metadata_routing(self) -> Any:
        """Return what a pipeline of scikit-learn should pass on to each method: whatever it takes besides votes.

        Examples
        --------
        >>> from faircrowd import MajorityVote
        >>> MajorityVote().get_metadata_routing().fit.requests
        {'sensitive_features': True}
        """
        from sklearn.utils.metadata_routing import MetadataRequest

        request = MetadataRequest(owner=self)
        for method in _ROUTED:
            taken = signature(getattr(self, method)).parameters if hasattr(self, method) else {}
            for name, parameter in taken.items():
                if parameter.kind is Parameter.KEYWORD_ONLY or name == _GOLD:
                    getattr(request, method).add_request(param=name, alias=True)
            if method == "fit" and any(parameter.kind is Parameter.VAR_KEYWORD for parameter in taken.values()):
                request.fit.add_request(param=_GOLD, alias=True)  # passed on to the aggregator
        return request
