"""What the leaderboard's table shows: figures of every model with their intervals.

In:  a :class:`~fashion_rq_bench.report.board.board.Board`: all results of one edition.
Out: JSON-able models, column sets and cells ``[value, low, high, n, undefined]``: the metrics of
     the paper's section 5 (Tables 2 and 3), in its protocol and in the consistent form.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import product
from typing import Any, NamedTuple

from fashion_rq_bench.errors import ConfigError
from fashion_rq_bench.evaluation.score_table import COLUMNS
from fashion_rq_bench.evaluation.task_scores import CONSISTENT, CUTS
from fashion_rq_bench.evaluation.whole_catalog import RETRIEVAL
from fashion_rq_bench.report.board.board import Board, Scored
from fashion_rq_bench.schema.domain import domain
from fashion_rq_bench.schema.grades import GRADE_NAMES

__all__ = ["SETS", "Column", "ColumnSet", "table_data", "title_of"]

_DIGITS = 9
"""Decimals in the page: many more than it prints, or rounding twice would change the last."""
_HEADINGS = {
    "ranking": "T1 Ranking",
    "classification": "T2 Classification",
    "sibling": "T3 Sibling",
    "paraphrase": "T4 Paraphrase",
    RETRIEVAL: "Whole corpus",
}
_TITLES = {
    "ndcg": "nDCG",
    "recall": "Recall",
    "recall_sibling": "Recall of Sibling or better",
    "recall_exact": "Recall of Exact",
    "consistency": "Consistency",
    "accuracy": "Accuracy",
    "macro_f1": "Macro\u2011F1",
    "ordinal_error": "Ordinal error",
    "rel": "Rel",
}
_ROLE_TITLES = {"floor": "random floor", "reference": "oracle"}

Cells = list[list[float]]


class Column(NamedTuple):
    """A task's metric, its title, and whether less is better."""

    task: str
    metric: str
    title: str
    lower_is_better: bool = False

    @property
    def key(self) -> str:
        """``task/metric``, as cells are named."""
        return f"{self.task}/{self.metric}"


class ColumnSet(NamedTuple):
    """Columns shown together."""

    key: str
    title: str
    columns: tuple[Column, ...]


def title_of(metric: str) -> str:
    """``ndcg@10`` as it is written: nDCG@10."""
    name, at, cutoff = metric.partition("@")
    return _TITLES.get(name, name) + at + cutoff


def _columns(task: str, metrics: Iterable[str]) -> tuple[Column, ...]:
    return tuple(
        Column(task, metric, title_of(metric), metric == "ordinal_error") for metric in metrics
    )


def _at(names: Iterable[str], cutoffs: Iterable[int]) -> list[str]:
    return [f"{name}@{k}" for name, k in product(names, cutoffs)]


def _by_attribute(start: str, task: str = "ranking") -> tuple[Column, ...]:
    return tuple(Column(task, f"{start}_{name}", name.replace("_", " ")) for name in domain().names)


def _by_class() -> tuple[Column, ...]:
    return tuple(
        Column("classification", f"{side}_{grade}", f"{title} {grade}")
        for side, title in (("f1", "F1"), ("precision", "Precision"), ("recall", "Recall"))
        for grade in reversed(GRADE_NAMES)
    )


def _cut(column: Column) -> Column:
    return column._replace(metric=CUTS + column.metric, title=f"{column.title}, by cut points")


_CLASSES = _columns("classification", ("accuracy", "macro_f1", "ordinal_error"))

SETS: tuple[ColumnSet, ...] = (
    ColumnSet(
        "overview",
        "Overview (Table 2 and Rel)",
        tuple(Column(one.task, one.metric, title_of(one.metric)) for one in COLUMNS),
    ),
    ColumnSet(
        "ranking",
        "T1 Ranking",
        _columns(
            "ranking", [*_at(("ndcg", "recall", "recall_sibling", "recall_exact"), (5, 10)), "rel"]
        ),
    ),
    ColumnSet("classification", "T2 Classification", (*_CLASSES, *map(_cut, _CLASSES))),
    ColumnSet("classes", "T2 by class", _by_class()),
    ColumnSet(
        "sibling", "T3 Sibling", _columns("sibling", [*_at(("ndcg", "recall"), (1, 3)), "accuracy"])
    ),
    ColumnSet(
        "paraphrase",
        "T4 Paraphrase",
        _columns("paraphrase", ("consistency@5", "consistency@10", "ndcg@10")),
    ),
    ColumnSet(
        RETRIEVAL,
        "Whole corpus (Recall of Exact products)",
        _columns(
            RETRIEVAL,
            [*_at(["ndcg"], (5, 10, 20)), *_at(("recall", "recall_sibling"), (10, 20, 100)), "rel"],
        ),
    ),
    ColumnSet("attr", "AttrScore of the top product", _by_attribute("attr")),
    ColumnSet("ndcg@10", "T1 nDCG@10 by expressed attribute", _by_attribute("ndcg@10")),
    ColumnSet("ndcg@5", "T1 nDCG@5 by expressed attribute", _by_attribute("ndcg@5")),
    ColumnSet("recall@10", "T1 Recall@10 by expressed attribute", _by_attribute("recall@10")),
    ColumnSet(
        "retrieval-attr",
        "Whole corpus: AttrScore of the top product",
        _by_attribute("attr", RETRIEVAL),
    ),
)


def table_data(board: Board) -> dict[str, Any]:
    """The table: who, which columns, and every cell.

    Returns:
        ``models``; ``sets`` with columns by key and the key of each column's consistent form (None
        if it has none); ``cells``: key to one ``[value, low, high, n, undefined]`` per model, with
        NaN where undefined; ``resamples`` of the intervals.
    """
    cells: dict[str, Cells] = {}
    sets = [_set_as_dict(board, one, cells) for one in SETS]
    first = next(iter(board.units.values()))[0]
    return {
        "models": list(map(_model_as_dict, board.models)),
        "sets": [one for one in sets if one["columns"]],
        "cells": cells,
        "resamples": len(first.resampling.counts),
    }


def _model_as_dict(one: Scored) -> dict[str, Any]:
    title = _ROLE_TITLES.get(one.role, one.name) + one.label.removeprefix(one.name)
    return {"name": title, "id": one.model_id, "role": one.role, "home": one.at_home}


def _set_as_dict(board: Board, one: ColumnSet, cells: dict[str, Cells]) -> dict[str, Any]:
    """A set with those of its columns that have results, whose cells are added to ``cells``."""
    columns = []
    for column in one.columns:
        if _fill(board, column, cells):
            fair = column._replace(metric=CONSISTENT + column.metric)
            columns.append(
                {
                    "key": column.key,
                    "group": _HEADINGS[column.task],
                    "title": column.title,
                    "lower": column.lower_is_better,
                    "consistent": fair.key if _fill(board, fair, cells) else None,
                }
            )
    return {"key": one.key, "title": one.title, "columns": columns}


def _fill(board: Board, column: Column, cells: dict[str, Cells]) -> bool:
    """Add a column's cells; False if the results have no such metric."""
    if column.key not in cells:
        try:
            found = board.measure(column.task, column.metric)
        except ConfigError:
            return False
        rounded = [values.round(_DIGITS).tolist() for values in (found.figures, *found.interval)]
        counts = [found.n.tolist(), found.undefined.tolist()]
        cells[column.key] = [list(cell) for cell in zip(*rounded, *counts, strict=True)]
    return True
