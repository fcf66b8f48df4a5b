"""How right classes are: accuracy, F1, confusion and ordinal error (paper, section 5, task 2).

In:  labels and predicted classes of (query, product) pairs, or probabilities of the classes.
Out: :class:`Report`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fashion_rq_bench.errors import MetricInputError
from fashion_rq_bench.measures._ragged import Array, Ints
from fashion_rq_bench.measures.statistics._numbers import ratio
from fashion_rq_bench.schema.grades import GRADE_NAMES

__all__ = ["Report", "checked_classes", "classification_report", "report_from_confusion"]

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
    truth = checked_classes(labels, "labels", n_classes)
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
    guess = checked_classes(predicted, "predictions", n_classes)
    counts = np.bincount(truth * n_classes + guess, minlength=n_classes**2)
    return report_from_confusion(counts.reshape(n_classes, n_classes).astype(np.float64))


def report_from_confusion(confusion: Floats) -> Report:
    """The report on a (classes, classes) confusion matrix, rows labels, columns predictions."""
    total = float(confusion.sum())
    support, predicted, right = confusion.sum(axis=1), confusion.sum(axis=0), confusion.diagonal()
    f1 = ratio(2 * right, support + predicted)
    grades = np.arange(len(confusion))
    distance = np.abs(grades[:, None] - grades)
    return Report(
        n=round(total),
        confusion=confusion,
        accuracy=float(right.sum() / total),
        macro_f1=float(np.nanmean(f1)),
        ordinal_error=float((confusion * distance).sum() / total),
        precision=ratio(right, predicted),
        recall=ratio(right, support),
        f1=f1,
        support=support,
    )


def checked_classes(values: ArrayLike, name: str, n_classes: int) -> Ints:
    """Classes as whole numbers; a MetricInputError names what is none."""
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
