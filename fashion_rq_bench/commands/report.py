"""``fashion-rq report``: tables, plots and the leaderboard page of an edition's results.

In:  one edition or more, and the folder of results that ``fashion-rq evaluate`` wrote.
Out: a folder to read, to cite and to publish.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from fashion_rq_bench.commands._shown import DomainPath, Json, Shown, opened, print_shown
from fashion_rq_bench.commands.compare import Results

__all__ = ["register", "report"]


def register(app: typer.Typer) -> None:
    """Add ``report``."""
    app.command()(report)


def report(
    out: Annotated[Path, typer.Option(help="Folder of the report.")],
    editions: Annotated[
        list[str] | None,
        typer.Option(
            "--edition",
            help="Folder of an edition; without it mini. Repeat it to compare editions.",
        ),
    ] = None,
    results: Results = None,
    domain: DomainPath = None,
    as_json: Json = False,
) -> None:
    """Write an edition's results as tables, plots and a leaderboard page."""
    from fashion_rq_bench.commands.evaluate import results_folder
    from fashion_rq_bench.report.write import write_report

    found = [opened(name, domain) for name in editions or ["mini"]]
    files = write_report([(one, results or results_folder(one.path)) for one in found], out)
    lines = [f"Wrote {path}" for path in files]
    facts = {"out": str(out), "files": [str(path) for path in files]}
    print_shown(Shown(lines, facts), as_json)
