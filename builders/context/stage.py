"""Relational context: what sets a cluster apart from its parent and its nearest siblings.

In:  the catalog, semantic IDs, all clusters, embeddings.
Out: the CLUSTERS table: every qualifying cluster with its evidence.

Paper, section 3 (relational context, Eq. 6) and supplement 8.0.2. Shares of single-valued
attributes are over the products whose value is known, so that missing metadata is not taken for a
difference; shares of list attributes and title phrases are over all products of the cluster.
Products x values is one sparse matrix, counted once per leaf and rolled up.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from fashion_rq_bench.builders.context.cluster_levels import Tier, build_tiers
from fashion_rq_bench.builders.context.config import ContextConfig
from fashion_rq_bench.builders.context.evidence import PHRASE, axes_of, cluster_evidence
from fashion_rq_bench.builders.context.incidence import Axis, Incidence, column_axis, incidence
from fashion_rq_bench.builders.context.signatures import Level, Signature, SignatureRule, signatures
from fashion_rq_bench.builders.context.title_phrases import title_phrases
from fashion_rq_bench.errors import InputError
from fashion_rq_bench.schema.domain import domain
from fashion_rq_bench.schema.tables import CLUSTERS

__all__ = ["ContextConfig", "context"]

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]


def context(
    catalog: pa.Table,
    semantic_ids: pa.Table,
    clusters: pa.Table,
    embeddings: pa.Table,
    config: ContextConfig | None = None,
) -> pa.Table:
    """Evidence of every qualifying cluster.

    Args:
        catalog: schema CATALOG.
        semantic_ids: schema SEMANTIC_IDS, in the catalog's order.
        clusters: all clusters: prefix, level, size, purity, article_type, qualifying.
        embeddings: product_id and vector, in the catalog's order.
        config: thresholds.

    Returns:
        A table of schema CLUSTERS, ordered by (level, prefix).

    Raises:
        InputError: if the tables do not have one row per product of the catalog.
    """
    config = config or ContextConfig()
    codes = _codes(catalog, semantic_ids, embeddings)
    values = _values(catalog, config)
    tiers = build_tiers(catalog, codes, values, embeddings, config.siblings)
    wanted = clusters.filter(clusters["qualifying"]).to_pylist()
    wanted.sort(key=lambda row: (row["level"], row["prefix"]))
    numbers = [{prefix: i for i, prefix in enumerate(tier.prefixes)} for tier in tiers]
    chosen = [(row, numbers[row["level"]][tuple(row["prefix"])]) for row in wanted]
    signed = _signatures(values, tiers, chosen, config)
    rows = [
        {
            **{name: row[name] for name in ("prefix", "level", "size", "purity", "article_type")},
            "evidence": cluster_evidence(values, tiers, row["level"], number, signed, config),
        }
        for row, number in chosen
    ]
    return pa.Table.from_pylist(rows, schema=CLUSTERS)


def _codes(catalog: pa.Table, semantic_ids: pa.Table, embeddings: pa.Table) -> Ints:
    for name, table in (("semantic_ids", semantic_ids), ("embeddings", embeddings)):
        if not table["product_id"].equals(catalog["product_id"]):
            raise InputError(
                f"{name} must have the catalog's products in the catalog's order.",
                given=f"{len(table)} rows for {len(catalog)} products",
                fix="Rebuild it from this catalog.",
            )
    column = semantic_ids["semantic_id"].combine_chunks()
    codes: Ints = column.flatten().to_numpy(zero_copy_only=False).astype(np.int64)
    return codes.reshape(len(catalog), -1)


# ---------------------------------------------------------------- products x values


def _values(catalog: pa.Table, config: ContextConfig) -> Incidence:
    axes = [column_axis(catalog, name) for name in axes_of()]
    axes.append(_phrase_axis(catalog, config))
    return incidence(sorted(axes, key=lambda one: one.name), len(catalog))


def _phrase_axis(catalog: pa.Table, config: ContextConfig) -> Axis:
    phrases = title_phrases(catalog, min_count=config.phrase_min_count, limit=config.phrase_limit)
    products, codes = phrases.matrix.nonzero()
    order = np.lexsort((codes, products))
    return Axis(
        PHRASE, phrases.values, products[order].astype(np.int64), codes[order].astype(np.int64)
    )


# ---------------------------------------------------------------- signatures


def _signatures(
    values: Incidence,
    tiers: list[Tier],
    chosen: list[tuple[dict[str, Any], int]],
    config: ContextConfig,
) -> list[list[dict[int, list[Signature]]]]:
    first = np.unique(tiers[-1].of_product, return_index=True)[1]
    levels = []
    for level, tier in enumerate(tiers[1:], start=1):
        wanted = np.zeros(len(tier.sizes), bool)
        wanted[[number for row, number in chosen if row["level"] == level]] = True
        levels.append(Level(tier.of_product[first], tier.sizes, wanted, tier.siblings))
    rules = (
        SignatureRule(
            config.discriminating_coverage,
            config.discriminating_precision,
            config.discriminating_top,
            ("exclusivity", "precision", "coverage"),
        ),
        SignatureRule(
            config.coverage_coverage,
            config.coverage_precision,
            config.coverage_top,
            ("coverage", "precision", "exclusivity"),
        ),
    )
    named = {one.name: one for one in values.axes}
    axes = [named[name] for name in (*domain().plain("signature"), PHRASE)]
    return signatures(axes, tiers[-1].of_product, levels, rules, config.max_combination)
