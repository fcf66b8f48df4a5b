"""Values per query, or per paraphrase group, and the means over them.

In:  metrics by name, one value per query; or rows of the results table.
Out: :class:`TaskScores` of one model and task, and its means with the number each is over.

The means are those of the paper's section 5: T2's from summed confusion matrices, T1's also over
the queries that express each attribute.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from fashion_rq_bench.measures.classification import report_from_confusion
from fashion_rq_bench.measures.ranking import Mean, mean
from fashion_rq_bench.schema.grades import GRADE_NAMES

__all__ = ["ATTRIBUTE", "CONFUSION", "CONSISTENT", "CUTS", "TaskScores", "Units"]

ATTRIBUTE = "attr_"
CONFUSION = "confusion_"
CONSISTENT = "consistent_"
CUTS = "cuts_"
"""Starts of names of metrics: m_a of an attribute, a cell of T2's confusion matrix, the consistent
form, T2 by fitted cut points."""

Floats = NDArray[np.float64]

_PAIR_LEVEL = ("accuracy", "macro_f1", "ordinal_error")


@dataclass(frozen=True, eq=False)
class Units:
    """Metrics over queries, or over paraphrase groups.

    Attributes:
        ids: (N,) query or group ids.
        prefixes: (N,) their anchors' codes joined by "-".
        values: metric to (N,) values, NaN where undefined.
    """

    ids: list[str]
    prefixes: list[str]
    values: dict[str, Floats]


@dataclass(frozen=True, eq=False)
class TaskScores:
    """What one model reached in one task."""

    task: str
    queries: Units
    groups: Units

    @classmethod
    def from_rows(cls, task: str, table: pa.Table) -> TaskScores:
        """Read back rows of ``schema.RESULTS`` of one model and task."""
        units: tuple[dict[str, Floats], dict[str, Floats]] = ({}, {})
        named: list[tuple[list[str], list[str]]] = [([], []), ([], [])]
        for metric in pc.unique(table["metric"]).to_pylist():
            rows = table.filter(pc.equal(table["metric"], metric))
            side = int("consistency@" in metric)
            units[side][metric] = rows["value"].to_numpy()
            named[side] = (rows["query_id"].to_pylist(), rows["prefix"].to_pylist())
        sides = [Units(*names, values) for names, values in zip(named, units, strict=True)]
        return cls(task, *sides)

    def means(self) -> dict[str, Mean]:
        """Mean of every metric and over how many queries (or groups) it is.

        T2's figures are over all pairs, from the summed confusion matrices. T1's ranking metrics
        come, too, over the queries that express an attribute: ``ndcg@10_color``.
        """
        found = {
            metric: mean(values)
            for units in (self.queries, self.groups)
            for metric, values in units.values.items()
            if CONFUSION not in metric
        }
        if self.task == "classification":
            for start in ("", CUTS, CONSISTENT):
                found |= _pair_level(self.queries.values, start)
        if self.task == "ranking":
            found |= _by_attribute(self.queries.values)
        return found


def _pair_level(values: dict[str, Floats], start: str) -> dict[str, Mean]:
    """A classification report on the summed confusion matrices."""
    cells = [
        values[f"{start}{CONFUSION}{one}_{other}"] for one in GRADE_NAMES for other in GRADE_NAMES
    ]
    confusion = np.array([cell.sum() for cell in cells]).reshape(len(GRADE_NAMES), -1)
    queries = len(cells[0])
    used = int((np.sum(cells, axis=0) > 0).sum())
    if not used:
        return {f"{start}{name}": Mean(np.nan, 0, queries) for name in _PAIR_LEVEL}
    report = report_from_confusion(confusion)
    found = {name: getattr(report, name) for name in _PAIR_LEVEL}
    for side in ("precision", "recall", "f1"):
        by_class = getattr(report, side)
        found |= {f"{side}_{name}": by_class[grade] for grade, name in enumerate(GRADE_NAMES)}
    return {
        f"{start}{name}": Mean(float(value), used, queries - used) for name, value in found.items()
    }


def _by_attribute(values: dict[str, Floats]) -> dict[str, Mean]:
    asked = {name: ~np.isnan(one) for name, one in values.items() if name.startswith(ATTRIBUTE)}
    return {
        f"{metric}_{name.removeprefix(ATTRIBUTE)}": mean(values[metric][rows])
        for metric in ("ndcg@5", "ndcg@10", "recall@5", "recall@10")
        for name, rows in asked.items()
    }
