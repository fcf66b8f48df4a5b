"""Ties broken at random, each query on its own, by a hash of (seed, query id, product id).

In:  names of queries and products, tied candidates.
Out: which of them stand among the best k.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from functools import cached_property

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from fashion_rq_bench.measures._ragged import Ints

__all__ = ["Ties"]

Floats = NDArray[np.float64]

Hashes = NDArray[np.uint64]

Mask = NDArray[np.bool_]


class Ties:
    """The random order of tied products; nothing is hashed before a tie is met."""

    def __init__(self, names: list[str], products: pa.Array) -> None:
        self._names, self._products = names, products
        self._by_seed: dict[int, Hashes] = {}

    @cached_property
    def _product_hashes(self) -> Hashes:
        return _hashes(map(str, self._products.to_pylist()))

    def _query_hashes(self, seed: int) -> Hashes:
        if seed not in self._by_seed:
            self._by_seed = {seed: _hashes(f"{seed}\0{name}" for name in self._names)}
        return self._by_seed[seed]

    def keep(
        self, within: Mask, scores: Floats, query: Ints, code: Ints, k: int, seed: int
    ) -> Mask:
        """Of more than k candidates per row the k best, ties in the order of their hashes."""
        row, column = np.nonzero(within)
        hashes = self._query_hashes(seed)[query[row]], self._product_hashes[code[row, column]]
        order = np.lexsort((_mix(*hashes), -scores[row, column], row))
        place = np.arange(len(row)) - np.searchsorted(row, row)
        kept = np.zeros_like(within)
        kept[row, column[order]] = place < k
        return kept


def _hashes(texts: Iterable[str]) -> Hashes:
    """64 bits of BLAKE2b for each text."""
    digests = b"".join(
        hashlib.blake2b(text.encode("utf-8"), digest_size=8).digest() for text in texts
    )
    return np.frombuffer(digests, np.dtype("<u8")).astype(np.uint64)


def _mix(query: Hashes, product: Hashes) -> Hashes:
    """One hash from two (the finaliser of SplitMix64)."""
    mixed = query ^ product
    mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return mixed ^ (mixed >> np.uint64(31))
