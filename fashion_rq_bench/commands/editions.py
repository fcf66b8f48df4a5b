"""``fashion-rq describe``, ``show`` and ``publish``: look at an edition, and share it.

In:  an edition.
Out: its statistics beside the paper's, a few clusters to read, or its address on the Hub.
"""

from __future__ import annotations

from typing import Annotated

import typer

from fashion_rq_bench.commands._shown import EditionPath, Json, Shown, opened, print_shown

__all__ = ["register"]


def register(app: typer.Typer) -> None:
    """Add ``describe``, ``show`` and ``publish``."""
    for verb in (describe, show, publish):
        app.command()(verb)


def describe(edition: EditionPath = "mini", as_json: Json = False) -> None:
    """Print an edition's statistics beside the paper's Tables 1, 6, 7 and 8."""
    from fashion_rq_bench.report.tables.describe import describe as describe_edition
    from fashion_rq_bench.report.tables.describe import description_tables

    facts = describe_edition(opened(edition))
    print_shown(Shown(list(description_tables(facts)), facts), as_json)


def show(
    edition: EditionPath = "mini",
    prefix: Annotated[str | None, typer.Option(help="One cluster, e.g. 12-3-40.")] = None,
    count: Annotated[int, typer.Option("-n", min=1, help="How many clusters.")] = 3,
    seed: Annotated[int, typer.Option(help="Which clusters.")] = 0,
    as_json: Json = False,
) -> None:
    """Print a few clusters with their products, evidence and queries, to read."""
    from fashion_rq_bench.report.tables.show import show as show_clusters

    shown = show_clusters(opened(edition), prefix=prefix, count=count, seed=seed)
    print_shown(Shown(*shown), as_json)


def publish(
    repo: Annotated[str, typer.Argument(help="Dataset repository, owner/name.")],
    edition: EditionPath = "mini",
    private: Annotated[bool, typer.Option(help="Create the repository as private.")] = False,
    as_json: Json = False,
) -> None:
    """Upload an edition to the Hub; the token comes from HF_TOKEN or the Hub's own login."""
    from fashion_rq_bench.hub.publish import publish as upload

    address = upload(opened(edition), repo, private=private)
    print_shown(Shown([f"Uploaded: {address}"], address), as_json)
