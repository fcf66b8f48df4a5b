"""How far raters agree: Cronbach's α.

In:  ratings of queries by raters, NaN for no answer.
Out: :class:`Alpha`, a float with its counts.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from fashion_rq_bench.errors import InputError

__all__ = ["Alpha", "cronbach_alpha"]


class Alpha(float):
    """Cronbach's α, a float that knows on how many rows it rests.

    Attributes:
        n_complete: rows that every rater answered.
        n_dropped: rows left out.
    """

    n_complete: int
    n_dropped: int

    def __new__(cls, value: float, n_complete: int, n_dropped: int) -> Alpha:
        """A float that carries its counts."""
        alpha = super().__new__(cls, value)
        alpha.n_complete, alpha.n_dropped = n_complete, n_dropped
        return alpha


def cronbach_alpha(ratings: ArrayLike) -> Alpha:
    """Reliability of the raters' sum (Cronbach, 1951): k/(k−1) · (1 − Σ s²_rater / s²_sum).

    Args:
        ratings: (queries, raters), raters as items; NaN for no answer. Only rows without NaN count.

    Returns:
        α, at most 1 and unbounded below; NaN for fewer than two raters or complete rows, or if
        the sum does not vary. The rows left out are counted in ``n_dropped``.

    Raises:
        InputError: if it is no matrix.
    """
    values = np.asarray(ratings, dtype=np.float64)
    if values.ndim != 2:
        raise InputError("Ratings are a matrix of queries by raters.", given=values.shape)
    complete = ~np.isnan(values).any(axis=1)
    kept, n_raters = values[complete], values.shape[1]
    counts = (int(complete.sum()), int((~complete).sum()))
    if n_raters < 2 or len(kept) < 2:
        return Alpha(float("nan"), *counts)
    total = kept.sum(axis=1).var(ddof=1)
    if total == 0:
        return Alpha(float("nan"), *counts)
    within = kept.var(axis=0, ddof=1).sum()
    return Alpha(float(n_raters / (n_raters - 1) * (1 - within / total)), *counts)
