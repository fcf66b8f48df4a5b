"""What a retriever is.

In:  a :class:`~fashion_rq_bench.editions.pools.Collection`.
Out: one score per distinct (query, product) pair; higher is better. No pair is ever left out. Most
     retrievers can also search the whole corpus.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from fashion_rq_bench.editions.pools import Collection

__all__ = ["Found", "Retriever", "Scores", "SearchesCorpus", "why_no_search"]

Scores = NDArray[np.float64]


class Retriever(Protocol):
    """A named way to score (query, product) pairs."""

    @property
    def name(self) -> str:
        """The name shown in tables."""
        ...

    @property
    def identity(self) -> str:
        """Everything that decides its scores on a given edition: weights, prompts, settings."""
        ...

    def score(self, collection: Collection) -> Scores:
        """Score every pair of ``collection.pairs``, shape (U,), finite."""
        ...


@dataclass(frozen=True, eq=False)
class Found:
    """The best products of the whole corpus for Q queries, best first.

    Attributes:
        scores: (Q, k), falling along a row.
        product_index: (Q, k) positions in the corpus; equal scores stand in the corpus's order.
    """

    scores: Scores
    product_index: NDArray[np.int64]


@runtime_checkable
class SearchesCorpus(Protocol):
    """A retriever that can compare a query with every product."""

    def search(self, collection: Collection, top_k: int) -> Found:
        """The ``top_k`` best products (all, if there are fewer) for each of ``pairs.query_ids``."""
        ...


def why_no_search(retriever: Retriever) -> str | None:
    """One sentence on why a retriever does not search the whole corpus; None if it does."""
    if isinstance(retriever, SearchesCorpus):
        return None
    reason = getattr(retriever, "no_search", "it scores given pairs only")
    return f"{retriever.name} skips the whole corpus: {reason}."
