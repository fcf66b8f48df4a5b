"""Match of names: one contains the other (paper 8.0.4, Brand).

In:  brand names of queries and products.
Out: 1.0 if either contains the other as whole words, else 0.0; a name without words never matches.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fashion_rq_bench.relevance.comparators._base import Comparator, Pairs
from fashion_rq_bench.words.folding import plain
from fashion_rq_bench.words.tokens import token_key

__all__ = ["Name"]


class Name(Comparator):
    """Comparator of names."""

    def query_value(self, value: str, /) -> str:
        """The name without case."""
        return plain(value)

    def scores(self, pairs: Pairs, /) -> NDArray[np.float64]:
        """1.0 where either name contains the other; symmetric.

        With ``match="paper"`` containment is of characters, as in the paper's wording.
        """
        key = plain if pairs.config.match == "paper" else token_key
        keys = {name: key(name) for name in {*pairs.queries, *pairs.products}}
        found = ((keys[one], keys[two]) for one, two in pairs.each())
        either = (bool(a) and bool(b) and (a in b or b in a) for a, b in found)
        return np.fromiter(either, np.float64)
