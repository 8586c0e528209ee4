"""Names for the kinds of arrays that the library passes around."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

__all__ = ["AnyArray", "BoolArray", "CountArray", "FloatArray", "IndexArray"]

FloatArray = npt.NDArray[np.float64]
BoolArray = npt.NDArray[np.bool_]
IndexArray = npt.NDArray[np.intp]
CountArray = npt.NDArray[np.int64]
AnyArray = npt.NDArray[Any]
