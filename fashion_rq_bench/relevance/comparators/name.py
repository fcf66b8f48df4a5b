"""Match of names: one contains the other (paper 8.0.4, Brand).

In:  brand names of queries and products.
Out: 1.0 if either contains the other as whole words, else 0.0; a name without words never matches.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from fashion_rq_bench.relevance.comparators._base import Comparator, ComparatorConfig
from fashion_rq_bench.relevance.similarity import Similarity
from fashion_rq_bench.words.folding import plain
from fashion_rq_bench.words.tokens import token_key

__all__ = ["Name"]


class Name(Comparator):
    """Comparator of names."""

    def query_value(self, value: str, /) -> str:
        """The name without case."""
        return plain(value)

    def scores(
        self,
        queries: Sequence[str],
        products: Sequence[str],
        similarity: Similarity,
        config: ComparatorConfig,
        /,
    ) -> NDArray[np.float64]:
        """1.0 where either name contains the other; symmetric.

        With ``match="paper"`` containment is of characters, as in the paper's wording.
        """
        key = plain if config.match == "paper" else token_key
        keys = {name: key(name) for name in {*queries, *products}}
        pairs = ((keys[one], keys[two]) for one, two in zip(queries, products, strict=True))
        found = (bool(a) and bool(b) and (a in b or b in a) for a, b in pairs)
        return np.fromiter(found, np.float64)
