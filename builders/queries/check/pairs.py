"""Which products each query is measured on by the verifier.

In:  queries by number, products of the clusters around them.
Out: (query, product) pairs with the number of their tier, and shares over them.

Part of the mechanical verifier of the paper's section 3 (``verify.py``).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from fashion_rq_bench.builders.queries.say.evidence import Evidence

__all__ = ["Pairs", "representatives", "shares", "spread"]

Ints = npt.NDArray[np.int64]


class Pairs:
    """(query, product) pairs in the making, each with the number of its tier."""

    def __init__(self) -> None:
        self._parts: list[tuple[Ints, Ints, Ints]] = []
        self._length = 0

    def add(self, queries: Sequence[int], products: Ints, tier: int) -> slice:
        """Pair each query with each product; returns where these pairs stand."""
        query = np.repeat(np.asarray(queries, dtype=np.int64), len(products))
        self._parts.append((query, np.tile(products, len(queries)), np.full(len(query), tier)))
        start, self._length = self._length, self._length + len(query)
        return slice(start, self._length)

    def arrays(self) -> tuple[Ints, Ints, Ints]:
        """Queries, products and tiers of all pairs."""
        if not self._parts:
            return (np.empty(0, np.int64),) * 3
        query, product, tier = (np.concatenate(column) for column in zip(*self._parts, strict=True))
        return query, product, tier


def spread(products: Ints, count: int) -> Ints:
    """Up to ``count`` products, evenly spread over the cluster's order."""
    if len(products) <= count:
        return products
    return products[np.linspace(0, len(products) - 1, count).astype(np.int64)]


def representatives(
    evidence: Evidence, products: Ints, types: pa.Array
) -> Iterator[tuple[str, int]]:
    """Each type of a cluster that some of its products have, and one of these products."""
    values = types.take(pa.array(products)).to_pylist()
    for share in evidence.product_types:
        if share.value in values:
            yield share.value, int(products[values.index(share.value)])


def shares(
    query: Ints, chosen: npt.NDArray[np.bool_], satisfied: npt.NDArray[np.bool_], n: int
) -> npt.NDArray[np.float64]:
    """(n,) by query, the share of its chosen pairs that are satisfied; NaN where it has none."""
    pairs = np.bincount(query[chosen], minlength=n)
    with np.errstate(invalid="ignore"):
        return np.bincount(query[chosen], satisfied[chosen], n) / pairs
