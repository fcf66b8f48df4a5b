"""A human check of an edition's queries: drawing a sample, and reading what reviewers answered.

In:  an edition's queries and products; later the files that reviewers saved.
Out: a :class:`Review`: queries with items of their clusters, in an order that says nothing of their
     source; :class:`Reviewed`: means with intervals per source, and what was left out.

The check behind the paper's section 9, small enough for one person and an edition of their own:
does a query read naturally, is it clear, does it fit its cluster's items? A query's mean over
reviewers is one observation, as in ``study.py``, which compares sources by a proper study.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray
from scipy import stats

from fashion_rq_bench.editions.edition import Edition
from fashion_rq_bench.errors import ConfigError, InputError
from fashion_rq_bench.schema.domain import domain
from fashion_rq_bench.support.files import digest, read_json

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

SCALES = ("natural", "clear", "fits")
LOWEST, HIGHEST = 1, 5
"""Ends of the scales: very unnatural, very vague, fits none of the items; and their opposites."""

ANSWERS_FORMAT = "fashion-rq-review/1"
_RATINGS = {str(number): float(number) for number in range(LOWEST, HIGHEST + 1)}
_LEVEL = 0.05
_LONGEST = 2_000
Matrix = NDArray[np.float64]


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


# ---------------------------------------------------------------- reading back


@dataclass(frozen=True)
class Unparseable:
    """An answer that is no rating from 1 to 5."""

    rater: str
    query_id: str
    scale: str
    answer: str


@dataclass(frozen=True)
class Comment:
    """What a reviewer wrote about a query."""

    rater: str
    query_id: str
    query: str
    text: str


@dataclass(frozen=True)
class ScaleMean:
    """Mean of one scale over the rated queries of a source ("all" for every source).

    ``low`` and ``high`` are the ends of the 95% t interval, NaN for fewer than two queries.
    """

    source: str
    scale: str
    queries: int
    mean: float
    low: float
    high: float


@dataclass(frozen=True)
class Reviewed:
    """What reviewers answered.

    Attributes:
        raters: their names, in the files' order.
        means: per source and scale, all sources together last.
        lowest: queries by their mean over all scales, the lowest first: (query_id, query, mean).
        comments: what they wrote.
        unparseable: answers that are no rating.
        missing: answers that are not there, over all scales.
        unknown: answers to queries that the edition does not have.
    """

    raters: tuple[str, ...]
    means: tuple[ScaleMean, ...]
    lowest: tuple[tuple[str, str, float], ...]
    comments: tuple[Comment, ...]
    unparseable: tuple[Unparseable, ...]
    missing: int
    unknown: int


@dataclass
class _Answers:
    """Ratings by scale and query, and what was left out."""

    ratings: dict[str, dict[str, list[float]]] = field(
        default_factory=lambda: {scale: {} for scale in SCALES}
    )
    comments: list[Comment] = field(default_factory=list)
    unparseable: list[Unparseable] = field(default_factory=list)
    missing: int = 0
    unknown: int = 0


def read_reviews(paths: Sequence[Path], edition: Edition) -> Reviewed:
    """Read the files that reviewers saved, of one sample or of several.

    Args:
        paths: JSON files.
        edition: whose queries were reviewed.

    Raises:
        InputError: if a file is no saved review, is of another edition, or one reviewer's name
            comes twice for the same sample.
    """
    table = edition.table("queries", ["query_id", "query", "source"])
    known = {row["query_id"]: row for row in table.to_pylist()}
    answers = _Answers()
    raters: list[str] = []
    seen: set[tuple[str, str]] = set()
    for path in paths:
        content = _content(path, edition.id)
        rater = str(content.get("rater", "")).strip() or path.stem
        once = (str(content.get("review")), rater)
        if once in seen:
            raise InputError("Two files come from one reviewer.", given=rater)
        seen.add(once)
        raters.append(rater)
        for answer in content.get("answers", []):
            _take(answer, rater, known, answers)
    sources = {query_id: row["source"] for query_id, row in known.items()}
    return Reviewed(
        tuple(dict.fromkeys(raters)),
        _means(answers, sources),
        _lowest(answers, known),
        tuple(answers.comments),
        tuple(answers.unparseable),
        answers.missing,
        answers.unknown,
    )


def _content(path: Path, edition_id: str) -> dict[str, Any]:
    try:
        content = read_json(path)
    except (OSError, ValueError) as error:
        raise InputError(f"This file cannot be read: {error}.", given=str(path)) from error
    found = content.get("format") if isinstance(content, dict) else None
    if found != ANSWERS_FORMAT or not isinstance(content.get("answers"), list):
        raise InputError(f"{path.name} is no saved review.", given=found, allowed=[ANSWERS_FORMAT])
    if content.get("edition") != edition_id:
        raise InputError(
            f"{path.name} reviews another edition.",
            given=content.get("edition"),
            allowed=[edition_id],
            fix="Name the edition that the page was made of: --edition PATH.",
        )
    return dict(content)


def _take(
    answer: Any, rater: str, known: Mapping[str, Mapping[str, Any]], answers: _Answers
) -> None:
    """Put one query's answers where they belong."""
    query_id = str(answer.get("id")) if isinstance(answer, Mapping) else ""
    if query_id not in known:
        answers.unknown += 1
        return
    for scale in SCALES:
        given = answer.get(scale)
        rating = _RATINGS.get(str(given).strip())
        if given is None:
            answers.missing += 1
        elif rating is None:
            answers.unparseable.append(Unparseable(rater, query_id, scale, str(given)[:_LONGEST]))
        else:
            answers.ratings[scale].setdefault(query_id, []).append(rating)
    text = " ".join(str(answer.get("comment") or "").split())[:_LONGEST]
    if text:
        answers.comments.append(Comment(rater, query_id, known[query_id]["query"], text))


def _means(answers: _Answers, sources: Mapping[str, str]) -> tuple[ScaleMean, ...]:
    rated = {query_id for one in answers.ratings.values() for query_id in one}
    names = sorted({sources[query_id] for query_id in rated})
    groups = [*names, "all"] if len(names) > 1 else names
    found = []
    for name in groups:
        for scale in SCALES:
            of_queries = answers.ratings[scale].items()
            values = [np.mean(v) for query, v in of_queries if name in ("all", sources[query])]
            found.append(_mean(name, scale, np.array(values, dtype=np.float64)))
    return tuple(found)


def _mean(source: str, scale: str, values: Matrix) -> ScaleMean:
    nan = float("nan")
    if len(values) < 2:
        return ScaleMean(
            source, scale, len(values), float(values[0]) if len(values) else nan, nan, nan
        )
    mean = float(values.mean())
    reach = float(stats.t.isf(_LEVEL / 2, len(values) - 1) * stats.sem(values))
    return ScaleMean(source, scale, len(values), mean, mean - reach, mean + reach)


def _lowest(
    answers: _Answers, known: Mapping[str, Mapping[str, Any]]
) -> tuple[tuple[str, str, float], ...]:
    """Every rated query with its mean over scales, the lowest first."""
    by_query: dict[str, list[float]] = {}
    for scale in SCALES:
        for query_id, ratings in answers.ratings[scale].items():
            by_query.setdefault(query_id, []).append(float(np.mean(ratings)))
    means = [(one, known[one]["query"], float(np.mean(v))) for one, v in by_query.items()]
    return tuple(sorted(means, key=lambda one: (one[2], one[0])))
