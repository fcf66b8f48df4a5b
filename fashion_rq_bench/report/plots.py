"""The results of an edition as pictures.

In:  a :class:`~fashion_rq_bench.report.board.board.Board`.
Out: matplotlib figures, and files of them (SVG, PNG) with the same bytes for the same results.

Every mark is a figure with its 95% interval by cluster bootstrap.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fashion_rq_bench.measures import statistics as stats
from fashion_rq_bench.report.board.board import Board, Measured
from fashion_rq_bench.report.tables.leaderboard import names
from fashion_rq_bench.report.tables.paper_layout import TASK_TITLES, words
from fashion_rq_bench.schema.domain import domain
from fashion_rq_bench.schema.grades import GRADE_NAMES
from fashion_rq_bench.support.files import atomic_path
from fashion_rq_bench.support.optional import require

__all__ = ["PLOTS", "attribute_dots", "level_dots", "rank_lines", "save", "task_bars"]

Figure = Any
Axes = Any

_COLORS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#56b4e9", "#e69f00", "#000000", "#7f7f7f")
"""Okabe and Ito's colours, which the colour-blind tell apart; the marker differs as well."""
_MARKERS = "osD^vPX*"
_BRANCHES = 10
_LONGEST = 40
_LEGEND = 150
"""Letters that fit into a name, and beside each other below the dot plots."""
_STYLE = {"svg.hashsalt": "fashion-rq-bench", "svg.fonttype": "path", "font.family": "DejaVu Sans"}


def task_bars(board: Board) -> Figure:
    """Each task's main metric: a bar per model, lines for the random floor and the oracle."""
    tasks, places = list(board.main), _best_first(board)
    figure = _figure(3.2 * max(len(tasks), 1) + 1.2, 0.34 * len(places) + 1.7)
    panels = figure.subplots(1, max(len(tasks), 1), sharey=True, squeeze=False)[0]
    for panel, task in zip(panels, tasks, strict=False):
        measured = board.measure(task, board.main[task])
        homes = [board.models[place].at_home for place in places]
        bars = panel.barh(
            range(len(places)), measured.figures[places], color=_COLORS[0], height=0.7
        )
        for bar, home in zip(bars, homes, strict=True):
            bar.set_alpha(0.45 if home else 0.85)
        rows = list(range(len(places)))
        _intervals(panel, measured, places, rows, fmt="none", ecolor="black", capsize=2)
        _references(panel, board, measured)
        _rows(panel, [_name(board, place) for place in places])
        panel.set_xlim(0, 1)
        panel.set_title(f"{TASK_TITLES[task]}, {board.main[task]}", fontsize=10)
    figure.supxlabel(
        "95% intervals over clusters; dotted: random floor, dashed: attribute oracle"
        + ("; pale (†): competes at home" if any(m.at_home for m in board.models) else ""),
        fontsize=8,
    )
    return figure


def rank_lines(board: Board) -> Figure:
    """Each model's rank per task, and the range of the middle 95% of its resampled ranks."""
    tasks, places = list(board.main), _best_first(board)
    figure = _figure(3.0 * max(len(tasks), 1) + 1.2, 0.34 * len(places) + 1.6)
    panels = figure.subplots(1, max(len(tasks), 1), sharey=True, squeeze=False)[0]
    for panel, task in zip(panels, tasks, strict=False):
        measured = board.measure(task, board.main[task])
        point, _ = stats.rank_ranges(measured.figures[None, places])
        low, high = stats.rank_ranges(measured.draws[:, places])
        known, rows = point > 0, np.arange(len(places))
        panel.hlines(rows[known], low[known], high[known], color=_COLORS[0], linewidth=3, alpha=0.5)
        panel.plot(point[known], rows[known], "o", color=_COLORS[0])
        _rows(panel, [_name(board, place) for place in places])
        panel.set_xlim(0.5, len(places) + 0.5)
        panel.xaxis.get_major_locator().set_params(integer=True)
        panel.set_title(f"{TASK_TITLES[task]}, {board.main[task]}", fontsize=10)
    figure.supxlabel("rank, and the middle 95% of ranks over resamples of clusters", fontsize=8)
    return figure


def attribute_dots(board: Board) -> Figure:
    """Score of each attribute, and T1 over the queries that express it."""
    main = board.main["ranking"]
    shown = [name for name in domain().names if board.has("ranking", f"attr_{name}")]
    panels = [
        ("attribute score of the product ranked first", [f"attr_{name}" for name in shown]),
        (f"T1 {main} over queries that express it", [f"{main}_{name}" for name in shown]),
    ]
    measured = [
        (title, [board.measure("ranking", metric) for metric in metrics])
        for title, metrics in panels
    ]
    counts = [int(one.n.max()) for one in measured[0][1]]
    labels = [f"{words(name)} ({n:,})" for name, n in zip(shown, counts, strict=True)]
    return _dots(board, [(title, labels, many) for title, many in measured])


def level_dots(board: Board) -> Figure:
    """T2 by the level at which a product leaves the query's branch, and T1 by level-1 branch."""
    grades = [name for name in reversed(GRADE_NAMES) if board.has("classification", f"f1_{name}")]
    shared = dict(zip(GRADE_NAMES, ("nothing", "level 1", "level 2", "the leaf"), strict=True))
    found = [board.measure("classification", f"f1_{name}") for name in grades]
    labels = [f"{name} (shares {shared[name]})" for name in grades]
    panels = [("T2 F1 by class", labels, found)]
    if "ranking" in board.tasks:
        main = board.main["ranking"]
        masks = _branches(board)
        parts = [board.measure("ranking", main, mask) for mask in masks.values()]
        panels.append((f"T1 {main} by level-1 branch", list(masks), parts))
    return _dots(board, panels)


