"""What the statistics share: their level, what counts as rounding, and safe quotients.

In:  arrays.
Out: a quotient that is NaN where nothing is divided.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["DIGITS", "LEVEL", "Floats", "Ints", "ratio"]

Floats = NDArray[np.float64]

Ints = NDArray[np.int64]

LEVEL = 0.05
"""Level of all tests; intervals are at 1 − ``LEVEL``."""

DIGITS = 12
"""Differences that are smaller than this many decimals are rounding, and count as ties."""


def ratio(numerator: Floats, denominator: Floats) -> Floats:
    """Quotient, NaN where the denominator is 0."""
    shape = np.broadcast_shapes(np.shape(numerator), np.shape(denominator))
    found: Floats = np.full(shape, np.nan)
    return np.divide(numerator, denominator, out=found, where=np.asarray(denominator) != 0)
