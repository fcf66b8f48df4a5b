"""``fashion-rq mteb``: the same tasks through mteb.

In:  a model's name and an edition.
Out: the main scores as a table, all of them with ``--json``; mteb's own result files.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from fashion_rq_bench.commands._shown import EditionPath, Json, Shown, opened, print_shown

__all__ = ["register"]

group = typer.Typer(
    no_args_is_help=True, help="Score models through mteb, with mteb's own result files."
)


def register(app: typer.Typer) -> None:
    """Add ``mteb run``."""
    app.add_typer(group, name="mteb")


@group.callback()
def _mteb() -> None:
    """Score models through mteb, with mteb's own result files."""


@group.command()
def run(
    model: Annotated[str, typer.Argument(help="As for evaluate: a name, a Hub id or a folder.")],
    edition: EditionPath = "mini",
    out: Annotated[
        Path | None, typer.Option(help="Folder of the results; as for evaluate.")
    ] = None,
    tasks: Annotated[
        list[str] | None,
        typer.Option("--task", help="ranking, …, retrieval, or mteb's name. Repeatable."),
    ] = None,
    as_json: Json = False,
) -> None:
    """Run a model through mteb.evaluate; finished tasks are not run again."""
    from fashion_rq_bench.commands.evaluate import results_folder
    from fashion_rq_bench.support.optional import require

    require("mteb", "mteb")
    from rich.markup import escape

    from fashion_rq_bench.mteb_tasks.run import run as run_mteb

    scored = opened(edition)
    folder = out or results_folder(scored.path)
    found = run_mteb(model, scored, out=folder, tasks=tasks)
    parts = [found.table(), *map(escape, found.skipped.values())]
    print_shown(Shown([*parts, f"mteb's results: {folder / 'mteb'}"], vars(found)), as_json)
