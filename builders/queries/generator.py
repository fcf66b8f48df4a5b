"""Queries of every qualifying cluster, by the offline grammar.

In:  clusters with evidence, the catalog, semantic IDs.
Out: the QUERIES table with intents, and a report.

Implements the paper's section 3 (automatic query generation) without a language model: first
drafts (``drafts.py``), then the verifier, whose objections go back once (``revision.py``).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from fashion_rq_bench.builders.queries.check.revision import settle
from fashion_rq_bench.builders.queries.check.verify import Verifier, VerifyConfig
from fashion_rq_bench.builders.queries.grammar.drafts import Draft, DraftRule, Writer, queries_table
from fashion_rq_bench.builders.queries.say.candidate_wishes import wish_incidence
from fashion_rq_bench.builders.queries.say.evidence import Evidence, read_evidence
from fashion_rq_bench.builders.queries.say.planning import Planner
from fashion_rq_bench.builders.queries.say.query_config import QueryConfig
from fashion_rq_bench.builders.queries.say.wish_sets import PrefixIndex
from fashion_rq_bench.errors import InputError
from fashion_rq_bench.support.progress import track
from fashion_rq_bench.words.vocabulary import fold

__all__ = ["QueryConfig", "QueryResult", "check_same_products", "generate"]


@dataclass(frozen=True)
class QueryResult:
    """Queries and what happened on the way."""

    table: pa.Table
    report: dict[str, Any]


def check_same_products(semantic_ids: pa.Table, catalog: pa.Table) -> None:
    """Raise InputError unless the semantic IDs are those of the catalog's products, in order."""
    if not semantic_ids["product_id"].equals(catalog["product_id"]):
        raise InputError(
            "semantic_ids must have the catalog's products in the catalog's order.",
            given=f"{len(semantic_ids)} rows for {len(catalog)} products",
        )


def generate(
    clusters: pa.Table, catalog: pa.Table, semantic_ids: pa.Table, config: QueryConfig | None = None
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
    check_same_products(semantic_ids, catalog)
    index = PrefixIndex(np.array(semantic_ids["semantic_id"].to_pylist(), dtype=np.int64))
    values = wish_incidence(catalog)
    found = list(read_evidence(clusters))
    writer = Writer(Planner(catalog, index, values), _rule(config))
    drafts = _first_drafts(found, writer)
    if not config.check:
        table = queries_table(drafts)
        return QueryResult(table, _report(table, drafts, writer))
    form = VerifyConfig(min_words=config.min_words, max_words=config.max_words)
    verifier = Verifier(found, catalog, index, values, config=form)
    settled = settle(drafts, writer, verifier, config.least_queries)
    report = _report(settled.table, settled.drafts, writer)
    checks = verifier.report(settled.table, settled.checked)
    return QueryResult(settled.table, {**report, "checks": checks, "revision": settled.report})


def _first_drafts(found: Sequence[Evidence], writer: Writer) -> list[Draft]:
    progress = track(found, "writing queries", total=len(found))
    return [draft for evidence in progress for draft in writer.first(evidence)]


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
