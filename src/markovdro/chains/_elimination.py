"""Compiled kernels of one chain: state reduction without subtractions, and simulation."""

from __future__ import annotations

import numpy as np

from markovdro._arrays import FloatArray, IndexArray
from markovdro._compiled import compiled

__all__ = ["anchor_state", "eliminate", "walk"]


@compiled
def anchor_state(transition: FloatArray, mass: FloatArray) -> int:
    """Return the state at which to ground the linear systems: the one with most of the mass.

    Slowing a state down divides its exit probability and multiplies its stationary probability
    alike, so ``mass_i / exit_i`` finds the state that a sticky row has made dominant. Grounding
    there keeps the remaining system well conditioned. States of no mass are never chosen.
    """
    best = 0
    largest = -1.0
    for i in range(len(mass)):
        if mass[i] > 0.0:
            leaving = 0.0
            for j in range(len(mass)):
                if j != i:
                    leaving += transition[i, j]
            ratio = mass[i] / max(leaving, 1e-300)
            if ratio > largest:
                largest = ratio
                best = i
    return best


@compiled
def eliminate(
    transition: FloatArray,
    loss: FloatArray,
    anchor: int,
    work: FloatArray,
    stationary: FloatArray,
    values: FloatArray,
) -> float:
    """Return ``π·L``, and write π and the relative values h (``h = 0`` at the anchor).

    States are removed one by one, each replaced by the detours through it (Grassmann, Taksar and
    Heyman): the exit probability of a state is summed, never ``1 − P_kk``, so that π keeps its
    relative precision however sticky the chain is. The loss collected and the time spent on a
    detour are carried along; when only the anchor is left, their ratio is ``π·L`` (loss per
    return over time per return), and substituting back gives h.
    """
    size = len(loss)
    cost, time = np.empty(size), np.empty(size)
    for a in range(size):
        # The anchor changes places with state 0, which is the last to be removed.
        i = anchor if a == 0 else (0 if a == anchor else a)
        cost[a], time[a] = loss[i], 1.0
        for b in range(size):
            work[a, b] = transition[i, b]
        work[a, 0], work[a, anchor] = work[a, anchor], work[a, 0]
    for k in range(size - 1, 0, -1):
        leaving = 0.0
        for j in range(k):
            leaving += work[k, j]
        leaving = leaving if leaving > 0.0 else 5e-324
        work[k, k] = leaving
        scale = 1.0 / leaving
        cost[k] *= scale
        time[k] *= scale
        for j in range(k):
            work[k, j] *= scale
        for i in range(k):
            through = work[i, k]
            if through != 0.0:
                cost[i] += through * cost[k]
                time[i] += through * time[k]
                for j in range(k):
                    work[i, j] += through * work[k, j]
    mean: float = cost[0] / time[0]
    total = 1.0
    stationary[0] = 1.0
    values[0] = 0.0
    for k in range(1, size):
        inflow = 0.0
        relative = cost[k] - mean * time[k]
        for i in range(k):
            inflow += stationary[i] * work[i, k]
            relative += work[k, i] * values[i]
        stationary[k] = inflow / work[k, k]
        values[k] = relative
        total += stationary[k]
    for k in range(size):
        stationary[k] /= total
    stationary[0], stationary[anchor] = stationary[anchor], stationary[0]
    values[0], values[anchor] = values[anchor], values[0]
    return mean


@compiled
def walk(cumulative: FloatArray, start: int, uniforms: FloatArray, path: IndexArray) -> None:
    """Follow the chain from the start, one uniform number for each step."""
    state = start
    path[0] = start
    for t in range(len(uniforms)):
        state = np.searchsorted(cumulative[state], uniforms[t], side="right")
        path[t + 1] = state
