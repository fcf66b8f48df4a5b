"""From chosen metrics to a table: figures, intervals, letters, marks, warnings.

In:  a :class:`~fashion_rq_bench.report.board.board.Board` and columns (task, metric, heading).
Out: a :class:`~fashion_rq_bench.support.grid.Grid`. Models stand by their first figure, best first;
     below them the random floor and the attribute oracle, which do not compete.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import combinations

import numpy as np

from fashion_rq_bench.evaluation.score_table import Column
from fashion_rq_bench.measures import statistics as stats
from fashion_rq_bench.report.board.board import Board, Measured, embedder
from fashion_rq_bench.support.grid import Cell, Grid, Row, figure, marks

__all__ = ["HOME", "leaderboard_grid", "letters", "names", "title_of", "warnings_of"]

HOME = " †"
"""Follows the name of a model that competes at home."""

_ROLES = {"floor": "random floor", "reference": "attribute oracle"}
_INTERVALS = (
    f"In brackets 95% intervals: percentiles of {stats.RESAMPLES:,} resamples of clusters, since "
    "queries of a cluster share a pool."
)
_LETTERS = (
    "Models that share a letter are not told apart: two-sided Wilcoxon signed-rank test on the "
    "clusters' mean differences, Holm over all pairs of the column, at .05. Only means over "
    "queries or groups have letters."
)
_REFERENCE = (
    "The floor is what random orders reach; the oracle ranks by the query's own attributes: a "
    "reference, not a bound."
)


def leaderboard_grid(
    board: Board,
    key: str,
    title: str,
    columns: Sequence[Column],
    notes: Sequence[str] = (),
    *,
    counts: bool = False,
) -> Grid:
    """A table of some metrics of all models.

    Args:
        board: the results.
        key, title, notes: of the table; what holds for all tables is added to the notes.
        columns: what to show; metrics that the results do not have are left out.
        counts: add a row with the number of queries of each column.
    """
    shown = [column for column in columns if board.has(column.task, column.metric)]
    measured = [board.measure(column.task, column.metric) for column in shown]
    rows = _rows(board, [_cells(board, one) for one in measured])
    if counts and measured:
        asked = [int(one.n.max()) for one in measured]
        rows.append(Row("queries", tuple(Cell(f"{n:,}", value=float(n)) for n in asked), rule=True))
    heads = [" ".join(column.heading.split()).replace(" @", "@") for column in shown]
    told = [*notes, _INTERVALS, _LETTERS, _REFERENCE, *warnings_of(board)]
    if not counts:
        told += _undefined(heads, measured)
    return Grid(key, title_of(board, title), ("model", *heads), tuple(rows), tuple(told))


def title_of(board: Board, title: str) -> str:
    """A table's title with the edition it is of."""
    return f"{title} ({board.edition.name}, edition {board.edition.id[:12]})"


def names(board: Board) -> list[str]:
    """What each model is called in a table."""
    return [_ROLES.get(one.role, one.label) + (HOME if one.at_home else "") for one in board.models]


def warnings_of(board: Board) -> list[str]:
    """What a reader must know before comparing these models."""
    if not any(one.at_home for one in board.models):
        return []
    return [
        "† competes at home: the edition's hierarchy, from which the grades come, was built from "
        f"the vectors of {embedder(board.edition)}."
    ]


def letters(measured: Measured, places: Sequence[int]) -> list[str]:
    """Letters of the models at some places: those that share one are not told apart."""
    pairs = list(combinations(places, 2))
    if not pairs or np.isnan(measured.values[list(places)]).all():
        return [""] * len(places)
    found = measured.differences(pairs)
    adjusted = stats.holm(found.p_value)
    differ = np.zeros((len(measured.figures),) * 2, dtype=np.bool_)
    first, second = found.pairs.T
    differ[first, second] = differ[second, first] = adjusted < stats.LEVEL
    return stats.compact_letters(measured.figures[list(places)], differ[np.ix_(places, places)])


def _cells(board: Board, measured: Measured) -> list[Cell]:
    places = board.places()
    low, high = measured.interval
    mark = dict(zip(places, marks([measured.figures[p] for p in places]), strict=True))
    group = dict(zip(places, letters(measured, places), strict=True))
    return [
        Cell(
            figure(value),
            "" if math.isnan(low[place]) else f"[{figure(low[place])}, {figure(high[place])}]",
            float(value),
            float(low[place]),
            float(high[place]),
            mark.get(place, ""),
            group.get(place, ""),
        )
        for place, value in enumerate(measured.figures)
    ]


def _rows(board: Board, columns: Sequence[Sequence[Cell]]) -> list[Row]:
    if not columns:
        return []
    first = [math.inf if math.isnan(cell.value) else -cell.value for cell in columns[0]]
    models = sorted(board.places(), key=lambda place: first[place])
    others = board.places("floor") + board.places("reference")
    called = names(board)
    return [
        Row(called[place], tuple(column[place] for column in columns), rule=place in others[:1])
        for place in [*models, *others]
    ]


def _undefined(heads: Sequence[str], measured: Sequence[Measured]) -> list[str]:
    most = [int(one.undefined[one.n > 0].max(initial=0)) for one in measured]
    counted = [f"{head} {n:,}" for head, n in zip(heads, most, strict=True) if n]
    return [f"Undefined and left out (queries or groups): {', '.join(counted)}."] if counted else []
