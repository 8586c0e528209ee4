"""Secant curvature: below (above) the truth, in 60 digits, and close to it."""

from __future__ import annotations

from decimal import Decimal, localcontext

import numpy as np
import pytest

from markovdro.worstcase._curvature import exponential_bends, laplacian_of_bends, logarithm_bend

ODDS = [1e-300, 1e-12, 1e-3, 0.3, 1.0, 4.0, 1e5, 1e300]
PLACES = [-500.0, -40.0, -3.0, -0.06, -0.04, -1e-9, 0.0, 1e-9, 0.04, 0.06, 2.0, 40.0, 500.0]


def exact_secant(odds: float, t: float) -> float:
    """``2 (log((1 + o e^t)/(1 + o)) − p t)/t²``, and the second derivative where t is 0."""
    with localcontext() as context:
        context.prec = 700
        o, s = Decimal(odds), Decimal(t)
        p = o / (1 + o)
        if t == 0:
            return float(p * (1 - p))
        return float(2 * ((1 + o * s.exp()).ln() - (1 + o).ln() - p * s) / s**2)


@pytest.mark.parametrize("odds", ODDS)
def test_a_logarithm_bends_no_less(odds: float) -> None:
    for t in PLACES:
        found = logarithm_bend(odds, t, float(np.exp(t)))
        exact = exact_secant(odds, t)
        assert 0 <= found <= exact
        # A twentieth of a unit of t is the resolution, and 1e-15 of the function is rounding.
        near = 0.05 if abs(t) <= 0.05 else 1e-6
        assert found >= exact * (1 - near) - 4e-15 / max(abs(t), 0.05) ** 2


@pytest.mark.parametrize("odds", ODDS[1:-1])
@pytest.mark.parametrize(("below", "above"), [(-3.0, 3.0), (-0.1, 6.0), (-8.0, 0.0), (0.0, 0.02)])
def test_over_a_range_a_logarithm_bends_least_at_an_end(
    odds: float, below: float, above: float
) -> None:
    """The form of two states is the bend of their one pair; brute force over the range."""
    doublets = np.array([[0.0, 1.0], [0.0, 0.0]])
    form = np.empty((2, 2))
    ranges = [np.full((2, 2), end) for end in (below, above)]
    laplacian_of_bends(doublets, np.full((2, 2), odds), ranges[0], ranges[1], form)
    bend = form[0, 0]
    assert form.tolist() == [[bend, -bend], [-bend, bend]]
    inside = min(exact_secant(odds, t) for t in np.linspace(below, above, 101))
    assert bend <= inside
    assert bend >= inside * 0.95 - 1e-12


def test_an_exponential_bends_no_more_where_it_rises_and_no_less_where_it_falls() -> None:
    for width in (1e-9, 0.04, 0.06, 1.0, 30.0):
        bends = np.empty(2)
        exponential_bends(np.array([2.0, -2.0]), np.full(2, -width), np.full(2, width), bends)
        with localcontext() as context:
            context.prec = 60
            up, down = (
                float(2 * (s.exp() - 1 - s) / s**2) for s in (Decimal(width), -Decimal(width))
            )
        assert 2 * up <= bends[0] <= 2 * up * (1 + max(1e-8, width if width < 0.05 else 0))
        assert -2 * down <= bends[1] <= -2 * down * (1 - max(1e-8, width if width < 0.05 else 0))
