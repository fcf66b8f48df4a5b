"""The page on which people check queries: one HTML file that needs no network (paper, section 9).

In:  a :class:`~fashion_rq_bench.people.hand_review.Review`.
Out: HTML: each query with items of its cluster, three scales and a comment. Answers are kept in the
     browser and saved as JSON, which ``review.read_reviews`` reads.
"""

from __future__ import annotations

from pathlib import Path

from fashion_rq_bench.people.hand_review import (
    ANSWERS_FORMAT,
    HIGHEST,
    LOWEST,
    SCALES,
    Review,
)
from fashion_rq_bench.people.page_frame import framed, scale_words
from fashion_rq_bench.schema.domain import domain
from fashion_rq_bench.support.files import write_text

__all__ = ["review_page", "write_review_page"]

_WORDS = {
    "natural": ("How natural is the query?", "very unnatural, scripted", "very natural"),
    "clear": ("How clear is what is wanted?", "very vague", "very clear, specific"),
    "fits": ("Does it fit these items?", "none of them", "all of them"),
}


def review_page(review: Review) -> str:
    """The page as HTML; no text of a catalog or query can close the script or become markup.

    Columns that no item has a value for are left out.
    """
    columns = [
        name
        for name in domain().shown
        if any(_shown(i[name]) for q in review.queries for i in q.items)
    ]
    content = {
        "format": ANSWERS_FORMAT,
        "review": review.review_id,
        "edition": review.edition_id,
        "lowest": LOWEST,
        "highest": HIGHEST,
        "scales": scale_words({name: _WORDS[name] for name in SCALES}),
        "columns": [_heading(name) for name in columns],
        "queries": [
            {
                "id": one.query_id,
                "query": one.query,
                "size": one.size,
                "items": [[_shown(item[name]) for name in columns] for item in one.items],
            }
            for one in review.queries
        ],
    }
    return framed("review", "review", content)


def _shown(value: object) -> str:
    if isinstance(value, float):
        return f"{value:,.0f}"
    return "" if value is None else str(value)


def write_review_page(review: Review, path: Path) -> None:
    """Write :func:`review_page` atomically."""
    write_text(review_page(review), path)


def _heading(column: str) -> str:
    """What people are shown for a column."""
    return next((c.heading for c in domain().columns if c.name == column and c.heading), column)
