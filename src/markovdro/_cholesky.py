"""Compiled Cholesky factorisation of small matrices, inside kernels that must not leave them."""

from __future__ import annotations

import math

from markovdro._arrays import FloatArray
from markovdro._compiled import compiled_within

__all__ = ["factorise", "substitute"]


@compiled_within
def factorise(matrix: FloatArray, size: int) -> bool:
    """Factorise in the lower triangle; return whether the leading block was positive definite."""
    for j in range(size):
        pivot = matrix[j, j]
        for k in range(j):
            pivot -= matrix[j, k] * matrix[j, k]
        if not pivot > 0.0:
            return False
        pivot = math.sqrt(pivot)
        matrix[j, j] = pivot
        for i in range(j + 1, size):
            entry = matrix[i, j]
            for k in range(j):
                entry -= matrix[i, k] * matrix[j, k]
            matrix[i, j] = entry / pivot
    return True


@compiled_within
def substitute(factor: FloatArray, size: int, vector: FloatArray) -> None:
    """Solve with a factor, in place."""
    for i in range(size):
        entry = vector[i]
        for k in range(i):
            entry -= factor[i, k] * vector[k]
        vector[i] = entry / factor[i, i]
    for i in range(size - 1, -1, -1):
        entry = vector[i] / factor[i, i]
        vector[i] = entry
        for k in range(i):
            vector[k] -= factor[i, k] * entry
