"""A human check of an edition's queries: drawing a sample.

In:  an edition's queries and products.
Out: a :class:`Review`: queries with items of their clusters, in an order that says nothing of their
     source. ``review_answers.py`` reads what reviewers answer.

The check behind the paper's section 9, small enough for one person and an edition of their own:
does a query read naturally, is it clear, does it fit its cluster's items?
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from fashion_rq_bench.editions.edition import Edition, in_its_domain
from fashion_rq_bench.errors import ConfigError, InputError
from fashion_rq_bench.people.review_answers import (
    ANSWERS_FORMAT,
    HIGHEST,
    LOWEST,
    SCALES,
    Comment,
    Reviewed,
    ScaleMean,
    Unparseable,
    read_reviews,
)
from fashion_rq_bench.schema.domain import domain
from fashion_rq_bench.support.files import digest

__all__ = [
    "ANSWERS_FORMAT",
    "HIGHEST",
    "LOWEST",
    "SCALES",
    "Comment",
    "Review",
    "ReviewConfig",
    "Reviewed",
    "ReviewedQuery",
    "ScaleMean",
    "Unparseable",
    "read_reviews",
    "sample_review",
]


@dataclass(frozen=True)
class ReviewConfig:
    """How the sample is drawn.

    Attributes:
        queries: how many, evenly over the sources as far as each has enough.
        items: products shown per query.
        seed: of every choice.
        every_cluster: draw from all queries instead of those that the tasks use.
    """

    queries: int = 50
    items: int = 8
    seed: int = 0
    every_cluster: bool = False

    def __post_init__(self) -> None:
        for name in ("queries", "items"):
            if getattr(self, name) < 1:
                raise ConfigError(f"review.{name} must be at least 1.", given=getattr(self, name))
        if self.seed < 0:
            raise ConfigError("review.seed must not be negative.", given=self.seed)


@dataclass(frozen=True)
class ReviewedQuery:
    """A query of the sample; ``items`` are products of its cluster, ``size`` how many it has."""

    query_id: str
    query: str
    size: int
    items: tuple[Mapping[str, Any], ...]


@dataclass(frozen=True)
class Review:
    """A sample, in the order in which reviewers see it.

    Attributes:
        review_id: hash of the edition and the drawn queries.
        edition_id: the edition that they are of.
        queries: what is reviewed.
    """

    review_id: str
    edition_id: str
    queries: tuple[ReviewedQuery, ...]


@in_its_domain
def sample_review(edition: Edition, config: ReviewConfig | None = None) -> Review:
    """Draw queries and items of their clusters.

    Args:
        edition: any edition.
        config: how many; a cluster gives a second query only when all have given one.

    Raises:
        InputError: if the edition has no queries.
    """
    config = config or ReviewConfig()
    queries = edition.table("queries", ["query_id", "query", "prefix", "source"])
    if not config.every_cluster:
        used = edition.table("ranking", ["query_id"])["query_id"]
        queries = queries.filter(pc.is_in(queries["query_id"], value_set=used.combine_chunks()))
    if not len(queries):
        raise InputError("This edition has no queries to review.", given=str(edition.path))
    rng = np.random.default_rng(config.seed)
    drawn = queries.take(pa.array(_draw(queries, config.queries, rng))).to_pylist()
    corpus = edition.table("corpus", ["product_id", "semantic_id", *domain().shown])
    codes = np.array(corpus["semantic_id"].to_pylist(), dtype=np.int64)
    chosen = [_reviewed(row, corpus, codes, config.items, rng) for row in drawn]
    review_id = digest(edition.id, *(one.query_id for one in chosen), str(config.items))[:12]
    return Review(review_id, edition.id, tuple(chosen))


def _draw(queries: pa.Table, count: int, rng: np.random.Generator) -> list[int]:
    """Rows: first one per cluster, the sources in turn, then shuffled."""
    order = rng.permutation(len(queries))
    prefixes = ["-".join(map(str, prefix)) for prefix in queries["prefix"].to_pylist()]
    sources = queries["source"].to_pylist()
    turn: dict[str, int] = {}
    ranked: dict[str, list[tuple[int, int]]] = {}
    for row in order.tolist():  # the n-th query of its cluster
        turn[prefixes[row]] = turn.get(prefixes[row], -1) + 1
        ranked.setdefault(sources[row], []).append((turn[prefixes[row]], row))
    lists = [[row for _, row in sorted(ranked[name], key=lambda one: one[0])] for name in ranked]
    rounds = (rows[place] for place in range(len(order)) for rows in lists if place < len(rows))
    drawn = [row for row, _ in zip(rounds, range(count), strict=False)]
    return [drawn[place] for place in rng.permutation(len(drawn)).tolist()]


def _reviewed(
    row: Mapping[str, Any],
    corpus: pa.Table,
    codes: NDArray[np.int64],
    count: int,
    rng: np.random.Generator,
) -> ReviewedQuery:
    members = np.flatnonzero((codes[:, : len(row["prefix"])] == row["prefix"]).all(axis=1))
    shown = np.sort(rng.permutation(members)[:count])
    items = corpus.take(pa.array(shown)).select(["product_id", *domain().shown]).to_pylist()
    return ReviewedQuery(row["query_id"], row["query"], len(members), tuple(items))
