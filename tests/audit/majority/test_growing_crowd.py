"""The majority's gap as the crowd grows: against the mean over all crowds of a size."""

import itertools
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from audit.majority.outcomes import exact_count_probabilities
from faircrowd.audit.majority.growing_crowd import majority_curve
from faircrowd.audit.majority.majority_gap import majority_rates
from faircrowd.errors import OptionError
from strategies import examples

RATES = [0.5, 0.25, 1.0, 0.75]


@given(st.integers(1, 7), st.integers(0, 2**32 - 1))
@settings(max_examples=examples(15))
def test_curve_is_the_mean_over_all_crowds_of_a_size(n_workers: int, seed: int) -> None:
    rates = np.random.default_rng(seed).random((n_workers, 2))
    curve = majority_curve(rates)
    assert curve.sizes.tolist() == list(range(1, n_workers + 1))
    for j, size in enumerate(curve.sizes):
        crowds = [majority_rates(rates[list(c)]) for c in itertools.combinations(range(n_workers), size)]
        np.testing.assert_allclose(curve.strict[j], np.mean([crowd.strict for crowd in crowds], axis=0), atol=1e-13)
        np.testing.assert_allclose(curve.loose[j], np.mean([crowd.loose for crowd in crowds], axis=0), atol=1e-13)
    assert curve.mean_gap == pytest.approx(np.abs(rates[:, 0] - rates[:, 1]).mean())
    assert curve.gap_strict[-1] == pytest.approx(majority_rates(rates).gap_strict, abs=1e-13)


def test_aligned_leanings_add_up_and_opposite_ones_cancel() -> None:
    aligned = majority_curve([[0.45, 0.55]] * 15)
    assert (np.diff(aligned.gap_strict[::2]) > 0).all()  # odd sizes; even ones have ties
    opposite = majority_curve([[0.45, 0.55], [0.55, 0.45]] * 8, sizes=[1, 16])
    np.testing.assert_allclose(opposite.gap_strict, 0, atol=1e-15)
    assert opposite.mean_gap == pytest.approx(0.1)


@pytest.mark.parametrize("sizes", [[0], [3], [1.5]])
def test_sizes_that_no_crowd_can_have_are_refused(sizes: list[float]) -> None:
    with pytest.raises(OptionError, match="sizes"):
        majority_curve([[0.1, 0.2]] * 2, sizes=sizes)


def test_a_curve_by_exact_fractions() -> None:
    rates = np.column_stack([RATES, [0.25, 0.5, 0.0, 0.125]])
    for sizes in (None, [3, 1, 4, 2], [2], 4):
        curve = majority_curve(rates, sizes)
        wanted = [1, 2, 3, 4] if sizes is None else np.atleast_1d(sizes).tolist()
        assert curve.sizes.tolist() == wanted
        for j, size in enumerate(wanted):
            for a in (0, 1):
                every = [exact_count_probabilities([*crowd]) for crowd in combinations(rates[:, a].tolist(), size)]
                strict, loose = (
                    float(sum(sum(p for s, p in enumerate(one) if 2 * s >= size + more) for one in every) / len(every))
                    for more in (1, 0)
                )
                np.testing.assert_allclose((curve.strict[j, a], curve.loose[j, a]), (strict, loose), atol=1e-15)
        np.testing.assert_array_equal(curve.gap_strict, abs(curve.strict[:, 0] - curve.strict[:, 1]))
        np.testing.assert_array_equal(curve.gap_loose, abs(curve.loose[:, 0] - curve.loose[:, 1]))
        assert curve.mean_gap == (0.25 + 0.25 + 1 + 0.625) / 4


def test_sizes_of_a_curve() -> None:
    assert majority_curve([[0.5, 0.25]] * 27).sizes.tolist() == list(range(1, 26))
    with pytest.raises(OptionError, match="sizes has 3, but there are only 2 workers"):
        majority_curve([[0.5, 0.25]] * 2, [1, 3])
    with pytest.raises(OptionError, match="sizes"):
        majority_curve([[0.5, 0.25]] * 2, [0])
