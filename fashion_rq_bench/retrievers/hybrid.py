"""Hybrids by reciprocal rank fusion (Cormack, Clarke and Büttcher, SIGIR 2009).

In:  two or more retrievers.
Out: the sum over retrievers of 1 / (60 + rank).

A product's rank is taken among all of the query's candidates, whichever task they stand in;
products that tie share the mean of their ranks, so that their order in the corpus decides nothing.
Over the whole corpus the first ``DEPTH`` products of each retriever are fused, and one that is
missing from a list gets nothing from it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fashion_rq_bench.editions.pools import Collection
from fashion_rq_bench.errors import ConfigError
from fashion_rq_bench.retrievers.base import Found, Retriever, Scores, SearchesCorpus, why_no_search

__all__ = ["DEPTH", "Fusion", "fuse_ranks", "mean_ranks"]

DEPTH = 1000
"""Products of each retriever's list that are fused over the whole corpus."""

Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Fusion:
    """A hybrid of retrievers.

    Attributes:
        name: as typed.
        parts: the retrievers, each counted alike.
        k: added to every rank.
    """

    name: str
    parts: tuple[Retriever, ...]
    k: int = 60

    def __post_init__(self) -> None:
        if len(self.parts) < 2:
            raise ConfigError("A hybrid needs at least two retrievers.", given=self.name)
        if self.k < 1:
            raise ConfigError("Reciprocal rank fusion needs k of at least 1.", given=self.k)

    @property
    def identity(self) -> str:
        """The rule and its parts' identities."""
        parts = "; ".join(part.identity for part in self.parts)
        return f"rrf(k={self.k}, mean ranks of ties: {parts})"

    def score(self, collection: Collection) -> Scores:
        """Fused score of every pair of the collection, shape (U,)."""
        groups = collection.pairs.query_index
        return fuse_ranks([part.score(collection) for part in self.parts], groups, self.k)

    def search(self, collection: Collection, top_k: int) -> Found:
        """The best products of the corpus for each query, by each part's first ``DEPTH``.

        Raises:
            ConfigError: a part does not search.
        """
        searching = [part for part in self.parts if isinstance(part, SearchesCorpus)]
        if len(searching) < len(self.parts):
            reasons = [why for why in map(why_no_search, self.parts) if why is not None]
            raise ConfigError(" ".join(reasons), given=self.name)
        lists = [part.search(collection, max(top_k, DEPTH)) for part in searching]
        return _fuse_lists(lists, len(collection.product_ids), top_k, self.k)


def fuse_ranks(scores: Sequence[Scores], groups: Ints, k: int = 60) -> Scores:
    """Reciprocal rank fusion of U pairs.

    Args:
        scores: one (U,) array per retriever, higher is better.
        groups: (U,) the query of each pair.
        k: added to every rank.

    Returns:
        (U,) sums of 1 / (k + rank), ranks counting from 1.
    """
    fused: Scores = np.sum([1 / (k + mean_ranks(one, groups)) for one in scores], axis=0)
    return fused


def mean_ranks(scores: Scores, groups: Ints) -> Scores:
    """Rank of each value in its group, from 1 for the greatest; ties share their mean rank."""
    order = np.lexsort((-scores, groups))
    ranked, group = scores[order], groups[order]
    new_group = np.concatenate([[True], group[1:] != group[:-1]])[: len(order)]
    new_value = new_group | np.concatenate([[True], ranked[1:] != ranked[:-1]])[: len(order)]
    starts = np.flatnonzero(new_value)
    sizes = np.diff(np.append(starts, len(order)))
    first = np.flatnonzero(new_group)[np.cumsum(new_group)[starts] - 1]
    ranks = np.empty(len(order))
    ranks[order] = np.repeat(starts - first + (sizes + 1) / 2, sizes)
    return ranks


def _fuse_lists(lists: Sequence[Found], products: int, top_k: int, k: int) -> Found:
    """The lists of each query as one, of the length that is asked for or that one list has."""
    queries = len(lists[0].scores)
    keys, gains = [], []
    for one in lists:
        query = np.repeat(np.arange(queries), one.scores.shape[1])
        keys.append(query * products + one.product_index.ravel())
        gains.append(1 / (k + mean_ranks(one.scores.ravel(), query)))
    distinct, place = np.unique(np.concatenate(keys), return_inverse=True)
    fused: Scores = np.bincount(place, weights=np.concatenate(gains)).astype(np.float64)
    query = distinct // products
    order = np.lexsort((distinct % products, -fused, query))
    starts = np.searchsorted(query, np.arange(queries))
    width = min(top_k, lists[0].scores.shape[1])
    chosen = order[starts[:, None] + np.arange(width)]
    return Found(fused[chosen], distinct[chosen] % products)
