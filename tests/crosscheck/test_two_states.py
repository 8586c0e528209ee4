"""Two states: the whole boundary of the ball, in one scalar."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from markovdro import Estimate, worst_case

Array = npt.NDArray[np.float64]


def least_stay(stay: float, entropies: Array) -> Array:
    """For each entropy b the least q with ``KL((p, 1 − p) ‖ (q, 1 − q)) ≤ b``, by bisection."""
    low, high = np.zeros_like(entropies), np.full_like(entropies, stay)
    for _ in range(200):
        middle = (low + high) / 2
        with np.errstate(divide="ignore"):
            entropy = stay * np.log(stay / middle) + (1 - stay) * np.log((1 - stay) / (1 - middle))
        low, high = (
            np.where(entropy > entropies, middle, low),
            np.where(entropy > entropies, high, middle),
        )
    return high


def worst_share(theta: Array, radius: float) -> float:
    """The largest probability of state 1: leave 0 as fast, and 1 as slowly, as a budget allows.

    The budget is split between the rows in 20,001 ways; the best split is refined once.
    """
    alpha = theta.sum(axis=1)
    stay, back = theta[0, 0] / alpha[0], theta[1, 0] / alpha[1]
    low, high = 0.0, 1.0
    best = 0.0
    for _ in range(3):
        split = np.linspace(low, high, 20_001)
        leave = 1 - least_stay(stay, radius * split / alpha[0])
        exit_ = least_stay(back, radius * (1 - split) / alpha[1])
        share = leave / (leave + exit_)
        at = int(np.argmax(share))
        best = float(share[at])
        low, high = split[max(at - 1, 0)], split[min(at + 1, 20_000)]
    return best


@given(
    st.tuples(*[st.floats(0.02, 1.0)] * 4),
    st.floats(-4, 0.5),
    st.floats(-5, 5),
    st.floats(0.1, 10),
)
def test_the_worst_case_of_two_states(
    masses: tuple[float, ...], log_radius: float, low: float, span: float
) -> None:
    theta = np.array(masses).reshape(2, 2) / sum(masses)
    radius = 10.0**log_radius
    result = worst_case([low, low + span], Estimate.from_doublets(theta), radius, tolerance=1e-9)
    # The multiplier of the radius uses all but 5e-10 of it.
    assert (result.value - low) / span == pytest.approx(worst_share(theta, radius), abs=1e-7)
