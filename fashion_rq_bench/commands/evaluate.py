"""``fashion-rq evaluate``: score retrievers on an edition.

In:  names or folders of models, and an edition.
Out: the table of the four tasks, of the whole-corpus task with ``--full-catalog``, and of what the
     runs cost; per-query results as Parquet. With ``--dry-run`` what the runs would cost.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from fashion_rq_bench.commands._shown import (
    DomainPath,
    EditionPath,
    Json,
    Shown,
    opened,
    print_shown,
    say,
)

__all__ = ["register", "results_folder", "score"]


def register(app: typer.Typer) -> None:
    """Add ``evaluate``."""
    app.command()(evaluate)


def evaluate(
    models: Annotated[list[str], typer.Argument(help="bm25, lsa, minilm, a Hub id or a folder.")],
    edition: EditionPath = "mini",
    out: Annotated[
        Path | None, typer.Option(help="Folder of the results; OUT/results beside the edition.")
    ] = None,
    tasks: Annotated[
        list[str] | None, typer.Option("--task", help="Only this task. Repeatable.")
    ] = None,
    full_catalog: Annotated[
        bool, typer.Option("--full-catalog", help="Also rank the whole corpus for every query.")
    ] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Only price the run, from a small slice of it.")
    ] = False,
    domain: DomainPath = None,
    as_json: Json = False,
) -> None:
    """Score retrievers on an edition's four tasks."""
    opened(edition, domain)
    if dry_run:
        print_shown(predict(models, edition, out, full_catalog), as_json)
    else:
        print_shown(score(models, edition, out, tasks, full_catalog), as_json)


def score(
    models: Sequence[str],
    edition: str,
    out: Path | None,
    tasks: Sequence[str] | None,
    full_catalog: bool = False,
) -> Shown:
    """Score retrievers; results go to ``out``."""
    from fashion_rq_bench.evaluation.run import evaluate as run

    found = opened(edition)
    folder = out or results_folder(found.path)
    result = run(
        models,
        found,
        out=folder,
        tasks=tasks,
        full_catalog=full_catalog,
        report=lambda name: say(f"{name} ..."),
    )
    parts: list[Any] = [result.table()]
    if full_catalog:
        from rich.markup import escape

        skipped = [escape(run.skipped) for run in result.runs if run.skipped]
        parts += [result.catalog_table(), *skipped]
    parts += [result.cost_table(), f"Per-query results: {folder}"]
    return Shown(parts, result.to_dict())


def predict(models: Sequence[str], edition: str, out: Path | None, full_catalog: bool) -> Shown:
    """Price a run; the prices are kept in ``out`` and compared with what the run then costs."""
    from fashion_rq_bench.evaluation.run import price
    from fashion_rq_bench.evaluation.run_tables import price_table

    found = opened(edition)
    folder = out or results_folder(found.path)
    prices = price(models, found, out=folder, full_catalog=full_catalog)
    note = "Without vectors on disk. Run the same without --dry-run to see how close this came."
    return Shown([price_table(prices), note], {model: vars(one) for model, one in prices.items()})


def results_folder(edition: Path) -> Path:
    """An edition's own folder of results: inside it, or ``out/results`` for mini."""
    inside_package = Path(__file__).parents[1] in edition.resolve().parents
    return Path("out/results") if inside_package else edition / "results"
