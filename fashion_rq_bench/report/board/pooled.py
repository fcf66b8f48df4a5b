"""Task 2's figures from many confusion matrices at once, such as the draws of a bootstrap.

In:  (…, 16) counts, the cells of 4 x 4 confusion matrices, rows labels and columns predictions.
Out: (…) figures, equal to those of ``classification.report_from_confusion``.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fashion_rq_bench.errors import ConfigError
from fashion_rq_bench.evaluation.task_scores import CONSISTENT, CUTS
from fashion_rq_bench.measures.statistics._numbers import ratio
from fashion_rq_bench.schema.grades import GRADE_NAMES

__all__ = ["POOLED", "figures_of", "is_pooled"]

Floats = NDArray[np.float64]

POOLED = (
    "accuracy",
    "macro_f1",
    "ordinal_error",
    *(f"{side}_{grade}" for side in ("precision", "recall", "f1") for grade in GRADE_NAMES),
)
"""Names of the figures; each also with ``cuts_`` or ``consistent_`` before it."""


def is_pooled(metric: str) -> bool:
    """Whether a metric's name is one of ``POOLED``, in any form."""
    return metric.removeprefix(CUTS).removeprefix(CONSISTENT) in POOLED


def figures_of(name: str, cells: Floats) -> Floats:
    """A figure of every confusion matrix.

    Args:
        name: one of ``POOLED``.
        cells: (…, 16) counts.

    Returns:
        (…) in [0, 1], ordinal error in [0, 3]; NaN where it is not defined.

    Raises:
        ConfigError: there is no such figure.
    """
    size = len(GRADE_NAMES)
    confusion = cells.reshape(*cells.shape[:-1], size, size)
    support, predicted = confusion.sum(axis=-1), confusion.sum(axis=-2)
    right = np.diagonal(confusion, axis1=-2, axis2=-1)
    total = support.sum(axis=-1)
    if name == "accuracy":
        return ratio(right.sum(axis=-1), total)
    if name == "ordinal_error":
        grades = np.arange(size)
        distance = np.abs(grades[:, None] - grades)
        return ratio((confusion * distance).sum(axis=(-2, -1)), total)
    if name == "macro_f1":
        f1 = ratio(2 * right, support + predicted)
        return ratio(np.nansum(f1, axis=-1), (~np.isnan(f1)).sum(axis=-1).astype(np.float64))
    side, _, grade = name.partition("_")
    below = {"precision": predicted, "recall": support, "f1": (support + predicted) / 2}
    if side not in below or grade not in GRADE_NAMES:
        raise ConfigError("There is no such figure of task 2.", given=name, allowed=POOLED)
    place = GRADE_NAMES.index(grade)
    return ratio(right[..., place], below[side][..., place])
