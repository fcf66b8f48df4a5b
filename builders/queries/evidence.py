"""A cluster's evidence as one typed object.

In:  a row of the CLUSTERS table.
Out: :class:`Evidence`, which both the offline grammar and a language model's prompt are made from.

Its parts are those of the paper's query prompt: product types with shares, signatures, deltas
against parent and siblings, exclusivity constraints, title phrases.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

__all__ = ["Evidence", "Share", "Signature", "evidence_of", "read_evidence"]


@dataclass(frozen=True)
class Share:
    """A value, how many products hold it, and their share in [0, 1]."""

    value: str
    count: int
    share: float


@dataclass(frozen=True)
class Signature:
    """A combination of (attribute, value) pairs with its figures, shares in [0, 1]."""

    pairs: tuple[tuple[str, str], ...]
    coverage: float
    precision: float
    exclusivity: float


@dataclass(frozen=True)
class Evidence:
    """What is known of one cluster.

    Attributes:
        prefix, level, size, purity, article_type: as in CLUSTERS.
        product_types: the most specific types held, the most frequent first.
        phrases: title phrases and the share of titles that hold them.
        discriminating, coverage: signatures.
        exclusivity: (attribute, value, against, percentage points).
        siblings: prefixes of the nearest siblings.
    """

    prefix: tuple[int, ...]
    level: int
    size: int
    purity: float
    article_type: str | None
    product_types: tuple[Share, ...]
    phrases: Mapping[str, float]
    discriminating: tuple[Signature, ...]
    coverage: tuple[Signature, ...]
    exclusivity: tuple[tuple[str, str, str, float], ...]
    siblings: tuple[tuple[int, ...], ...]

    def required_types(self, least: float = 0.05) -> tuple[str, ...]:
        """Product types that queries have to cover (paper, section 3: at least 5%)."""
        return tuple(one.value for one in self.product_types if one.share >= least)

    def minor_types(self, least: float = 0.05) -> tuple[str, ...]:
        """Product types below that share; one catch-all query names them together."""
        return tuple(one.value for one in self.product_types if one.share < least)

    @property
    def key(self) -> str:
        """The prefix as text: codes joined by "-"."""
        return "-".join(map(str, self.prefix))


def read_evidence(clusters: pa.Table) -> Iterator[Evidence]:
    """Evidence of each row of a CLUSTERS table, in order."""
    for batch in clusters.to_batches(max_chunksize=256):
        for row in batch.to_pylist():
            yield evidence_of(row)


def evidence_of(row: Mapping[str, Any]) -> Evidence:
    """Evidence of one row of a CLUSTERS table, given as a dict."""
    found = row["evidence"]
    return Evidence(
        tuple(row["prefix"]),
        row["level"],
        row["size"],
        row["purity"],
        row["article_type"],
        tuple(Share(t["value"], t["count"], t["share"]) for t in found["product_types"]),
        {phrase["value"]: phrase["share"] for phrase in found["phrases"]},
        tuple(_signature(signature) for signature in found["discriminating"]),
        tuple(_signature(signature) for signature in found["coverage"]),
        tuple((c["attribute"], c["value"], c["against"], c["delta"]) for c in found["exclusivity"]),
        tuple(tuple(sibling["prefix"]) for sibling in found["siblings"]),
    )


def _signature(found: Mapping[str, Any]) -> Signature:
    pairs = tuple((pair["attribute"], pair["value"]) for pair in found["pairs"])
    return Signature(pairs, found["coverage"], found["precision"], found["exclusivity"])