PLOTS: dict[str, Callable[[Board], Figure]] = {
    "tasks": task_bars,
    "ranks": rank_lines,
    "attributes": attribute_dots,
    "levels": level_dots,
}
"""The pictures of a report by name."""


def save(figure: Figure, path: Path) -> None:
    """Write a figure; the suffix gives the format. Equal figures give equal bytes.

    Raises:
        MissingDependencyError: without matplotlib.
    """
    matplotlib = require("matplotlib", "report")
    kind = path.suffix.lstrip(".")
    metadata = {"svg": {"Date": None, "Creator": None}, "png": {"Software": None}}.get(kind)
    with matplotlib.rc_context(_STYLE), atomic_path(path) as temporary:
        figure.savefig(temporary, format=kind, dpi=150, metadata=metadata)


def _figure(width: float, height: float) -> Figure:
    return require("matplotlib.figure", "report").Figure((width, height), layout="constrained")


def _best_first(board: Board) -> list[int]:
    places = board.places()
    if not board.main:
        return places
    values = board.measure(*next(iter(board.main.items()))).figures
    return sorted(places, key=lambda p: math.inf if math.isnan(values[p]) else -values[p])


def _name(board: Board, place: int) -> str:
    """A model's name; of a long one, such as a folder's path, the end."""
    name = names(board)[place]
    return name if len(name) <= _LONGEST else f"…{name[1 - _LONGEST :]}"


def _rows(panel: Axes, labels: Sequence[str]) -> None:
    panel.set_yticks(range(len(labels)), labels, parse_math=False)
    panel.set_ylim(len(labels) - 0.5, -0.5)
    panel.grid(axis="x", alpha=0.3)
    panel.set_axisbelow(True)
    panel.tick_params(labelsize=8)


def _references(panel: Axes, board: Board, measured: Measured) -> None:
    for role, line in (("floor", ":"), ("reference", "--")):
        for place in board.places(role):
            panel.axvline(measured.figures[place], color="black", linestyle=line, linewidth=1)


def _intervals(
    panel: Axes, measured: Measured, places: Sequence[int], rows: Sequence[float], **look: Any
) -> Any:
    values = measured.figures[list(places)]
    low, high = (end[list(places)] for end in measured.interval)
    reach = np.clip(np.nan_to_num([values - low, high - values]), 0, None)
    return panel.errorbar(values, rows, xerr=reach, elinewidth=1, **look)


def _branches(board: Board) -> dict[str, NDArray[np.bool_]]:
    """The level-1 clusters with most queries: a label, and which of T1's queries are below it."""
    first = np.array([prefix.partition("-")[0] for prefix in board.prefixes("ranking")])
    codes, counts = np.unique(first, return_counts=True)
    order = np.lexsort((codes, -counts))[:_BRANCHES]
    kinds = _article_types(board)
    return {
        f"{codes[i]}: {kinds.get(str(codes[i]), 'mixed')} ({counts[i]:,})": first == codes[i]
        for i in order
    }


def _article_types(board: Board) -> dict[str, str]:
    """Dominant article type of the anchors below each level-1 code."""
    clusters = board.edition.table("clusters", ["prefix", "level", "article_type"]).to_pylist()
    return {
        str(row["prefix"][0]): str(row["article_type"]) for row in clusters if row["level"] == 1
    }


def _dots(board: Board, panels: Sequence[tuple[str, Sequence[str], Sequence[Measured]]]) -> Figure:
    """Panels with a row per label, and in it a dot with its interval per model."""
    best = _best_first(board)
    places = best[: len(_COLORS)]
    height = max((len(labels) for _, labels, _ in panels), default=1)
    figure = _figure(5.2 * len(panels), 0.13 * height * (len(places) + 1.5) + 1.8)
    axes = figure.subplots(1, len(panels), squeeze=False)[0]
    for panel, (title, labels, measured) in zip(axes, panels, strict=True):
        for number, place in enumerate(places):
            shift = (number - (len(places) - 1) / 2) * 0.7 / max(len(places), 1)
            _line_of_dots(panel, measured, place, shift, number, _name(board, place))
        _rows(panel, labels)
        panel.set_title(title, fontsize=10)
    _legend(figure, axes[0], len(places), len(best))
    return figure


def _legend(figure: Figure, panel: Axes, shown: int, known: int) -> None:
    handles, labels = panel.get_legend_handles_labels()
    columns = _LEGEND // (max(map(len, labels), default=0) + 8)
    left_out = f"; the first {shown} of {known} models" if known > shown else ""
    legend = figure.legend(
        handles,
        labels,
        loc="outside lower center",
        ncols=min(4, max(columns, 1)),
        fontsize=8,
        title=f"95% intervals over clusters{left_out}",
        title_fontsize=8,
    )
    for text in legend.get_texts():
        text.set_parse_math(False)


def _line_of_dots(
    panel: Axes, measured: Sequence[Measured], place: int, shift: float, number: int, label: str
) -> None:
    """One model's dot in every row."""
    values = np.array([one.figures[place] for one in measured])
    ends = np.array([[end[place] for end in one.interval] for one in measured]).reshape(-1, 2)
    reach = np.clip(np.nan_to_num([values - ends[:, 0], ends[:, 1] - values]), 0, None)
    panel.errorbar(
        values,
        np.arange(len(values)) + shift,
        xerr=reach,
        fmt=_MARKERS[number],
        color=_COLORS[number],
        markersize=4,
        elinewidth=1,
        label=label,
    )
