"""Relevance classification as an ``evaluate`` module; the definitions stand in
``fashion_rq_bench.measures.classification``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import datasets
import numpy as np

import fashion_rq_bench.errors as errors
import fashion_rq_bench.measures.classification as library
import fashion_rq_bench.metrics._base as base
import fashion_rq_bench.schema.grades as grades

_DESCRIPTION = """
Classification of (query, product) pairs into irrelevant, related, sibling and exact: accuracy,
macro-F1, figures per class, confusion and ordinal error. Models that give scores instead of classes
are read by one of two rules: the pool's best scores get the highest classes, as many as the pool
holds ("rank"), or three cut points fitted on other queries ("cuts").
"""

_CITATION = """
FASHION-RQ: sections 4 and 5 (Hierarchical Relevance Classification).
"""

_INPUTS = """
Args:
    predictions: for each pair its class, 0 to 3 or by name; or for each query the list of its
        products' scores.
    references: for each pair its class; or for each query the list of its products' classes.
    rule: "rank" (default) or "cuts": from scores to classes.
    clusters: for each query its cluster; queries of one cluster are held out together ("cuts").
    n_folds: number of folds for "cuts" (5).
    seed: seed of the folds (0).
Returns:
    "accuracy", "macro_f1", "ordinal_error" (mean distance in grades), "n" (pairs);
    "precision", "recall", "f1", "support" by class, NaN where undefined; "confusion" (rows labels).
Examples:
    >>> metric = evaluate.load("relevance_classification")
    >>> metric.compute(predictions=[3, 2, 0, 0], references=[3, 2, 1, 0])["accuracy"]
    0.75
    >>> metric.compute(predictions=[[0.9, 0.2, 0.5]], references=[[3, 0, 1]])["accuracy"]
    1.0
"""


def _class(value: Any, row: int, field: str) -> int:
    if isinstance(value, str) and value in grades.GRADE_NAMES:
        return grades.GRADE_NAMES.index(value)
    whole = isinstance(value, int | np.integer) and not isinstance(value, bool)
    if not whole or not 0 <= value < len(grades.GRADE_NAMES):
        raise errors.MetricInputError(
            f"{field} of row {row} must be a class.",
            given=value,
            allowed=[*range(len(grades.GRADE_NAMES)), *grades.GRADE_NAMES],
        )
    return int(value)


def _score(value: Any, row: int) -> float:
    number = isinstance(value, int | float | np.number) and not isinstance(value, bool)
    if not number or not np.isfinite(value):
        raise errors.MetricInputError(
            f"predictions of row {row} must be finite scores.", given=value
        )
    return float(value)


def _is_list(value: Any) -> bool:
    return hasattr(value, "__len__") and not isinstance(value, str)


class RelevanceClassification(base.ValidatedMetric):
    """Accuracy, macro-F1 and more over the four grades."""

    texts = (_DESCRIPTION, _CITATION, _INPUTS)
    features_of_input = (
        datasets.Features(
            {"predictions": datasets.Value("int64"), "references": datasets.Value("int64")}
        ),
        datasets.Features(
            {
                "predictions": datasets.List(datasets.Value("float64")),
                "references": datasets.List(datasets.Value("int64")),
            }
        ),
    )

    def checked(self, predictions: Any, references: Any) -> tuple[list[Any], list[Any]]:
        """See :meth:`ValidatedMetric.checked`."""
        base.check_equally_long(predictions, references)
        if not _is_list(predictions[0]):
            return (
                [_class(one, row, "predictions") for row, one in enumerate(predictions)],
                [_class(one, row, "references") for row, one in enumerate(references)],
            )
        for row, (scores, labels) in enumerate(zip(predictions, references, strict=True)):
            if not _is_list(scores) or not _is_list(labels) or len(scores) != len(labels):
                raise errors.MetricInputError(
                    f"Row {row} must hold as many scores in predictions as classes in references.",
                    given=(scores, labels),
                )
        return (
            [[_score(one, row) for one in scores] for row, scores in enumerate(predictions)],
            [
                [_class(one, row, "references") for one in some]
                for row, some in enumerate(references)
            ],
        )

    def _compute(
        self,
        predictions: list[Any],
        references: list[Any],
        *,
        rule: str = "rank",
        clusters: Sequence[Any] | None = None,
        n_folds: int = 5,
        seed: int = 0,
    ) -> dict[str, Any]:
        labels: Any = references
        classes: Any = predictions
        if _is_list(predictions[0]):
            labels = np.concatenate([np.asarray(row, np.int64) for row in references])
            classes = _classes(predictions, references, rule, clusters, n_folds, seed)
        report = library.classification_report(labels, classes)
        result = {
            name: getattr(report, name) for name in ("accuracy", "macro_f1", "ordinal_error", "n")
        }
        for name in ("precision", "recall", "f1", "support"):
            values = getattr(report, name).tolist()
            result[name] = dict(zip(grades.GRADE_NAMES, values, strict=True))
        return result | {"confusion": report.confusion.tolist()}


def _classes(
    scores: list[Any],
    labels: list[Any],
    rule: str,
    clusters: Sequence[Any] | None,
    n_folds: int,
    seed: int,
) -> Any:
    if rule == "rank":
        return library.classes_by_rank(scores, library.class_sizes(labels))
    if rule != "cuts":
        raise errors.MetricInputError(
            "There is no such rule.", given=rule, allowed=["rank", "cuts"]
        )
    groups = range(len(scores)) if clusters is None else clusters
    return library.classes_by_cuts(scores, labels, library.folds_of(groups, n_folds, seed))
