"""What a build did, for people and as data.

In:  a build's result and its stage folders.
Out: the catalog's table, the levels of the hierarchy, the stages with their times, what comes next.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.markup import escape
from rich.table import Table

from fashion_rq_bench.support.files import read_json

if TYPE_CHECKING:
    from fashion_rq_bench.builders.pipeline.run import BuildResult

__all__ = ["stage_summary"]


def stage_summary(result: BuildResult) -> tuple[list[Any], dict[str, Any]]:
    """Renderables and data of a build, as far as it went.

    Args:
        result: what :func:`fashion_rq_bench.builders.pipeline.run.build` returned.

    Returns:
        Rich renderables, and data: ``out``, ``edition_id``, ``stages``, ``catalog``, ``levels``.
    """
    from fashion_rq_bench.builders.catalog import CatalogReport  # builders come with an extra

    folders = {run.name: run.folder for run in result.runs}
    catalog = _json(folders, "catalog", "catalog_report.json")
    levels = _json(folders, "hierarchy", "statistics.json")
    stages = [
        {"stage": run.name, "reused": run.reused, "seconds": run.seconds, "folder": str(run.folder)}
        for run in result.runs
    ]
    parts: list[Any] = [CatalogReport.from_dict(catalog).table()]
    if levels:
        parts.append(_levels_table(levels))
    parts.append(_stages_table(stages))
    parts.append(_next_step(result))
    data = {
        "out": str(result.out),
        "edition_id": result.edition_id,
        "stages": stages,
        "catalog": catalog,
        "levels": levels,
    }
    return parts, data


def _json(folders: dict[str, Path], stage: str, name: str) -> Any:
    return read_json(folders[stage] / name) if stage in folders else None


def _levels_table(levels: list[dict[str, Any]]) -> Table:
    table = Table(title="Hierarchy (all clusters, then those that qualify)")
    for column in ("level", "clusters", "mean size", "purity", "coverage", "perplexity"):
        table.add_column(column, justify="right")
    for number, level in enumerate(levels, start=1):
        every, kept = level["all"], level["qualifying"]
        table.add_row(
            str(number),
            f"{every['clusters']:,} / {kept['clusters']:,}",
            f"{_number(every['mean_size'], 1)} / {_number(kept['mean_size'], 1)}",
            f"{_number(every['purity'], 3)} / {_number(kept['purity'], 3)}",
            _number(level["coverage"], 3),
            _number(level["perplexity"], 1),
        )
    return table


def _number(value: float | None, digits: int) -> str:
    return "undefined" if value is None else f"{value:.{digits}f}"


def _stages_table(stages: list[dict[str, Any]]) -> Table:
    table = Table("stage", "", "seconds", "folder", title="Stages")
    for stage in stages:
        state = "already done" if stage["reused"] else "done"
        table.add_row(stage["stage"], state, f"{stage['seconds']:.1f}", escape(stage["folder"]))
    return table


def _next_step(result: BuildResult) -> str:
    if result.edition_id is None:
        return f"Stopped after {result.runs[-1].name}; `fashion-rq build` goes on from here."
    place = escape(str(result.out))
    return (
        f"Edition {result.edition_id[:16]} is in {place}. Next: "
        f"fashion-rq evaluate bm25 lsa minilm --edition {place}"
    )
