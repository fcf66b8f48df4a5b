"""``fashion-rq compare``: which differences between models are more than chance.

In:  models, an edition, and the folder of results that ``fashion-rq evaluate`` wrote.
Out: a table of differences with intervals and tests, and how far the tasks agree on the order.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from fashion_rq_bench.commands._shown import EditionPath, Json, Shown, opened, print_shown

__all__ = ["Results", "compare", "register"]

Results = Annotated[
    Path | None,
    typer.Option(help="The folder that evaluate wrote to; without it the edition's own."),
]


def register(app: typer.Typer) -> None:
    """Add ``compare``."""
    app.command()(compare)


def compare(
    models: Annotated[
        list[str] | None, typer.Argument(help="Two models or more; without any, all there are.")
    ] = None,
    edition: EditionPath = "mini",
    results: Results = None,
    tasks: Annotated[
        list[str] | None, typer.Option("--task", help="T1 to T4, or a task's name. Repeatable.")
    ] = None,
    metrics: Annotated[
        list[str] | None,
        typer.Option("--metric", help="Such as ndcg@10; without it each task's own. Repeatable."),
    ] = None,
    by_query: Annotated[
        bool, typer.Option("--by-query", help="Test queries as if they were independent.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Compare models: difference, interval, test, wins, and the smallest difference to be seen."""
    from fashion_rq_bench.commands.evaluate import results_folder
    from fashion_rq_bench.report.board.board import read_board
    from fashion_rq_bench.report.board.compare import compare as run
    from fashion_rq_bench.report.board.compare import wanted_metrics

    found = opened(edition)
    board = read_board(found, results or results_folder(found.path))
    chosen = models or [board.models[place].label for place in board.places()]
    asked = wanted_metrics(board, tasks or (), metrics or ())
    compared = run(board, chosen, asked, by_cluster=not by_query)
    parts = [compared.table(), compared.agreement.text()]
    print_shown(Shown(parts, compared.to_dict()), as_json)
