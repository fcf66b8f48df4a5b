"""``fashion-rq review``: have people look at a sample of an edition's queries.

In:  an edition; later the files that reviewers saved.
Out: a page to be filled in offline; a table of the ratings.
"""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from fashion_rq_bench.commands._shown import (
    EditionPath,
    Json,
    Shown,
    add_group,
    opened,
    print_shown,
)

__all__ = ["register"]


def register(app: typer.Typer) -> None:
    """Add the group ``review``."""
    text = "Check queries by eye: make a page of a sample, and read the ratings back."
    add_group(app, "review", text, page, read)


def page(
    out: Annotated[Path, typer.Option(help="The HTML file to write.")] = Path("review.html"),
    edition: EditionPath = "mini",
    queries: Annotated[int, typer.Option("-n", "--queries", help="Queries in the sample.")] = 50,
    items: Annotated[int, typer.Option(help="Products shown per query.")] = 8,
    seed: Annotated[int, typer.Option(help="Which queries and products.")] = 0,
    every_cluster: Annotated[
        bool, typer.Option("--every-cluster", help="Also queries that no task uses.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Write a page with a sample of queries and items of their clusters, to be rated offline."""
    from rich.markup import escape

    from fashion_rq_bench.people.hand_review import ReviewConfig, sample_review
    from fashion_rq_bench.people.review_page import write_review_page

    config = ReviewConfig(queries, items, seed, every_cluster)
    review = sample_review(opened(edition), config)
    write_review_page(review, out)
    told = (
        f"{len(review.queries)} queries are on {escape(str(out))}. Open it in a browser, save the "
        f"answers at the end, then: fashion-rq review read FILES --edition {escape(edition)}"
    )
    facts = {"review": review.review_id, "edition": review.edition_id, "page": str(out)}
    print_shown(Shown([told], {**facts, "queries": len(review.queries)}), as_json)


def read(
    files: Annotated[list[Path], typer.Argument(help="What reviewers saved.")],
    edition: EditionPath = "mini",
    as_json: Json = False,
) -> None:
    """Read saved ratings: means with intervals per source, the lowest queries, comments."""
    from fashion_rq_bench.people.hand_review import read_reviews
    from fashion_rq_bench.people.review_table import review_tables

    reviewed = read_reviews(files, opened(edition))
    print_shown(Shown(review_tables(reviewed), asdict(reviewed)), as_json)
