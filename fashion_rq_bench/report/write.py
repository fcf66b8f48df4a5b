"""The report of one edition or more: tables, plots, comparisons and the leaderboard page.

In:  editions with the folders of their results, and a folder to write to.
Out: per edition ``tables/*.{md,tex,csv}``, ``plots/*.{svg,png}``, ``comparisons.csv``,
     ``report.json``, ``report.md`` and ``index.html``; for several editions one folder each, and
     how far they agree on the order of models.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import asdict, fields
from itertools import chain
from pathlib import Path
from typing import Any

from fashion_rq_bench.editions.edition import Edition, in_its_domain
from fashion_rq_bench.errors import ConfigError
from fashion_rq_bench.measures import statistics as stats
from fashion_rq_bench.report.board.board import Board, embedder, read_board
from fashion_rq_bench.report.board.compare import (
    Agreement,
    Comparison,
    Comparisons,
    agreement_of_tasks,
    compare,
    wanted_metrics,
)
from fashion_rq_bench.report.page.page import write_page
from fashion_rq_bench.report.plots import PLOTS, save
from fashion_rq_bench.report.tables.paper_layout import TASK_TITLES, paper_tables
from fashion_rq_bench.support.files import write_json, write_text
from fashion_rq_bench.support.grid import Grid, to_csv

__all__ = ["agreement_of_editions", "write_report"]


def write_report(editions: Sequence[tuple[Edition, Path]], out: Path) -> list[Path]:
    """Write everything; nothing is written if an edition has no results.

    Args:
        editions: each with the folder that ``fashion-rq evaluate`` wrote to.
        out: folder of the report; made if absent.

    Returns:
        The files that a reader opens first.

    Raises:
        ConfigError: the same edition twice, or ``out`` is itself an edition, whose files it would
            replace.
        InputError: an edition without results.
        MissingDependencyError: without matplotlib.
    """
    if (out / "edition.json").exists():
        raise ConfigError(
            "This folder is an edition, and has a report.json of its own.",
            given=str(out),
            fix=f"Give a folder of its own, e.g. --out {out / 'report'}.",
        )
    ids = [edition.id for edition, _ in editions]
    if len(set(ids)) < len(ids):
        raise ConfigError("The same edition is named twice.", given=[i[:12] for i in ids])
    boards = [(read_board(edition, results), results) for edition, results in editions]
    if len(boards) == 1:
        return _write_one(*boards[0], out)
    folders = [out / _folder(board.edition) for board, _ in boards]
    pages = [_write_one(*one, folder) for one, folder in zip(boards, folders, strict=True)]
    agreement = agreement_of_editions([board for board, _ in boards])
    _write_grids(agreement, out)
    write_text("\n".join(grid.to_markdown() for grid in agreement), out / "report.md")
    return [out / "report.md", *chain.from_iterable(pages)]


def agreement_of_editions(boards: Sequence[Board]) -> list[Grid]:
    """Kendall's τ-b between editions, per task, over the models that all of them have results of.

    An order of models that holds only where one embedder made the hierarchy says more about that
    embedder than about the models.
    """
    names = [_called(board) for board in boards]
    by_name = [{b.models[place].label: place for place in b.places()} for b in boards]
    shared = sorted(set.intersection(*(set(found) for found in by_name)))
    home = sorted({one.label for b in boards for one in b.models if one.at_home} & set(shared))
    grids = []
    for task, metric in boards[0].main.items():
        if not all(board.has(task, metric) for board in boards):
            continue
        figures = [
            board.measure(task, metric).figures[[found[name] for name in shared]]
            for board, found in zip(boards, by_name, strict=True)
        ]
        title = f"Agreement of editions on {TASK_TITLES[task]}, {metric}"
        notes = [f"Models: {', '.join(shared) or 'none that all editions have'}."]
        notes += [f"At home in one of the editions: {', '.join(home)}."] if home else []
        grids.append(Agreement.between(names, figures).grid(f"agreement-{task}", title, notes))
    return grids


def _called(board: Board) -> str:
    source = embedder(board.edition) or "unknown embedder"
    return f"{board.edition.name} {board.edition.id[:8]} ({source})"


def _folder(edition: Edition) -> str:
    return re.sub(r"[^A-Za-z0-9.]+", "-", edition.name).strip("-.") + f"-{edition.id[:8]}"


@in_its_domain
def _write_one(board: Board, results: Path, out: Path) -> list[Path]:
    agreement = agreement_of_tasks(board).grid("agreement", "Agreement of the tasks on the order")
    grids = [*paper_tables(board), agreement]
    compared = _all_pairs(board)
    _write_grids(grids, out)
    write_text(to_csv(_rows(compared)), out / "comparisons.csv")
    for name, draw in PLOTS.items():
        figure = draw(board)
        for kind in ("svg", "png"):
            save(figure, out / "plots" / f"{name}.{kind}")
    write_json(_facts(board, grids, compared), out / "report.json")
    write_text(_markdown(grids, compared), out / "report.md")
    write_page(board.edition, results, out / "index.html")
    return [out / "index.html", out / "report.md"]


def _all_pairs(board: Board) -> Comparisons | None:
    labels = [board.models[place].label for place in board.places()]
    return compare(board, labels, wanted_metrics(board, (), ())) if len(labels) > 1 else None


def _write_grids(grids: Sequence[Grid], out: Path) -> None:
    for grid in grids:
        write_text(grid.to_markdown(), out / "tables" / f"{grid.key}.md")
        write_text(grid.to_latex(), out / "tables" / f"{grid.key}.tex")
        write_text(grid.to_csv(), out / "tables" / f"{grid.key}.csv")


def _rows(compared: Comparisons | None) -> list[list[object]]:
    head: list[object] = [field.name for field in fields(Comparison)]
    return [head, *(list(asdict(row).values()) for row in (compared.rows if compared else ()))]


def _markdown(grids: Sequence[Grid], compared: Comparisons | None) -> str:
    plots = [f"![{name}](plots/{name}.svg)\n" for name in PLOTS]
    last = [compared.grid().to_markdown()] if compared else []
    return "\n".join([*(grid.to_markdown() for grid in grids), *plots, *last])


def _facts(board: Board, grids: Sequence[Grid], compared: Comparisons | None) -> dict[str, Any]:
    return {
        "edition": {"id": board.edition.id, "name": board.edition.name},
        "embedder": embedder(board.edition),
        "resamples": stats.RESAMPLES,
        "models": [asdict(one) for one in board.models],
        "tables": {grid.key: asdict(grid) for grid in grids},
        "comparisons": compared.to_dict() if compared else None,
    }
