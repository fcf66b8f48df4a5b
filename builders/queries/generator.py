"""Queries of every qualifying cluster, by the offline grammar.

In:  clusters with evidence, the catalog, semantic IDs.
Out: the QUERIES table with intents, and a report.

Implements the paper's section 3 (automatic query generation) without a language model: first
drafts (``drafts.py``), then the verifier, whose objections go back once (``revision.py``).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import pyarrow as pa

from fashion_rq_bench.builders.queries.check.revision import settle
from fashion_rq_bench.builders.queries.check.verify import Verifier, VerifyConfig
from fashion_rq_bench.builders.queries.grammar.drafts import Draft, DraftRule, Writer, queries_table
from fashion_rq_bench.builders.queries.say.candidate_wishes import wish_incidence
from fashion_rq_bench.builders.queries.say.evidence import read_evidence
from fashion_rq_bench.builders.queries.say.planning import Planner
from fashion_rq_bench.builders.queries.say.wish_sets import PrefixIndex
from fashion_rq_bench.errors import ConfigError, InputError
from fashion_rq_bench.support.progress import track
from fashion_rq_bench.words.vocabulary import fold

__all__ = ["QueryConfig", "QueryResult", "generate"]


@dataclass(frozen=True)
class QueryConfig:
    """Knobs of the queries stage.

    Attributes:
        generator: "grammar", offline and deterministic, or "llm" (docs/language-models.md).
        seed: seed of every choice.
        min_queries, max_queries: queries drafted per cluster; leaves get ``min_queries`` to
            ``min_queries + 2``, higher clusters as many as their product types need.
        least_queries: queries a cluster keeps even if the verifier objects, the best of them.
        min_words, max_words: length of a query.
        noise: share of the queries typed in haste (see ``noise.py``), labelled in ``source``.
        check: run the verifier, revise what fails once, and drop what fails again.
    """

    generator: Literal["grammar", "llm"] = "grammar"
    seed: int = 0
    min_queries: int = 6
    max_queries: int = 12
    least_queries: int = 2
    min_words: int = 3
    max_words: int = 26
    noise: float = 0.0
    check: bool = True

    def __post_init__(self) -> None:
        if self.seed < 0:
            raise ConfigError("queries.seed must not be negative.", given=self.seed)
        if not 1 <= self.min_queries <= self.max_queries:
            raise ConfigError(
                "queries.min_queries and max_queries must be a rising pair from 1.",
                given=(self.min_queries, self.max_queries),
            )
        if not 0 <= self.least_queries <= self.min_queries:
            raise ConfigError(
                "queries.least_queries must be between 0 and queries.min_queries.",
                given=self.least_queries,
            )
        if not 0 <= self.noise <= 1:
            raise ConfigError("queries.noise is a share.", given=self.noise, allowed=["0 to 1"])
        if not 1 <= self.min_words <= self.max_words:
            raise ConfigError(
                "queries.min_words and max_words must be a rising pair from 1.",
                given=(self.min_words, self.max_words),
            )


@dataclass(frozen=True)
class QueryResult:
    """Queries and what happened on the way."""

    table: pa.Table
    report: dict[str, Any]


def generate(
    clusters: pa.Table,
    catalog: pa.Table,
    semantic_ids: pa.Table,
    config: QueryConfig | None = None,
) -> QueryResult:
    """Write queries for every cluster.

    Args:
        clusters: schema CLUSTERS.
        catalog: schema CATALOG.
        semantic_ids: schema SEMANTIC_IDS, in the catalog's order.
        config: counts, lengths and the seed.

    Returns:
        The QUERIES table, ordered by (level, prefix, position), and the report.

    Raises:
        InputError: if the semantic IDs are not the catalog's.
    """
    config = config or QueryConfig()
    if not semantic_ids["product_id"].equals(catalog["product_id"]):
        raise InputError(
            "semantic_ids must have the catalog's products in the catalog's order.",
            given=f"{len(semantic_ids)} rows for {len(catalog)} products",
        )
    index = PrefixIndex(np.array(semantic_ids["semantic_id"].to_pylist(), dtype=np.int64))
    values = wish_incidence(catalog)
    found = list(read_evidence(clusters))
    writer = Writer(Planner(catalog, index, values), _rule(config))
    drafts = [
        draft
        for evidence in track(found, "writing queries", total=len(found))
        for draft in writer.first(evidence)
    ]
    if not config.check:
        table = queries_table(drafts)
        return QueryResult(table, _report(table, drafts, writer))
    form = VerifyConfig(min_words=config.min_words, max_words=config.max_words)
    verifier = Verifier(found, catalog, index, values, config=form)
    settled = settle(drafts, writer, verifier, config.least_queries)
    report = _report(settled.table, settled.drafts, writer)
    checks = verifier.report(settled.table, settled.checked)
    return QueryResult(settled.table, {**report, "checks": checks, "revision": settled.report})


def _rule(config: QueryConfig) -> DraftRule:
    return DraftRule(
        config.seed,
        (config.min_queries, config.max_queries),
        (config.min_words, config.max_words),
        config.noise,
    )


def _report(table: pa.Table, drafts: Sequence[Draft], writer: Writer) -> dict[str, Any]:
    lengths = [len(text.split()) for text in table["query"].to_pylist()]
    return {
        "queries": len(table),
        "unique": len({fold(text) for text in table["query"].to_pylist()}),
        "words_mean": float(np.mean(lengths)) if lengths else float("nan"),
        "words_range": [min(lengths, default=0), max(lengths, default=0)],
        "dropped": dict(sorted(writer.dropped.items())),
        "satisfied": {
            tier: _mean([getattr(draft.planned.wishes, tier) for draft in drafts])
            for tier in ("exact", "sibling", "related", "other")
        },
    }


def _mean(shares: list[float]) -> float:
    """Mean of the shares that are defined; NaN if none is."""
    known = [share for share in shares if share == share]
    return float(np.mean(known)) if known else float("nan")
