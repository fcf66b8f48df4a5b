"""Relevance classification (task 2): from scores to classes, and how right the classes are.

Lives here: ``report.py`` and, for models that give no classes, ``from_scores.py``. May import:
``schema``. Must not import: relevance, editions, retrievers.

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

from fashion_rq_bench.measures.classification.from_scores import (
    class_sizes,
    classes_by_cuts,
    classes_by_rank,
    fit_cuts,
    folds_of,
)
from fashion_rq_bench.measures.classification.report import (
    Report,
    classification_report,
    report_from_confusion,
)

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
