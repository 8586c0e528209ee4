"""Which states a chain visits for ever: its closed classes."""

from __future__ import annotations

from collections.abc import Hashable, Sequence

import numpy as np

from markovdro._arrays import BoolArray, FloatArray
from markovdro.errors import ReducibleChainError

__all__ = ["closed_classes", "recurrent_states"]


def closed_classes(transition: FloatArray) -> list[BoolArray]:
    """Return a mask of each closed class: a chain that has entered one never leaves it."""
    edges = transition > 0
    if edges.all():
        return [np.ones(len(edges), dtype=bool)]
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import connected_components

    classes, label = connected_components(csr_array(edges.astype(np.int8)), connection="strong")
    leaves = edges & (label[:, None] != label[None, :])
    closed = np.setdiff1d(np.arange(classes), label[leaves.any(axis=1)])
    return [label == number for number in closed]


def recurrent_states(transition: FloatArray, states: Sequence[Hashable] | None = None) -> BoolArray:
    """Return a mask of the one closed class, or refuse a chain that has several."""
    closed = closed_classes(transition)
    if len(closed) > 1:
        names = states if states is not None else range(len(transition))
        one, other = (names[int(np.flatnonzero(mask)[0])] for mask in closed[:2])
        raise ReducibleChainError(
            f"the chain has {len(closed)} closed classes (one holds {one!r}, another {other!r}), "
            "so its stationary law is not unique; smooth the estimate (smoothing='pseudo-counts'), "
            "or keep the states of one class."
        )
    return closed[0]
