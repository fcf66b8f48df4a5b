"""A cluster's evidence as one typed object.

In:  a row of the CLUSTERS table.
Out: :class:`Evidence`, which both the offline grammar and a language model's prompt are made from.

Its parts are those of the paper's query prompt: sizes of the cluster, its parent and siblings,
product types with shares, the distribution of all attribute values and the numeric statistics with
their deltas, signatures, exclusivity constraints, title phrases.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from fashion_rq_bench.builders.context.signatures import Signature

__all__ = ["Evidence", "Holding", "Measure", "Share", "Signature", "evidence_of", "read_evidence"]


@dataclass(frozen=True)
class Share:
    """A value, how many products hold it, and their share in [0, 1]."""

    value: str
    count: int
    share: float


@dataclass(frozen=True)
class Holding:
    """An attribute's value in the cluster.

    Attributes:
        attribute, value: what is held.
        count, share: by how many products, and their share in [0, 1].
        delta_parent, delta_siblings: percentage points more than there, siblings nearest first.
    """

    attribute: str
    value: str
    count: int
    share: float
    delta_parent: float
    delta_siblings: tuple[float, ...]


@dataclass(frozen=True)
class Measure:
    """A statistic of a numeric attribute, and how much more it is than ``against`` has."""

    attribute: str
    statistic: str
    against: str
    value: float
    delta: float


@dataclass(frozen=True)
class Evidence:
    """What is known of one cluster.

    Attributes:
        prefix, level, size, purity, article_type: as in CLUSTERS.
        product_types: the most specific types held, the most frequent first.
        phrases: title phrases and the share of titles that hold them.
        discriminating, coverage: signatures.
        exclusivity: (attribute, value, against, percentage points).
        siblings, sibling_sizes: prefixes and sizes of the nearest siblings.
        parent_size: products of the cluster around.
        type_axis: the type attribute whose dominant value has the largest share.
        distribution: values held by at least 5%, by attribute.
        numeric: statistics of price and year.
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
    sibling_sizes: tuple[int, ...]
    parent_size: int
    type_axis: str
    distribution: tuple[Holding, ...]
    numeric: tuple[Measure, ...]

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
    plain = {name: row[name] for name in ("level", "size", "purity", "article_type")}
    return Evidence(
        prefix=tuple(row["prefix"]),
        **plain,
        product_types=tuple(Share(**one) for one in found["product_types"]),
        phrases={phrase["value"]: phrase["share"] for phrase in found["phrases"]},
        discriminating=tuple(map(_signature, found["discriminating"])),
        coverage=tuple(map(_signature, found["coverage"])),
        exclusivity=tuple(
            (c["attribute"], c["value"], c["against"], c["delta"]) for c in found["exclusivity"]
        ),
        siblings=tuple(tuple(one["prefix"]) for one in found["siblings"]),
        sibling_sizes=tuple(one["size"] for one in found["siblings"]),
        parent_size=found["parent_size"],
        type_axis=found["product_type_axis"],
        distribution=tuple(
            Holding(**{**one, "delta_siblings": tuple(one["delta_siblings"])})
            for one in found["distribution"]
        ),
        numeric=tuple(Measure(**one) for one in found["numeric"]),
    )


def _signature(found: Mapping[str, Any]) -> Signature:
    pairs = tuple((pair["attribute"], pair["value"]) for pair in found["pairs"])
    return Signature(pairs, found["coverage"], found["precision"], found["exclusivity"])
