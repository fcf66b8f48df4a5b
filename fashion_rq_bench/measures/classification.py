"""Relevance classification (task 2): from scores to classes, and how right the classes are.

In:  labels and predicted classes of (query, product) pairs; or scores, for models that give none.
Out: :class:`Report` (accuracy, macro-F1, per-class figures, confusion, ordinal error), and classes
     from scores by two rules.

Implements the paper's task 2 (sections 4 and 5): accuracy and macro-F1 over the four grades.

Embedders give scores, not classes, so classes are read off them by

- :func:`classes_by_rank`: within each query's pool the best scores get the highest class, as many
  of each class as the pool holds. Tied products share: each gets every class with the share of the
  tie's ranks that the class takes. The result is a distribution per pair, and the report its exact
  expectation over random tie orders (the number of predictions per class is fixed, so that F1,
  too, is linear in the confusion matrix).
- :func:`classes_by_cuts`: one cut point between each two neighbouring classes, the same for all
  queries, chosen for accuracy on other folds.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import ArrayLike, NDArray

from fashion_rq_bench.errors import MetricInputError
from fashion_rq_bench.measures._ragged import (
    Array,
    Ints,
    Ragged,
    blocks,
    check_same_rows,
    number_rows,
)
from fashion_rq_bench.measures.ranked._ranks import count_above_and_tied
from fashion_rq_bench.schema.grades import GRADE_NAMES

__all__ = [
    "Report",
    "class_sizes",
    "classes_by_cuts",
    "classes_by_rank",
    "classification_report",
    "fit_cuts",
    "folds_of",
    "report_from_confusion",
]

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Report:
    """How right predicted classes are; an expectation where predictions are distributions.

    Attributes:
        n: number of pairs.
        confusion: (classes, classes) pairs by label (row) and prediction (column).
        accuracy: share of pairs whose class is right, in [0, 1].
        macro_f1: mean F1 over the classes that occur as label or prediction, in [0, 1].
        ordinal_error: mean absolute distance between label and prediction, in grades.
        precision: (classes,) NaN for a class that is never predicted.
        recall: (classes,) NaN for a class without labels.
        f1: (classes,) NaN for a class that occurs as neither.
        support: (classes,) pairs with that label.
    """

    n: int
    confusion: Floats
    accuracy: float
    macro_f1: float
    ordinal_error: float
    precision: Floats
    recall: Floats
    f1: Floats
    support: Floats


def classification_report(
    labels: ArrayLike, predictions: ArrayLike, n_classes: int = len(GRADE_NAMES)
) -> Report:
    """Compare predicted classes with labels (paper, section 5, task 2).

    Args:
        labels: (pairs,) classes 0 … n_classes − 1; here a class is its grade.
        predictions: (pairs,) classes, or (pairs, n_classes) probabilities that sum to 1 per pair.
        n_classes: number of classes.

    Raises:
        MetricInputError: no pairs, unequal lengths, a class out of range, a row not summing to 1.
    """
    truth = _classes(labels, "labels", n_classes)
    predicted = np.asarray(predictions)
    if len(predicted) != len(truth):
        raise MetricInputError(
            "labels and predictions must be equally long.",
            given=f"{len(truth)} labels, {len(predicted)} predictions",
        )
    if predicted.ndim == 2:
        _check_probabilities(predicted, n_classes)
        columns = [np.bincount(truth, column, minlength=n_classes) for column in predicted.T]
        return report_from_confusion(np.stack(columns, axis=1))
    guess = _classes(predicted, "predictions", n_classes)
    counts = np.bincount(truth * n_classes + guess, minlength=n_classes**2)
    return report_from_confusion(counts.reshape(n_classes, n_classes).astype(np.float64))


def report_from_confusion(confusion: Floats) -> Report:
    """The report on a (classes, classes) confusion matrix, rows labels, columns predictions."""
    total = float(confusion.sum())
    support, predicted, right = confusion.sum(axis=1), confusion.sum(axis=0), confusion.diagonal()
    f1 = _divide(2 * right, support + predicted)
    grades = np.arange(len(confusion))
    distance = np.abs(grades[:, None] - grades)
    return Report(
        n=round(total),
        confusion=confusion,
        accuracy=float(right.sum() / total),
        macro_f1=float(np.nanmean(f1)),
        ordinal_error=float((confusion * distance).sum() / total),
        precision=_divide(right, predicted),
        recall=_divide(right, support),
        f1=f1,
        support=support,
    )


def class_sizes(labels: Any, n_classes: int = len(GRADE_NAMES)) -> Ints:
    """How many products of each class every pool holds: (queries, n_classes).

    Args:
        labels: classes, one row per query (2-D, lists, or Arrow lists).
    """
    rows = number_rows(labels, "labels", minimum=0)
    classes = _classes(rows.values, "labels", n_classes)
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
    truth = _classes(label_rows.values, "labels", n_classes)
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
    values, truth = np.asarray(scores, np.float64), _classes(labels, "labels", n_classes)
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


def _classes(values: ArrayLike, name: str, n_classes: int) -> Ints:
    array: Array = np.asarray(values)
    if array.ndim != 1 or not len(array):
        raise MetricInputError(
            f"{name} must be a list of classes and not empty.", given=f"shape {array.shape}"
        )
    whole, wrong = np.zeros(len(array), np.int64), np.ones(len(array), np.bool_)
    if array.dtype.kind in "iubf":
        with np.errstate(invalid="ignore"):
            whole = array.astype(np.int64)
        wrong = (whole != array) | (whole < 0) | (whole >= n_classes)
    if wrong.any():
        raise MetricInputError(
            f"{name} must be whole numbers from 0 to {n_classes - 1}; number {wrong.argmax()} of "
            "them is not.",
            given=array[wrong.argmax()],
        )
    return whole


def _check_probabilities(predicted: Array, n_classes: int) -> None:
    if predicted.shape[1] != n_classes:
        raise MetricInputError(
            f"predictions must have {n_classes} columns.", given=f"shape {predicted.shape}"
        )
    bad = ~(np.abs(predicted.sum(axis=1) - 1.0) < 1e-6) | (predicted < 0).any(axis=1)
    if bad.any():
        raise MetricInputError(
            f"The probabilities of pair {int(bad.argmax())} must not be negative and sum to 1.",
            given=predicted[bad.argmax()].tolist(),
        )


def _checked_sizes(sizes: ArrayLike) -> Ints:
    array = np.asarray(sizes)
    if array.ndim != 2 or array.dtype.kind not in "iu" or (array < 0).any():
        raise MetricInputError(
            "sizes must be a (queries, classes) array of counts.", given=f"shape {array.shape}"
        )
    return array.astype(np.int64)


def _divide(part: Floats, whole: Floats) -> Floats:
    result: Floats = np.full(len(part), np.nan)
    np.divide(part, whole, out=result, where=whole > 0)
    return result
