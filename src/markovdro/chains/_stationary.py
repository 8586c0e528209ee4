"""Stationary law and relative values of a chain, from one factorisation."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np

from markovdro._arrays import FloatArray
from markovdro._inputs import one_of, transition_matrix
from markovdro.chains._alignment import align_table, loss_vector
from markovdro.chains._labels import states_of_rows
from markovdro.chains._structure import recurrent_states
from markovdro.errors import InputError

__all__ = [
    "LongRun",
    "Method",
    "eliminated",
    "factorised",
    "relative_values",
    "stationary_law",
]

Method = Literal["lu", "gth"]

# A pivot that keeps less than this share of its diagonal entry has lost that share of its digits.
MOST_CANCELLATION = 1e-5


@dataclass(frozen=True, eq=False)
class LongRun:
    """What a chain and a loss come to in the long run.

    Attributes
    ----------
    value : float
        ``π·L``.
    stationary : array
        π, with ``πP = π``.
    values : array
        h, with ``(I − P)h = L − π·L``; only its differences have a meaning.
    """

    value: float
    stationary: FloatArray
    values: FloatArray


def factorised(transition: FloatArray, loss: FloatArray, mass: FloatArray) -> LongRun:
    """One LU factorisation and two solves (LAPACK), for chains of more than about a hundred states.

    The system ``I − P`` is grounded at the state that holds most of the mass (its row and column
    are struck out), which leaves a nonsingular M-matrix. Its diagonal is summed from the
    other entries, because ``1 − P_kk`` has no correct digit left where a state is very sticky. A
    pivot much smaller than its diagonal entry shows digits lost to cancellation, as in a chain of
    several groups of states that are rarely exchanged; then state reduction takes over.
    """
    from scipy.linalg.lapack import dgetrf, dgetrs

    from markovdro.chains._elimination import anchor_state

    anchor = anchor_state(transition, mass)
    system = np.negative(transition)
    np.fill_diagonal(system, 0.0)
    np.fill_diagonal(system, -system.sum(axis=1))
    inflow = -system[anchor]
    inflow[anchor] = 0.0
    system[anchor] = 0.0
    system[:, anchor] = 0.0
    system[anchor, anchor] = 1.0
    # The transpose is dominated by the diagonal in each column: pivoting finds nothing to swap.
    diagonal = system.diagonal().copy()
    lower_upper, pivots, _ = dgetrf(system.T, overwrite_a=1)
    if (np.abs(lower_upper.diagonal()) < MOST_CANCELLATION * diagonal).any():
        return eliminated(transition, loss, mass)
    stationary, _ = dgetrs(lower_upper, pivots, inflow, trans=0)
    stationary = np.maximum(stationary, 0.0)
    stationary[anchor] = 1.0
    stationary /= stationary.sum()
    value = float(stationary @ loss)
    centred = loss - value
    centred[anchor] = 0.0
    values, _ = dgetrs(lower_upper, pivots, centred, trans=1)
    return LongRun(value, stationary, values)


def eliminated(transition: FloatArray, loss: FloatArray, mass: FloatArray) -> LongRun:
    """State reduction without subtractions: the accurate reference, and faster below 100 states."""
    from markovdro.chains._elimination import anchor_state, eliminate

    size = len(loss)
    stationary, values = np.empty(size), np.empty(size)
    # Kernels are compiled once more for arrays that are locked; a copy is not.
    transition = np.array(transition)
    anchor = anchor_state(transition, mass)
    value = eliminate(transition, loss, anchor, np.empty((size, size)), stationary, values)
    return LongRun(value, stationary, values)


def _chain(transition: Any) -> tuple[FloatArray, tuple[Hashable, ...]]:
    numbers, names = align_table(transition, None, "transition")
    matrix = transition_matrix(numbers)
    return matrix, states_of_rows(names, len(matrix), "transition")


def _long_run(
    matrix: FloatArray, states: tuple[Hashable, ...], loss: FloatArray, method: Method
) -> LongRun:
    run = factorised if one_of(method, get_args(Method), "method") == "lu" else eliminated
    return run(matrix, loss, recurrent_states(matrix, states).astype(np.float64))


def stationary_law(transition: Any, *, method: Method = "lu") -> FloatArray:
    """Return the long-run share of time that a chain spends in each state.

    Parameters
    ----------
    transition : d × d, rows summing to one
    method : "lu" or "gth"
        One LU factorisation (where it loses no more than five digits), or the elimination of
        Grassmann, Taksar and Heyman, which never subtracts and is accurate in every digit for
        chains that almost fall apart.

    Returns
    -------
    array
        The π with ``π = πP`` and ``Σ π_i = 1``, in the order of the rows.

    Examples
    --------
    >>> from markovdro import stationary_law
    >>> stationary_law([[0.9, 0.1], [0.3, 0.7]]).round(12)
    array([0.75, 0.25])
    """
    matrix, states = _chain(transition)
    return _long_run(matrix, states, np.zeros(len(matrix)), method).stationary


def relative_values(transition: Any, loss: Any, *, method: Method = "lu") -> FloatArray:
    """Return how much more a chain loses in the long run when it begins in one state, not another.

    Parameters
    ----------
    transition : d × d, rows summing to one
    loss : one number for each state
        In the order of the rows; or a dict or series by state, where ``transition`` is a table that
        names its states, or by number.
    method : "lu" or "gth"
        As in :func:`stationary_law`.

    Returns
    -------
    array
        The solution h of Poisson's equation ``(I − P)h = L − π·L`` with ``π·h = 0``, in units of
        the loss. The long-run loss has the gradient ``∂(π·L)/∂P_ij = π_i h_j``.

    Examples
    --------
    >>> from markovdro import relative_values
    >>> relative_values([[0.9, 0.1], [0.3, 0.7]], [0.0, 1.0]).round(12)
    array([-0.625,  1.875])
    """
    matrix, states = _chain(transition)
    vector = loss_vector(loss, states)
    found = _long_run(matrix, states, vector, method)
    with np.errstate(over="ignore", invalid="ignore"):
        centred: FloatArray = found.values - found.stationary @ found.values
    if not np.isfinite(centred).all():
        raise InputError(
            "the relative values are beyond the largest double, 1.8e308: the loss reaches "
            f"{np.abs(vector).max():g}, and the chain hardly moves; divide the loss by a constant."
        )
    return centred
