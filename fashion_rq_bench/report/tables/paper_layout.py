"""The results of an edition as tables like the paper's Tables 2 and 3, and what stands behind them.

In:  a :class:`~fashion_rq_bench.report.board.board.Board`.
Out: :class:`~fashion_rq_bench.support.grid.Grid` objects: the four tasks and their consistent form,
     Rel with the attributes' scores, T1 by expressed attribute, T2 by class, ranks.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from fashion_rq_bench.evaluation.score_table import COLUMNS, Column
from fashion_rq_bench.evaluation.task_scores import CONSISTENT, CUTS, MAIN_METRICS
from fashion_rq_bench.evaluation.whole_catalog import RETRIEVAL
from fashion_rq_bench.measures import statistics as stats
from fashion_rq_bench.report.board.board import Board, at_home
from fashion_rq_bench.report.tables.leaderboard import (
    leaderboard_grid,
    names,
    title_of,
    warnings_of,
)
from fashion_rq_bench.schema.domain import domain
from fashion_rq_bench.schema.grades import GRADE_NAMES
from fashion_rq_bench.support.grid import Cell, Grid, Row, figure

__all__ = [
    "TASK_TITLES",
    "attribute_scores",
    "by_attribute",
    "by_class",
    "four_tasks",
    "paper_tables",
    "ranks",
    "whole_corpus",
    "words",
]

TASK_TITLES = {
    "ranking": "T1 ranking",
    "classification": "T2 classification",
    "sibling": "T3 sibling",
    "paraphrase": "T4 paraphrase",
    RETRIEVAL: "whole corpus",
}


def paper_tables(board: Board) -> list[Grid]:
    """All tables of one edition; those for which there are no results are left out."""
    made = (
        four_tasks(board),
        four_tasks(board, consistent=True),
        attribute_scores(board),
        by_attribute(board),
        by_class(board),
        whole_corpus(board),
        ranks(board),
    )
    return [grid for grid in made if len(grid.columns) > 1]


def four_tasks(board: Board, *, consistent: bool = False) -> Grid:
    """Table 2: the four tasks; or their consistent form."""
    chosen = [column for column in COLUMNS if column.metric != "rel"]
    if not consistent:
        return leaderboard_grid(board, "four-tasks", "The four tasks", chosen)
    chosen = [column._replace(metric=CONSISTENT + column.metric) for column in chosen]
    title = "The four tasks without pairs of lower tiers that satisfy every wish"
    return leaderboard_grid(board, "four-tasks-consistent", title, chosen)


def attribute_scores(board: Board) -> Grid:
    """Table 3: Rel and the attributes' scores of the product ranked first."""
    chosen = [Column("ranking", "rel", "Rel")]
    chosen += [Column("ranking", f"attr_{name}", words(name)) for name in domain().names]
    title = "Weighted relevance (Rel) and attribute scores of the product ranked first"
    notes = ["A score is the mean over the queries that express the attribute; their number below."]
    notes += _judge(board)
    return leaderboard_grid(board, "attribute-scores", title, chosen, notes, counts=True)


def _judge(board: Board) -> list[str]:
    """Whether a model is the very encoder that attribute values are compared with."""
    encoder = str(board.edition.encoder["name"])
    own = [one.label for one in board.models if at_home(one.name, encoder)]
    if not own:
        return []
    return [
        f"Attribute values are compared by {encoder}, which is the encoder of {', '.join(own)}."
    ]


def by_attribute(board: Board) -> Grid:
    """T1's main metric over the queries that express an attribute."""
    metric = MAIN_METRICS["ranking"]
    chosen = [Column("ranking", metric, "all")]
    chosen += [Column("ranking", f"{metric}_{name}", words(name)) for name in domain().names]
    title = "T1 nDCG@10 over the queries that express an attribute"
    return leaderboard_grid(board, "by-attribute", title, chosen, counts=True)


def by_class(board: Board) -> Grid:
    """T2 by both rules: accuracy, macro-F1, F1 of each class."""
    metrics = [("accuracy", "Acc"), ("macro_f1", "macro-F1")]
    metrics += [(f"f1_{grade}", f"F1 {grade}") for grade in reversed(GRADE_NAMES)]
    chosen = [
        Column("classification", form + metric, f"{heading} ({rule})")
        for form, rule in (("", "rank"), (CUTS, "cuts"))
        for metric, heading in metrics
    ]
    notes = [
        "rank: classes filled by rank within each pool; cuts: cut points fitted on other clusters."
    ]
    return leaderboard_grid(board, "by-class", "T2 by class", chosen, notes)


def whole_corpus(board: Board) -> Grid:
    """The best products of the whole corpus for each of T1's queries, of models that can search."""
    metrics = {
        "ndcg@10": "nDCG@10",
        "recall@20": "Rec@20",
        "recall@100": "Rec@100",
        "recall_sibling@100": "Rec of Sibling or better@100",
        "rel": "Rel",
        CONSISTENT + "ndcg@10": "nDCG@10, consistent",
        CONSISTENT + "recall@20": "Rec@20, consistent",
    }
    chosen = [Column(RETRIEVAL, metric, heading) for metric, heading in metrics.items()]
    title = "Retrieval from the whole corpus for T1's queries"
    return leaderboard_grid(board, "whole-corpus", title, chosen)


def ranks(board: Board) -> Grid:
    """Each model's rank by the tasks' main metrics, with the middle 95% of its resampled ranks."""
    places = board.places()
    tasks = board.main if places else {}
    columns = [_ranks(board, task, places) for task in tasks]
    cells = [tuple(column[row] for column in columns) for row in range(len(places))]
    called = [names(board)[place] for place in places]
    rows = [Row(name, one) for name, one in zip(called, cells, strict=True)]
    rows.sort(key=lambda row: float(np.nansum([cell.value for cell in row.cells])))
    heads = ("model", *(TASK_TITLES[task] for task in tasks))
    metrics = ", ".join(f"{TASK_TITLES[task]} {metric}" for task, metric in tasks.items())
    note = (
        f"Rank by the task's main metric ({metrics}); in brackets the range of the middle 95% of "
        f"ranks over {stats.RESAMPLES:,} resamples of clusters."
    )
    return Grid("ranks", title_of(board, "Ranks"), heads, tuple(rows), (note, *warnings_of(board)))


def _ranks(board: Board, task: str, places: Sequence[int]) -> list[Cell]:
    measured = board.measure(task, board.main[task])
    point, _ = stats.rank_ranges(measured.figures[None, places])
    low, high = stats.rank_ranges(measured.draws[:, places])
    return [_rank(*map(float, one)) for one in zip(point, low, high, strict=True)]


def _rank(point: float, low: float, high: float) -> Cell:
    if not point:
        return Cell(figure(math.nan))
    span = f"{low:g}" if low == high else f"{low:g}–{high:g}"
    return Cell(f"{point:g} ({span})", "", point, low, high)


def words(name: str) -> str:
    """An attribute's name as a reader writes it."""
    return name.replace("_", " ")
