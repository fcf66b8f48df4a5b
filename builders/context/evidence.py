"""What is said of one cluster: shares, deltas, signatures, phrases.

In:  products x values, the clusters of every level, signatures.
Out: the evidence of a cluster, schema EVIDENCE.

Paper, section 3 (Eq. 6: deltas against the parent and the nearest siblings) and supplement 8.0.2.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import scipy.sparse as sp

from fashion_rq_bench.builders.context.cluster_levels import STATISTICS, Tier
from fashion_rq_bench.builders.context.config import ContextConfig
from fashion_rq_bench.builders.context.incidence import Incidence
from fashion_rq_bench.builders.context.signatures import Signature
from fashion_rq_bench.schema.domain import domain

__all__ = ["PHRASE", "axes_of", "cluster_evidence"]

PHRASE = "title"
"""The axis of title phrases."""

_TYPE_AXES = ("article_type", "sub_category", "master_category")  # most specific first


def axes_of() -> tuple[str, ...]:
    """The columns whose values are counted: those of one value, then the lists."""
    return (*domain().plain("context"), *domain().lists)


def cluster_evidence(
    values: Incidence,
    tiers: list[Tier],
    level: int,
    number: int,
    signed: list[list[dict[int, list[Signature]]]],
    config: ContextConfig,
) -> dict[str, Any]:
    """Evidence of one cluster, ``number`` of its level, as the schema EVIDENCE has it."""
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
    for attribute in axes_of():
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
            if attribute != PHRASE and abs(delta) >= config.min_delta - 1e-9:
                yield {"attribute": attribute, "value": value, "against": against, "delta": delta}


def _numeric(
    references: list[tuple[str, Tier, int]], tier: Tier, number: int
) -> Iterator[dict[str, Any]]:
    for attribute in domain().numbers:
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
    listed = [item for item in _of(values, own, PHRASE) if item[1] >= config.min_share]
    return [
        {"value": values.names[column][1], "share": share}
        for column, share in listed[: config.phrases_per_cluster]
    ]
