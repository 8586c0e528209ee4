"""Compiled kernels of Wasserstein balls around single rows: the best way to move their mass.

Mass at state j, moved to state k, costs c_jk and gains ``h_k − h_j``. What is worth going to from j
are the corners of the concave frontier of the points ``(c_jk, h_k)``; each piece of a frontier has
a gain for each unit of cost, its slope. A row is best moved piece by piece, the steepest first,
until its budget is spent. The slope λ of the last piece solves the dual of the row,

    max { S·h : W(p, S) ≤ r }  =  min over λ ≥ 0 of  λ r + Σ_j p_j max_k (h_k − λ c_jk).

Frontiers and the order of their pieces are the same for all rows that may go everywhere.
"""

from __future__ import annotations

import numpy as np

from markovdro._arrays import BoolArray, FloatArray, IndexArray
from markovdro._compiled import compiled

__all__ = ["frontiers", "move_rows"]


@compiled
def frontiers(
    cost: FloatArray,
    order: IndexArray,
    values: FloatArray,
    allowed: BoolArray,
    source: IndexArray,
    goal: IndexArray,
    price: FloatArray,
    slope: FloatArray,
) -> int:
    """Write the pieces of all frontiers, and return how many there are.

    Parameters
    ----------
    cost, order : c (d × d), and for each state all states from the nearest, itself, on
    values, allowed : h, and which states may hold mass
    source, goal, price, slope : out: mass that is at a source, once it has come to the last goal,
        comes to this one for a price, at a gain of the slope for each unit of it
    """
    size = len(values)
    corners = np.empty(size, np.int64)
    count = 0
    for j in range(size):
        if not allowed[j]:
            continue
        top = 0
        corners[0] = j
        for place in range(1, size):
            k = order[j, place]
            if not allowed[k] or values[k] <= values[corners[top]]:
                continue
            # A corner that lies on or below the line past it is none.
            while top > 0:
                last, before = corners[top], corners[top - 1]
                rise = (values[k] - values[last]) * (cost[j, last] - cost[j, before])
                if rise < (values[last] - values[before]) * (cost[j, k] - cost[j, last]):
                    break
                top -= 1
            top += 1
            corners[top] = k
        steepest = np.inf
        for corner in range(top):
            here, there = corners[corner], corners[corner + 1]
            source[count], goal[count] = j, there
            price[count] = cost[j, there] - cost[j, here]
            # Rounding must not bring a piece before the one that leads to it.
            steepest = min(steepest, (values[there] - values[here]) / price[count])
            slope[count] = steepest
            count += 1
    return count


@compiled
def move_rows(
    nominal: FloatArray,
    rows: IndexArray,
    radius: float,
    source: IndexArray,
    goal: IndexArray,
    price: FloatArray,
    ranked: IndexArray,
    target: FloatArray,
    spent: FloatArray,
) -> None:
    """Write the best of each of these rows within the budget, and what it spends.

    ``ranked`` are the pieces from the steepest on. Only the last one may be gone in part.
    """
    size = len(nominal)
    place = np.empty(size, np.int64)
    for number in range(len(rows)):
        i = rows[number]
        for j in range(size):
            place[j] = j
            target[i, j] = 0.0
        left, part, parted, halfway = radius, 0.0, -1, -1
        for rank in range(len(ranked)):
            piece = ranked[rank]
            j = source[piece]
            need = nominal[i, j] * price[piece]
            if need > left:
                part, parted, halfway = left / price[piece], j, goal[piece]
                left = 0.0
                break
            left -= need
            place[j] = goal[piece]
        for j in range(size):
            stays = nominal[i, j] - part if j == parted else nominal[i, j]
            target[i, place[j]] += max(stays, 0.0)
        if halfway >= 0:
            target[i, halfway] += part
        spent[i] = radius - left
