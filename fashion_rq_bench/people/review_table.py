"""What reviewers answered, as tables.

In:  a :class:`~fashion_rq_bench.people.hand_review.Reviewed`.
Out: rich renderables. Queries, names and comments are shown as text, never as markup.
"""

from __future__ import annotations

import math
from typing import Any

from rich.table import Table
from rich.text import Text

from fashion_rq_bench.people.review_answers import Reviewed

__all__ = ["review_tables"]


def review_tables(reviewed: Reviewed, *, lowest: int = 10) -> list[Any]:
    """Means with intervals, the lowest rated queries, comments, and what could not be read.

    Args:
        reviewed: the answers.
        lowest: queries listed at most.
    """
    parts: list[Any] = [_means(reviewed), _lowest(reviewed, lowest)]
    if reviewed.comments:
        parts.append(_comments(reviewed))
    if reviewed.unparseable:
        parts.append(_unparseable(reviewed))
    left_out = f"{len(reviewed.unparseable)} unparseable, {reviewed.missing} missing"
    raters = f"{len(reviewed.raters)} reviewer" + ("" if len(reviewed.raters) == 1 else "s")
    parts.append(f"{raters}; {left_out}, {reviewed.unknown} unknown answers.")
    return parts


def _means(reviewed: Reviewed) -> Table:
    table = Table("source", "scale", title="Ratings (1 to 5; mean over queries, 95% t interval)")
    for column in ("queries", "mean", "interval"):
        table.add_column(column, justify="right")
    for one in reviewed.means:
        undefined = math.isnan(one.low)
        interval = "undefined" if undefined else f"{one.low:.2f} to {one.high:.2f}"
        mean = "undefined" if math.isnan(one.mean) else f"{one.mean:.2f}"
        table.add_row(_plain(one.source), one.scale, str(one.queries), mean, interval)
    return table


def _lowest(reviewed: Reviewed, count: int) -> Table:
    table = Table("query id", "query", title="Lowest rated queries (mean over scales)")
    table.add_column("mean", justify="right")
    for query_id, query, mean in reviewed.lowest[:count]:
        table.add_row(_plain(query_id), _plain(query), f"{mean:.2f}")
    return table


def _comments(reviewed: Reviewed) -> Table:
    table = Table("reviewer", "query", "comment", title="Comments")
    for one in reviewed.comments:
        table.add_row(_plain(one.rater), _plain(one.query), _plain(one.text))
    return table


def _unparseable(reviewed: Reviewed) -> Table:
    table = Table("reviewer", "query id", "scale", "answer", title="Answers that are no rating")
    for one in reviewed.unparseable:
        table.add_row(*map(_plain, (one.rater, one.query_id, one.scale, one.answer)))
    return table


def _plain(text: str) -> Text:
    """Text without control characters, which could steer a terminal."""
    return Text("".join(c if c.isprintable() else " " for c in text))
