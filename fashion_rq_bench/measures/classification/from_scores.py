"""From scores to classes, by rank and by cut points (paper, section 5, task 2).

In:  scores of pools, the size of each class in each pool; or the labels of other folds.
Out: classes, or probabilities of classes where scores are tied.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import ArrayLike, NDArray

from fashion_rq_bench.errors import MetricInputError
from fashion_rq_bench.measures._ragged import Ints, Ragged, blocks, check_same_rows, number_rows
from fashion_rq_bench.measures.classification.report import checked_classes
from fashion_rq_bench.measures.ranked._ranks import count_above_and_tied
from fashion_rq_bench.schema.grades import GRADE_NAMES

__all__ = ["class_sizes", "classes_by_cuts", "classes_by_rank", "fit_cuts", "folds_of"]

Floats = NDArray[np.float64]


def class_sizes(labels: Any, n_classes: int = len(GRADE_NAMES)) -> Ints:
    """How many products of each class every pool holds: (queries, n_classes).

    Args:
        labels: classes, one row per query (2-D, lists, or Arrow lists).
    """
    rows = number_rows(labels, "labels", minimum=0)
    classes = checked_classes(rows.values, "labels", n_classes)
    counts = np.bincount(rows.row_numbers() * n_classes + classes, minlength=len(rows) * n_classes)
    return counts.reshape(len(rows), n_classes)


def classes_by_rank(scores: Any, sizes: ArrayLike) -> Floats:
    """Fill each pool's classes by rank, best scores first (the main rule of task 2).

    Args:
        scores: finite scores, one row per query.
        sizes: (queries, classes) products of each class in each pool (:func:`class_sizes`); a row
            sums to the pool's length.

    Returns:
        (pairs, classes) probabilities, pool by pool; rows sum to 1, and are 0/1 without ties.

    Raises:
        MetricInputError: as the ranking metrics, and if sizes do not fit the pools.
    """
    rows, wanted = number_rows(scores, "scores"), _checked_sizes(sizes)
    if wanted.shape[0] != len(rows) or (wanted.sum(axis=1) != rows.lengths).any():
        raise MetricInputError(
            "sizes must hold one row per query that sums to the length of its pool.",
            given=f"sizes of shape {wanted.shape} for {len(rows)} pools",
        )
    above, tied = _above_and_tied(rows)
    ends = np.cumsum(wanted[:, ::-1], axis=1)[:, ::-1]  # ranks filled up to and with each class
    ends = ends[rows.row_numbers()]
    starts = np.hstack([ends[:, 1:], np.zeros((len(ends), 1), np.int64)])
    first, last = above[:, None], (above + tied)[:, None]
    shared = np.minimum(last, ends) - np.maximum(first, starts)
    probabilities: Floats = np.maximum(shared, 0) / tied[:, None]
    return probabilities


def classes_by_cuts(
    scores: Any, labels: Any, folds: Sequence[int] | Ints, n_classes: int = len(GRADE_NAMES)
) -> Ints:
    """Classes by cut points fitted on the other folds (the second rule of task 2).

    Args:
        scores: finite scores, one row per query.
        labels: classes of the same shape.
        folds: (queries,) fold of each query; :func:`folds_of` keeps clusters together.
        n_classes: number of classes.

    Returns:
        (pairs,) classes, pool by pool.

    Raises:
        MetricInputError: as the ranking metrics, and if there are fewer than two folds.
    """
    rows, label_rows = number_rows(scores, "scores"), number_rows(labels, "labels", minimum=0)
    check_same_rows(rows, label_rows, "labels")
    truth = checked_classes(label_rows.values, "labels", n_classes)
    fold = np.asarray(folds)
    if fold.shape != (len(rows),) or len(np.unique(fold)) < 2:
        raise MetricInputError(
            "folds must hold one fold for each query, and two different ones at least.",
            given=f"{len(np.unique(fold))} folds over an array of shape {fold.shape}",
        )
    fold = fold[rows.row_numbers()]
    classes = np.empty(len(truth), np.int64)
    for one in np.unique(fold):
        held_out = fold == one
        cuts = fit_cuts(rows.values[~held_out], truth[~held_out], n_classes)
        classes[held_out] = np.searchsorted(cuts, rows.values[held_out], side="right")
    return classes


def fit_cuts(scores: ArrayLike, labels: ArrayLike, n_classes: int = len(GRADE_NAMES)) -> Floats:
    """The cut points of highest accuracy, found exactly.

    A score s gets the class ``searchsorted(cuts, s, side="right")``: the number of cuts ≤ s. With
    P_c(i) labels of class c among the i lowest distinct scores, the pairs that cuts at i_1 ≤ … get
    right are Σ_c P_{c−1}(i_c) − P_c(i_c), plus a constant; running maxima from the first cut to the
    last find the best sum in linear time after sorting.

    Args:
        scores: (pairs,) finite scores.
        labels: (pairs,) classes.
        n_classes: number of classes.

    Returns:
        (n_classes − 1,) ascending cuts, midway between neighbouring scores (±inf: beyond them);
        of equally good cuts the lowest.
    """
    values, truth = np.asarray(scores, np.float64), checked_classes(labels, "labels", n_classes)
    distinct, place = np.unique(values, return_inverse=True)
    counts = np.bincount(place * n_classes + truth, minlength=len(distinct) * n_classes)
    below = np.vstack([np.zeros(n_classes), np.cumsum(counts.reshape(-1, n_classes), axis=0)])
    gain = below[:, :-1] - below[:, 1:]
    best = np.zeros(len(below))
    chosen = []
    for cut in range(n_classes - 1):
        value = gain[:, cut] + best
        best = np.maximum.accumulate(value)
        chosen.append(_first_argmax(value, best))
    at = len(below) - 1
    places = []
    for argmax in reversed(chosen):
        at = argmax[at]
        places.append(at)
    edges = np.concatenate([[-np.inf], _between(distinct[:-1], distinct[1:]), [np.inf]])
    return edges[places[::-1]]


def folds_of(clusters: Sequence[Any], n_folds: int = 5, seed: int = 0) -> Ints:
    """Assign queries to folds so that those of one cluster stay together.

    Args:
        clusters: (queries,) hashable cluster of each query.
        n_folds: number of folds ≥ 2; fewer where there are fewer clusters.
        seed: seed of the random assignment.

    Returns:
        (queries,) folds 0 … n_folds − 1, whose numbers of clusters differ by one at most.
    """
    if n_folds < 2:
        raise MetricInputError("n_folds must be at least 2.", given=n_folds)
    labels = clusters.to_pylist() if isinstance(clusters, pa.Array) else list(clusters)
    place: dict[Any, int] = {}
    cluster = np.array([place.setdefault(label, len(place)) for label in labels], np.int64)
    order = np.random.default_rng(seed).permutation(len(place))
    return order[cluster] % n_folds


def _first_argmax(values: Floats, running_maximum: Floats) -> Ints:
    """For each prefix of ``values`` the first place of its maximum."""
    new = np.append(True, running_maximum[1:] > running_maximum[:-1])
    return np.maximum.accumulate(np.where(new, np.arange(len(values)), 0))


def _between(low: Floats, high: Floats) -> Floats:
    """Midpoints that are above ``low`` even where no number lies between."""
    middle = low / 2 + high / 2
    return np.where(middle > low, middle, high)


def _above_and_tied(rows: Ragged) -> tuple[Ints, Ints]:
    above, tied = np.empty(len(rows.values), np.int64), np.empty(len(rows.values), np.int64)
    for block in blocks(rows.offsets):
        laid = block.pad(rows.values.astype(np.float64, copy=False), -np.inf)
        row, column = np.nonzero(np.arange(block.width) < block.lengths[:, None])
        where = block.starts[row] + column
        above[where], tied[where] = count_above_and_tied(
            np.sort(laid, axis=1), row, laid[row, column]
        )
    return above, tied


def _checked_sizes(sizes: ArrayLike) -> Ints:
    array = np.asarray(sizes)
    if array.ndim != 2 or array.dtype.kind not in "iu" or (array < 0).any():
        raise MetricInputError(
            "sizes must be a (queries, classes) array of counts.", given=f"shape {array.shape}"
        )
    return array.astype(np.int64)
