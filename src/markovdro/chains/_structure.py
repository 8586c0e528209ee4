"""Which states a chain visits for ever: its closed classes."""

from __future__ import annotations

from collections.abc import Hashable, Sequence

import numpy as np

from markovdro._arrays import BoolArray, FloatArray
from markovdro.errors import ReducibleChainError

__all__ = ["recurrent_states"]


def recurrent_states(transition: FloatArray, states: Sequence[Hashable] | None = None) -> BoolArray:
    """Return a mask of the one closed class, or refuse a chain that has several."""
    size = len(transition)
    edges = transition > 0
    if edges.all():
        return np.ones(size, dtype=bool)
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import connected_components

    classes, label = connected_components(csr_array(edges.astype(np.int8)), connection="strong")
    leaves = edges & (label[:, None] != label[None, :])
    closed = np.setdiff1d(np.arange(classes), label[leaves.any(axis=1)])
    if len(closed) > 1:
        names = states if states is not None else range(size)
        one, other = (names[int(np.flatnonzero(label == number)[0])] for number in closed[:2])
        raise ReducibleChainError(
            f"the chain has {len(closed)} closed classes (one holds {one!r}, another {other!r}), "
            "so its stationary law is not unique; smooth the estimate (smoothing='pseudo-counts'), "
            "or keep the states of one class."
        )
    mask: BoolArray = label == closed[0]
    return mask
