"""An order in which any first N anchors are spread over article types.

In:  a label and a random key per item.
Out: a permutation; its first N items are the sample of size N, so samples are nested.

The paper does not say how 416 of its 436 leaf clusters were taken.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

__all__ = ["stratified_order"]


def stratified_order(labels: Sequence[str], keys: npt.NDArray[np.uint64]) -> npt.NDArray[np.int64]:
    """Order items so that every beginning holds each label in proportion, rare ones at least once.

    Seats are handed out one at a time by the method of equal proportions (Huntington 1928): the
    next seat goes to the label with the largest n / √(s·(s + 1)), n its items and s its seats. The
    first seat of every label comes before all second seats, larger labels first. A divisor method
    never takes a seat back when seats are added, so a smaller sample lies inside a larger one.

    Args:
        labels: the stratum of each item.
        keys: random numbers that order items of one label, and labels of one size.

    Returns:
        A permutation of the items' positions.
    """
    stratum, counts = np.unique(
        np.asarray(labels, dtype=object), return_inverse=True, return_counts=True
    )[1:]
    by_stratum = np.lexsort((keys, stratum))
    begins = np.concatenate(([0], np.cumsum(counts)[:-1]))
    seats = np.empty(len(stratum), dtype=np.int64)
    seats[by_stratum] = np.arange(len(stratum)) - begins[stratum[by_stratum]]
    size = counts[stratum]
    with np.errstate(divide="ignore"):
        priority = size / np.sqrt(seats * (seats + 1.0))
    return np.lexsort((keys, -size, -priority))
