"""``fashion-rq evaluate``: score retrievers on an edition.

In:  names or folders of models, and an edition.
Out: the table of the four tasks; per-query results as Parquet.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from fashion_rq_bench.commands._shown import EditionPath, Json, Shown, print_shown

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
    as_json: Json = False,
) -> None:
    """Score retrievers on an edition's four tasks."""
    print_shown(score(models, edition, out, tasks), as_json)


def score(
    models: Sequence[str], edition: str, out: Path | None, tasks: Sequence[str] | None
) -> Shown:
    """Score retrievers; results go to ``out``."""
    from fashion_rq_bench.edition import Edition
    from fashion_rq_bench.evaluation import evaluate as run

    opened = Edition.open(edition)
    folder = out or results_folder(opened.path)
    result = run(models, opened, out=folder, tasks=tasks)
    return Shown([result.table(), f"Per-query results: {folder}"], result.to_dict())


def results_folder(edition: Path) -> Path:
    """An edition's own folder of results: inside it, or ``out/results`` for mini."""
    inside_package = Path(__file__).parents[1] in edition.resolve().parents
    return Path("out/results") if inside_package else edition / "results"
