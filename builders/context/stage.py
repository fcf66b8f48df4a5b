"""Relational context: what sets a cluster apart from its parent and its nearest siblings.

In:  the catalog, semantic IDs, all clusters, embeddings.
Out: the CLUSTERS table: every qualifying cluster with its evidence.

Paper, section 3 (relational context, Eq. 6) and supplement 8.0.2. Shares of single-valued
attributes are over the products whose value is known, so that missing metadata is not taken for a
difference; shares of list attributes and title phrases are over all products of the cluster.
Products x values is one sparse matrix, counted once per leaf and rolled up.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import scipy.sparse as sp

from fashion_rq_bench.builders.context.cluster_levels import (
    NUMERIC,
    SCALARS,
    STATISTICS,
    Tier,
    build_tiers,
)
from fashion_rq_bench.builders.context.incidence import Axis, Incidence, column_axis, incidence
from fashion_rq_bench.builders.context.signatures import Level, Signature, SignatureRule, signatures
from fashion_rq_bench.builders.context.title_phrases import title_phrases
from fashion_rq_bench.errors import ConfigError, InputError
from fashion_rq_bench.schema.tables import CLUSTERS

__all__ = ["SIGNATURE_AXES", "ContextConfig", "context"]

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

SIGNATURE_AXES = (
    "master_category",
    "sub_category",
    "article_type",
    "brand",
    "base_color",
    "gender",
    "usage",
    "price_tier",
)
"""The single-valued axes of signatures; title phrases are the ninth."""

_LISTS = ("pattern", "material", "occasion", "style")
_TYPE_AXES = ("article_type", "sub_category", "master_category")  # most specific first
_PHRASE = "title"


@dataclass(frozen=True)
class ContextConfig:
    """Knobs of the context stage.

    Attributes:
        siblings: nearest siblings compared with.
        min_delta: percentage points that make an exclusivity constraint.
        min_share: smallest share listed in a distribution.
        discriminating_coverage, discriminating_precision, discriminating_top: see signatures.
        coverage_coverage, coverage_precision, coverage_top: see signatures.
        max_combination: attributes per signature, 1 to 3.
        phrase_min_count: titles that must hold a phrase; phrase_limit: phrases kept.
        phrases_per_cluster: phrases listed in the evidence.
    """

    siblings: int = 3
    min_delta: float = 20.0
    min_share: float = 0.05
    discriminating_coverage: float = 0.10
    discriminating_precision: float = 0.90
    discriminating_top: int = 8
    coverage_coverage: float = 0.05
    coverage_precision: float = 0.50
    coverage_top: int = 20
    max_combination: int = 3
    phrase_min_count: int = 20
    phrase_limit: int = 1000
    phrases_per_cluster: int = 12

    def __post_init__(self) -> None:
        shares = {name: getattr(self, name) for name in self.__dataclass_fields__}
        for name, value in shares.items():
            if name.endswith(("share", "coverage", "precision")) and not 0 <= value <= 1:
                raise ConfigError(f"context.{name} is a share.", given=value, allowed=["0 to 1"])
        if not 1 <= self.max_combination <= 3:
            raise ConfigError(
                "context.max_combination is the attributes of a signature.",
                given=self.max_combination,
                allowed=[1, 2, 3],
            )
        if self.siblings < 0 or self.min_delta <= 0:
            raise ConfigError(
                "context.siblings cannot be negative, context.min_delta must be above 0.",
                given=(self.siblings, self.min_delta),
            )


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
            "evidence": _evidence(values, tiers, row["level"], number, signed, config),
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
    axes = [column_axis(catalog, name) for name in (*SCALARS, *_LISTS)]
    axes.append(_phrase_axis(catalog, config))
    return incidence(sorted(axes, key=lambda one: one.name), len(catalog))


def _phrase_axis(catalog: pa.Table, config: ContextConfig) -> Axis:
    phrases = title_phrases(catalog, min_count=config.phrase_min_count, limit=config.phrase_limit)
    products, codes = phrases.matrix.nonzero()
    order = np.lexsort((codes, products))
    return Axis(
        _PHRASE, phrases.values, products[order].astype(np.int64), codes[order].astype(np.int64)
    )


# ---------------------------------------------------------------- evidence


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
    axes = [named[name] for name in (*SIGNATURE_AXES, _PHRASE)]
    return signatures(axes, tiers[-1].of_product, levels, rules, config.max_combination)


def _evidence(
    values: Incidence,
    tiers: list[Tier],
    level: int,
    number: int,
    signed: list[list[dict[int, list[Signature]]]],
    config: ContextConfig,
) -> dict[str, Any]:
    tier, above = tiers[level], tiers[level - 1]
    parent = int(tier.parents[number])
    siblings = [int(sibling) for sibling in tier.siblings[number] if sibling >= 0]
    own = _row(tier.shares, number)
    parent_shares = _row(above.shares, parent)
    sibling_shares = [_row(tier.shares, sibling) for sibling in siblings]
    counts = _row(tier.counts, number)
    references = [("parent", above, parent)]
    references += [(f"sibling {i}", tier, s) for i, s in enumerate(siblings, start=1)]
    discriminating, coverage = (per_rule.get(number, []) for per_rule in signed[level - 1])
    return {
        "parent_size": int(above.sizes[parent]),
        "siblings": [
            {"prefix": list(tier.prefixes[sibling]), "size": int(tier.sizes[sibling])}
            for sibling in siblings
        ],
        "product_type_axis": _type_axis(values, own),
        "product_types": _product_types(values, own, counts),
        "distribution": list(
            _distribution(values, own, counts, parent_shares, sibling_shares, config)
        ),
        "numeric": list(_numeric(references, tier, number)),
        "exclusivity": list(
            _constraints(values, own, [parent_shares, *sibling_shares], references, config)
        ),
        "discriminating": [_signature(signature) for signature in discriminating],
        "coverage": [_signature(signature) for signature in coverage],
        "phrases": _phrases(values, own, config),
    }


def _row(matrix: sp.csr_array, number: int) -> dict[int, float]:
    part = slice(matrix.indptr[number], matrix.indptr[number + 1])
    return dict(zip(matrix.indices[part].tolist(), matrix.data[part].tolist(), strict=True))


def _of(values: Incidence, row: dict[int, float], attribute: str) -> list[tuple[int, float]]:
    """Columns of one attribute in a row, the largest first."""
    block = values.columns[attribute]
    inside = [(column, row[column]) for column in range(block.start, block.stop) if column in row]
    return sorted(inside, key=lambda item: (-item[1], item[0]))


def _type_axis(values: Incidence, own: dict[int, float]) -> str:
    """The most specific attribute whose dominant value gives the highest purity."""
    best, axis = 0.0, _TYPE_AXES[-1]
    for attribute in _TYPE_AXES:
        dominant = _of(values, own, attribute)
        if dominant and dominant[0][1] > best + 1e-9:
            best, axis = dominant[0][1], attribute
    return axis


def _product_types(
    values: Incidence, own: dict[int, float], counts: dict[int, float]
) -> list[dict[str, Any]]:
    """Values of the most specific type attribute known here: what queries have to cover."""
    for attribute in _TYPE_AXES:
        types = _of(values, own, attribute)
        if types:
            return [
                {"value": values.names[c][1], "count": int(counts[c]), "share": share}
                for c, share in types
            ]
    return []


def _distribution(
    values: Incidence,
    own: dict[int, float],
    counts: dict[int, float],
    parent: dict[int, float],
    siblings: list[dict[int, float]],
    config: ContextConfig,
) -> Iterator[dict[str, Any]]:
    """Values by attribute, the most frequent first, with deltas in percentage points (Eq. 6)."""
    for attribute in (*SCALARS, *_LISTS):
        for column, share in _of(values, own, attribute):
            if share < config.min_share:
                break
            yield {
                "attribute": attribute,
                "value": values.names[column][1],
                "count": int(counts[column]),
                "share": share,
                "delta_parent": 100 * (share - parent.get(column, 0.0)),
                "delta_siblings": [100 * (share - other.get(column, 0.0)) for other in siblings],
            }


def _constraints(
    values: Incidence,
    own: dict[int, float],
    others: list[dict[int, float]],
    references: list[tuple[str, Tier, int]],
    config: ContextConfig,
) -> Iterator[dict[str, Any]]:
    for other, (against, _, _) in zip(others, references, strict=True):
        for column in sorted(own.keys() | other.keys()):
            delta = 100 * (own.get(column, 0.0) - other.get(column, 0.0))
            attribute, value = values.names[column]
            if attribute != _PHRASE and abs(delta) >= config.min_delta - 1e-9:
                yield {"attribute": attribute, "value": value, "against": against, "delta": delta}


def _numeric(
    references: list[tuple[str, Tier, int]], tier: Tier, number: int
) -> Iterator[dict[str, Any]]:
    for attribute in NUMERIC:
        own = tier.numeric[attribute][number]
        for against, other_tier, other in references:
            theirs = other_tier.numeric[attribute][other]
            for name, value, reference in zip(STATISTICS, own, theirs, strict=True):
                if np.isfinite(value) and np.isfinite(reference):
                    yield {
                        "attribute": attribute,
                        "against": against,
                        "statistic": name,
                        "value": float(value),
                        "delta": float(value - reference),
                    }


def _signature(signature: Signature) -> dict[str, Any]:
    pairs = [{"attribute": name, "value": value} for name, value in signature.pairs]
    return {
        "pairs": pairs,
        "coverage": signature.coverage,
        "precision": signature.precision,
        "exclusivity": signature.exclusivity,
    }


def _phrases(
    values: Incidence, own: dict[int, float], config: ContextConfig
) -> list[dict[str, Any]]:
    listed = [item for item in _of(values, own, _PHRASE) if item[1] >= config.min_share]
    return [
        {"value": values.names[column][1], "share": share}
        for column, share in listed[: config.phrases_per_cluster]
    ]
