"""Models against models: is a difference more than chance, and how small a one would be seen.

In:  a :class:`~fashion_rq_bench.report.board.board.Board`, pairs of models, metrics.
Out: :class:`Comparisons`: rows of differences with interval, test, shares and smallest detectable
     difference, and the agreement of the tasks' model orders; for the terminal, JSON, Markdown,
     LaTeX and CSV.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, fields, replace
from itertools import combinations
from typing import TYPE_CHECKING, Any

from fashion_rq_bench.editions.edition import in_its_domain
from fashion_rq_bench.errors import ConfigError
from fashion_rq_bench.measures import statistics as stats
from fashion_rq_bench.report.board.agreement import Agreement
from fashion_rq_bench.report.board.board import Board
from fashion_rq_bench.support.grid import Cell, Grid, Row, figure

if TYPE_CHECKING:
    from rich.table import Table

__all__ = [
    "Agreement",
    "Comparison",
    "Comparisons",
    "agreement_of_tasks",
    "compare",
    "p_text",
    "wanted_metrics",
]

_SHORT = {"T1": "ranking", "T2": "classification", "T3": "sibling", "T4": "paraphrase"}
_FOUND = [one.name for one in fields(stats.Differences) if one.name != "pairs"]
_TITLES = {task: short for short, task in _SHORT.items()}


@dataclass(frozen=True)
class Comparison:
    """Two models on one metric.

    Attributes:
        task, metric: what was measured.
        first, second: labels of the models.
        first_value, second_value: their figures.
        difference: first minus second, over the units that both have a value for.
        low, high: its 95% interval by cluster bootstrap.
        p_value, p_holm: two-sided Wilcoxon signed-rank test, and after Holm over all rows; NaN for
            a figure that is no mean over queries or groups, such as macro-F1.
        wins, ties, losses: shares of the queries or groups, of the first model.
        detectable: smallest true difference that one test finds with 80% power.
        n, undefined: queries or groups that count, and that do not.
    """

    task: str
    metric: str
    first: str
    second: str
    first_value: float
    second_value: float
    difference: float
    low: float
    high: float
    p_value: float
    p_holm: float
    wins: float
    ties: float
    losses: float
    detectable: float
    n: int
    undefined: int


@dataclass(frozen=True)
class Comparisons:
    """What a comparison found.

    Attributes:
        edition_id, edition_name: of the edition.
        rows: by metric, then pair.
        agreement: between the tasks' orders of all models that the results hold.
        unit: what the test takes as one observation, "cluster" or "query".
    """

    edition_id: str
    edition_name: str
    rows: tuple[Comparison, ...]
    agreement: Agreement
    unit: str

    def to_dict(self) -> dict[str, Any]:
        """Everything, JSON-able."""
        return {
            "edition": {"id": self.edition_id, "name": self.edition_name},
            "resamples": stats.RESAMPLES,
            "unit": self.unit,
            "comparisons": [asdict(row) for row in self.rows],
            "agreement": asdict(self.agreement),
        }

    def grid(self) -> Grid:
        """The rows as a table."""
        heads = ("first – second", "metric", "difference", "p", "p (Holm)", "win / tie / loss")
        rows = [Row(f"{one.first} – {one.second}", _cells(one)) for one in self.rows]
        title = f"Differences ({self.edition_name}, edition {self.edition_id[:12]})"
        return Grid("differences", title, (*heads, "detectable"), tuple(rows), self.notes)

    @property
    def notes(self) -> tuple[str, ...]:
        """How to read the rows."""
        unit = "the clusters' mean differences" if self.unit == "cluster" else "the queries"
        return (
            f"difference: first minus second, with the 95% interval of {stats.RESAMPLES:,} "
            "resamples of clusters.",
            f"p: two-sided Wilcoxon signed-rank test on {unit}; Holm over this table's tests "
            f"({self.tests}). – where the figure is no mean over queries or groups.",
            "win / tie / loss: percent of queries (consistency: of paraphrase groups).",
            "detectable: the smallest true difference that one test at .05 would find in 80% of "
            "samples (2.80 standard errors).",
        )

    @property
    def tests(self) -> int:
        """How many p-values the family has."""
        return sum(not math.isnan(one.p_value) for one in self.rows)

    def table(self) -> Table:
        """The rows for the terminal."""
        from rich import box
        from rich.markup import escape
        from rich.table import Table

        grid = self.grid()
        table = Table(
            title=escape(grid.title),
            title_justify="left",
            caption="\n".join(grid.notes),
            caption_justify="left",
            box=box.SIMPLE_HEAD,
            padding=(0, 1, 0, 0),
            pad_edge=False,
        )
        for place, heading in enumerate(grid.columns):
            table.add_column(heading, justify="right" if place > 1 else "left", overflow="fold")
        for row in grid.rows:
            cells = [" ".join(filter(None, (cell.text, cell.interval))) for cell in row.cells]
            table.add_row(escape(row.name), *map(escape, cells))
        return table


@in_its_domain
def compare(
    board: Board,
    names: Sequence[str],
    metrics: Sequence[tuple[str, str]],
    *,
    by_cluster: bool = True,
) -> Comparisons:
    """Compare every two of some models on some metrics.

    Args:
        board: the results.
        names: of the models, at least two; see :meth:`Board.select`.
        metrics: (task, metric), such as ("ranking", "ndcg@10").
        by_cluster: whether the test takes clusters, not queries, as its observations.

    Raises:
        ConfigError: fewer than two models, or one that has no results.
    """
    chosen = board.select(names)
    if len(chosen.models) < 2:
        raise ConfigError(
            "A comparison takes at least two models.",
            given=", ".join(names),
            allowed=[one.label for one in board.models],
        )
    rows = [row for task, metric in metrics for row in _compared(chosen, task, metric, by_cluster)]
    adjusted = stats.holm([row.p_value for row in rows])
    return Comparisons(
        board.edition.id,
        board.edition.name,
        tuple(replace(row, p_holm=float(p)) for row, p in zip(rows, adjusted, strict=True)),
        agreement_of_tasks(board),
        "cluster" if by_cluster else "query",
    )


def agreement_of_tasks(board: Board) -> Agreement:
    """Whether the tasks order the models alike, by their main metrics."""
    places = board.places()
    figures = [board.measure(*main).figures[places] for main in board.main.items()]
    return Agreement.between([_TITLES.get(task, task) for task in board.main], figures)


@in_its_domain
def wanted_metrics(
    board: Board, tasks: Iterable[str], metrics: Iterable[str]
) -> list[tuple[str, str]]:
    """The (task, metric) that a user asks for.

    Args:
        board: the results.
        tasks: names or T1 … T4; all if empty.
        metrics: each is taken from every wanted task that has it; the main metrics if empty.

    Raises:
        ConfigError: there is no such task, or none of the tasks has a metric.
    """
    chosen = [_task(board, name) for name in tasks] or list(board.tasks)
    asked = list(metrics)
    if not asked:
        return [(task, board.main[task]) for task in chosen if task in board.main]
    for metric in asked:
        if not any(board.has(task, metric) for task in chosen):
            known = [name for task in chosen for name in board.metrics(task)]
            raise ConfigError(
                f"There is no such metric in {', '.join(chosen)}.",
                given=metric,
                allowed=[name for name in dict.fromkeys(known) if "confusion_" not in name],
            )
    return [(task, metric) for metric in asked for task in chosen if board.has(task, metric)]


def _task(board: Board, name: str) -> str:
    task = _SHORT.get(name.upper(), name)
    if task not in board.tasks:
        raise ConfigError(
            "There are no results of this task.", given=name, allowed=[*_SHORT, *board.tasks]
        )
    return task


def _compared(board: Board, task: str, metric: str, by_cluster: bool) -> list[Comparison]:
    """Every two models on one metric, before Holm."""
    measured = board.measure(task, metric)
    pairs = list(combinations(range(len(board.models)), 2))
    found = measured.differences(pairs, by_cluster=by_cluster)
    return [
        Comparison(
            task=task,
            metric=metric,
            first=board.models[first].label,
            second=board.models[second].label,
            first_value=float(measured.figures[first]),
            second_value=float(measured.figures[second]),
            p_holm=math.nan,
            **{name: getattr(found, name)[row].item() for name in _FOUND},
        )
        for row, (first, second) in enumerate(pairs)
    ]


def _cells(one: Comparison) -> tuple[Cell, ...]:
    span = f"[{figure(one.low, signed=True)}, {figure(one.high, signed=True)}]"
    shares = " / ".join(f"{100 * share:.0f}" for share in (one.wins, one.ties, one.losses))
    return (
        Cell(f"{_TITLES.get(one.task, one.task)} {one.metric}"),
        Cell(figure(one.difference, signed=True), span, one.difference, one.low, one.high),
        Cell(p_text(one.p_value), value=one.p_value),
        Cell(p_text(one.p_holm) + ("*" if one.p_holm < stats.LEVEL else ""), value=one.p_holm),
        Cell("–" if math.isnan(one.wins) else shares),
        Cell(figure(one.detectable), value=one.detectable),
    )


def p_text(value: float) -> str:
    """A p-value as it is printed."""
    return "–" if math.isnan(value) else "< .001" if value < 0.001 else figure(value, digits=3)
