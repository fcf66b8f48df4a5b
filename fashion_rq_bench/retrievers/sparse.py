"""Learned sparse retrieval (paper, Table 11): weights over a vocabulary, compared by dot product.

In:  a SparseEncoder model, such as SPLADE.
Out: dot products of pairs, or the best products of the corpus. Weights are kept as shards of
     (term, weight) lists, so that an interrupted run goes on.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from scipy import sparse

from fashion_rq_bench.editions.pools import Collection
from fashion_rq_bench.encoders.encoding import Role
from fashion_rq_bench.encoders.model import ModelRetriever
from fashion_rq_bench.errors import ModelError
from fashion_rq_bench.retrievers.base import Found, Scores
from fashion_rq_bench.retrievers.dot_search import top_k_dot
from fashion_rq_bench.retrievers.texts import corpus_texts, pool_texts

__all__ = ["Sparse"]


class Sparse(ModelRetriever):
    """A learned sparse model as a retriever."""

    def score(self, collection: Collection) -> Scores:
        """Dot product of every pair of the collection, shape (U,).

        Raises:
            ModelError: the model failed, or its weights are unusable.
        """
        pairs = collection.pairs
        texts, place = pool_texts(collection)
        queries = self._weights(pairs.queries, "query")
        products = self._weights(texts, "document")
        shared = queries[pairs.query_index].multiply(products[place])
        return np.asarray(shared.sum(axis=1), dtype=np.float64).ravel()

    def search(self, collection: Collection, top_k: int) -> Found:
        """The best products of the corpus for each query; errors as :meth:`score`."""
        texts, text_of = corpus_texts(collection)
        queries = self._weights(collection.pairs.queries, "query")
        products = self._weights(texts, "document", pool_texts(collection)[0])
        return top_k_dot(queries, products[text_of], top_k)

    def _weights(self, texts: Sequence[str], role: Role, leading: Sequence[str] = ()) -> Any:
        """(N, V) CSR array of texts' weights."""
        shards, place = self.rows(texts, role, lambda part: self._encode(part, role), leading)
        table = pa.concat_tables(shards).combine_chunks()
        lists = table["terms"].combine_chunks()
        terms, weights = lists.flatten(), table["weights"].combine_chunks().flatten()
        width = int(table["size"][0].as_py())
        return sparse.csr_array(
            (
                weights.to_numpy().astype(np.float64),
                terms.to_numpy(),
                np.concatenate([[0], np.cumsum(lists.value_lengths().to_numpy())]),
            ),
            shape=(len(table), width),
        )[place]

    def _encode(self, texts: list[str], role: Role) -> pa.Table:
        found = self.encode(texts, role, convert_to_sparse_tensor=True, save_to_cpu=True).coalesce()
        rows, terms = found.indices().numpy()
        weights = found.values().float().numpy()
        return weights_table(self.name, len(texts), found.shape, rows, terms, weights)


def weights_table(
    name: str, texts: int, shape: tuple[int, int], row: Any, term: Any, weight: Any
) -> pa.Table:
    """Non-zero weights, ordered by row, as one list of terms and one of weights per text.

    Args:
        name: of the model, for errors.
        texts: how many the model was given.
        shape: (rows, terms in the vocabulary) of what it returned.
        row, term, weight: (M,) the weights and where they stand.

    Raises:
        ModelError: fewer or more rows than texts, or weights that are not finite.
    """
    if shape[0] != texts:
        raise ModelError(f"{name} was given {texts} texts and returned {shape[0]} rows.")
    bad = np.unique(row[~np.isfinite(weight)])
    if bad.size:
        raise ModelError(
            f"{name} returned weights that are not finite for {bad.size} of {texts} texts.",
            fix='Half precision is the usual cause: try dtype = "float32".',
        )
    ends = pa.array(np.searchsorted(row, np.arange(texts + 1)), pa.int32())
    return pa.table(
        {
            "size": pa.array(np.full(texts, shape[1], dtype=np.int32)),
            "terms": pa.ListArray.from_arrays(ends, pa.array(term, pa.int32())),
            "weights": pa.ListArray.from_arrays(ends, pa.array(weight, pa.float32())),
        }
    )
