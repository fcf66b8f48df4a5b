"""The rows every table needs beside its models: a floor and a reference.

In:  a collection.
Out: scores that know nothing (``random``), and scores that follow the query's structured intents
     to the letter (``oracle``: R(q, p), Eq. 7). The oracle is a reference and no bound: a text can
     say more than the ten attributes.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fashion_rq_bench.editions.pool_relevance import judge
from fashion_rq_bench.editions.pools import Collection
from fashion_rq_bench.retrievers.base import Found, Scores
from fashion_rq_bench.retrievers.block_search import search_blocks

__all__ = ["Oracle", "Random"]

Words = NDArray[np.uint64]


@dataclass(frozen=True)
class Random:
    """A score in [0, 1) from a hash of (seed, query id, product id): the floor."""

    seed: int = 0
    name: str = "random"

    @property
    def identity(self) -> str:
        """The seed."""
        return f"random(seed={self.seed})"

    def score(self, collection: Collection) -> Scores:
        """A uniform number for every pair of the collection, shape (U,)."""
        pairs = collection.pairs
        products = collection.product_ids.take(pairs.products).to_pylist()
        place = np.searchsorted(pairs.products, pairs.product_index)
        query = _words(pairs.query_ids, f"query {self.seed}")[pairs.query_index]
        return _uniform(query, _words(products, "product")[place])

    def search(self, collection: Collection, top_k: int) -> Found:
        """The ``top_k`` products of each query that drew the greatest numbers."""
        queries = _words(collection.pairs.query_ids, f"query {self.seed}")
        products = _words(collection.product_ids.to_pylist(), "product")
        return search_blocks(
            lambda part: _uniform(queries[part, None], products),
            len(queries),
            np.arange(len(products)),
            top_k,
        )


@dataclass(frozen=True)
class Oracle:
    """R(q, p) of the edition's own intents and attributes; 0 for a query that expresses none."""

    name: str = "oracle"

    no_search = "judging every query with every product is not affordable"

    @property
    def identity(self) -> str:
        """The rule; weights and strings are the edition's."""
        return "oracle(R(q, p))"

    def score(self, collection: Collection) -> Scores:
        """R(q, p) of every pair of the collection, shape (U,)."""
        return np.nan_to_num(judge(collection).matches.rel, nan=0.0)


def _words(ids: Sequence[str], salt: str) -> Words:
    """One 64-bit word per id, the same in every process."""
    start = hashlib.blake2b(salt.encode(), digest_size=16).digest()
    whole = b"".join(
        hashlib.blake2b(name.encode(), digest_size=8, key=start).digest() for name in ids
    )
    return np.frombuffer(whole, dtype="<u8").astype(np.uint64)


def _uniform(query: Words, product: Words) -> Scores:
    """A number in [0, 1) for pairs of words, by broadcasting."""
    top = _mix(query ^ _mix(product)) >> np.uint64(11)
    return top.astype(np.float64) * 2.0**-53


def _mix(words: Words) -> Words:
    """SplitMix64's finaliser: every input bit reaches every output bit."""
    mixed = words + np.uint64(0x9E3779B97F4A7C15)
    mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return mixed ^ (mixed >> np.uint64(31))
