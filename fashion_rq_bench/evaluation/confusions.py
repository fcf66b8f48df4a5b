"""T2's confusions: counted by query, and the figures of their sum.

In:  classes as graded and as predicted, pool by pool.
Out: a count for each of the 16 cells per query, and accuracy, F1 and the rest over all pairs.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fashion_rq_bench.measures._ragged import Ragged
from fashion_rq_bench.measures.classification import report_from_confusion
from fashion_rq_bench.measures.ranking import Mean
from fashion_rq_bench.schema.grades import GRADE_NAMES

__all__ = ["CONFUSION", "confusions", "pair_level"]

Floats = NDArray[np.float64]

CONFUSION = "confusion_"
"""What the names of the cells begin with."""

_FIGURES = ("accuracy", "macro_f1", "ordinal_error")


def confusions(grades: Ragged, predicted: Floats) -> dict[str, Floats]:
    """Accuracy and the 4 x 4 confusion matrix of every query.

    Args:
        grades: of each query's pool.
        predicted: (pairs, 4) share of each class in what is predicted.
    """
    labels, query, count = grades.values, grades.row_numbers(), len(grades)
    right = predicted[np.arange(len(labels)), labels]
    found: dict[str, Floats] = {"accuracy": np.bincount(query, right, count) / grades.lengths}
    for label, one in enumerate(GRADE_NAMES):
        for prediction, other in enumerate(GRADE_NAMES):
            part = np.where(labels == label, predicted[:, prediction], 0.0)
            found[f"{CONFUSION}{one}_{other}"] = np.bincount(query, part, count).astype(float)
    return found


def pair_level(values: dict[str, Floats], start: str) -> dict[str, Mean]:
    """A classification report on the summed confusion matrices."""
    cells = [
        values[f"{start}{CONFUSION}{one}_{other}"] for one in GRADE_NAMES for other in GRADE_NAMES
    ]
    confusion = np.array([cell.sum() for cell in cells]).reshape(len(GRADE_NAMES), -1)
    queries = len(cells[0])
    used = int((np.sum(cells, axis=0) > 0).sum())
    if not used:
        return {f"{start}{name}": Mean(np.nan, 0, queries) for name in _FIGURES}
    report = report_from_confusion(confusion)
    found = {name: getattr(report, name) for name in _FIGURES}
    for side in ("precision", "recall", "f1"):
        by_class = getattr(report, side)
        found |= {f"{side}_{name}": by_class[grade] for grade, name in enumerate(GRADE_NAMES)}
    return {
        f"{start}{name}": Mean(float(value), used, queries - used) for name, value in found.items()
    }
