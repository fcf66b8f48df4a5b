"""Late interaction (paper, Table 11): a vector per token, compared by MaxSim in float32.

In:  a MultiVectorEncoder model, such as ColBERTv2.
Out: MaxSim of pairs, or the best products of the corpus. Token vectors are kept as shards.

MaxSim(q, p) is the sum over the query's tokens of the greatest dot product with a token of the
product.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from fashion_rq_bench.editions.pools import Collection
from fashion_rq_bench.encoders.encoding import Role, Vectors
from fashion_rq_bench.encoders.model import ModelRetriever
from fashion_rq_bench.errors import ModelError
from fashion_rq_bench.retrievers.base import Found, Scores
from fashion_rq_bench.retrievers.block_search import search_blocks
from fashion_rq_bench.retrievers.texts import corpus_texts, pool_texts

__all__ = ["LateInteraction", "TokenVectors", "maxsim"]

Ints = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class TokenVectors:
    """Token vectors of N texts: text i has rows ``offsets[i]`` to ``offsets[i + 1]``."""

    rows: Vectors
    offsets: Ints

    def text(self, index: int) -> Vectors:
        """Vectors of one text, (T, d)."""
        return self.rows[self.offsets[index] : self.offsets[index + 1]]

    def take(self, texts: Ints) -> TokenVectors:
        """Some texts, in the order given."""
        sizes = np.diff(self.offsets)[texts]
        offsets = np.concatenate([[0], np.cumsum(sizes)])
        rows = np.arange(offsets[-1]) + np.repeat(self.offsets[texts] - offsets[:-1], sizes)
        return TokenVectors(self.rows[rows], offsets)


class LateInteraction(ModelRetriever):
    """A late-interaction model as a retriever."""

    def score(self, collection: Collection) -> Scores:
        """MaxSim of every pair of the collection, shape (U,).

        Raises:
            ModelError: the model failed, or its vectors are unusable.
        """
        pairs = collection.pairs
        texts, text_of = pool_texts(collection)
        queries = self._vectors(pairs.queries, "query")
        products = self._vectors(texts, "document")
        order = np.argsort(pairs.query_index, kind="stable")
        ends = np.searchsorted(pairs.query_index[order], np.arange(len(pairs.queries) + 1))
        found = np.empty(len(pairs.query_index))
        for query in range(len(pairs.queries)):
            mine = order[ends[query] : ends[query + 1]]
            asked, place = np.unique(text_of[mine], return_inverse=True)
            found[mine] = maxsim(queries.text(query), products.take(asked))[place]
        return found

    def search(self, collection: Collection, top_k: int) -> Found:
        """The best products of the corpus for each query; errors as :meth:`score`.

        Exhaustive: every token of every text is compared.
        """
        texts, text_of = corpus_texts(collection)
        queries = self._vectors(collection.pairs.queries, "query")
        products = self._vectors(texts, "document", pool_texts(collection)[0])

        def block(part: slice) -> Scores:
            asked = range(part.start, part.stop)
            return np.stack([maxsim(queries.text(query), products) for query in asked])

        return search_blocks(block, len(collection.pairs.queries), text_of, top_k)

    def _vectors(
        self, texts: Sequence[str], role: Role, leading: Sequence[str] = ()
    ) -> TokenVectors:
        shards, place = self.rows(texts, role, lambda part: self._encode(part, role), leading)
        widths = {shard["tokens"].type.value_type.list_size for shard in shards}
        if len(widths) > 1:
            raise ModelError(f"{self.name} gave vectors of different lengths.", given=widths)
        lists = pa.concat_tables(shards)["tokens"].combine_chunks()
        rows = lists.flatten().flatten().to_numpy().reshape(-1, *widths)
        offsets = np.concatenate([[0], np.cumsum(lists.value_lengths().to_numpy())])
        return TokenVectors(rows, offsets.astype(np.int64)).take(place)

    def _encode(self, texts: list[str], role: Role) -> pa.Table:
        found = self.encode(texts, role, convert_to_numpy=True)
        return _tokens_table(self.name, len(texts), found)


def maxsim(query: Vectors, products: TokenVectors) -> Scores:
    """MaxSim of one query and N texts.

    Args:
        query: (T, d) token vectors, float32.
        products: token vectors of N texts; one without tokens scores 0.

    Returns:
        (N,) sums; dot products in float32, their sum in float64.
    """
    counts = np.diff(products.offsets)
    scores = np.zeros(len(counts))
    filled = np.flatnonzero(counts)
    if filled.size:
        dots = query @ products.rows.T
        best = np.maximum.reduceat(dots, products.offsets[filled], axis=1)
        scores[filled] = best.sum(axis=0, dtype=np.float64)
    return scores


def _tokens_table(name: str, texts: int, found: Sequence[Vectors]) -> pa.Table:
    """One list of token vectors per text; ModelError if they are unusable."""
    if len(found) != texts:
        raise ModelError(f"{name} was given {texts} texts and returned {len(found)} matrices.")
    widths = {one.shape[1] if one.ndim == 2 else 0 for one in found}
    if len(widths) > 1 or 0 in widths:
        raise ModelError(f"{name} gave vectors of different lengths.", given=sorted(widths))
    rows = np.concatenate(found).astype(np.float32)
    if not np.isfinite(rows).all():
        raise ModelError(
            f"{name} returned values that are not finite.",
            fix='Half precision is the usual cause: try dtype = "float32".',
        )
    ends = np.concatenate([[0], np.cumsum([len(one) for one in found])])
    tokens = pa.FixedSizeListArray.from_arrays(pa.array(rows.ravel()), rows.shape[1])
    return pa.table({"tokens": pa.ListArray.from_arrays(pa.array(ends, pa.int32()), tokens)})
