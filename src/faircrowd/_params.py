"""Parameters of estimators by name, as scikit-learn has them."""

from inspect import signature
from typing import Any, Protocol, Self, runtime_checkable

from faircrowd._checks import suggestion
from faircrowd.errors import OptionError

__all__ = ["Parameters"]


@runtime_checkable
class _HasParameters(Protocol):
    def get_params(self, deep: bool = True) -> dict[str, Any]: ...

    def set_params(self, **params: Any) -> object: ...


class Parameters:
    """Mixin of estimators whose constructor stores each of its arguments under the argument's name.

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
                raise OptionError(f"{type(self).__name__} has no parameter {name!r}.{suggestion(name, known)}")
            if is_inner:
                inner.setdefault(own, {})[rest] = value
        for name, settings in inner.items():
            estimator = params.get(name, known[name])
            if not isinstance(estimator, _HasParameters) or isinstance(estimator, type):
                rest = next(iter(settings))
                raise OptionError(f"{type(self).__name__} has no parameter {f'{name}__{rest}'!r}: {name} has none.")
            estimator.set_params(**settings)
        for name, value in params.items():
            if "__" not in name:
                setattr(self, name, value)
        return self
