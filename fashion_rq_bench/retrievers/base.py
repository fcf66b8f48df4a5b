"""What a retriever is.

In:  a :class:`~fashion_rq_bench.pools.Collection`.
Out: one score per distinct (query, product) pair; higher is better. No pair is ever left out.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from fashion_rq_bench.pools import Collection

__all__ = ["Retriever", "Scores"]

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
