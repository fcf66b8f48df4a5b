"""The texts a retriever reads, once each.

In:  a collection.
Out: product texts of the pools or of the whole corpus, and where each product's text stands.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from fashion_rq_bench.editions.pools import Collection

__all__ = ["corpus_texts", "pool_texts"]

Ints = NDArray[np.int64]


def pool_texts(collection: Collection) -> tuple[list[str], Ints]:
    """Distinct texts of the products in any pool, and the text of every pair's product, (U,)."""
    pairs = collection.pairs
    texts, code = _distinct(collection.texts.take(pa.array(pairs.products)))
    return texts, code[np.searchsorted(pairs.products, pairs.product_index)]


def corpus_texts(collection: Collection) -> tuple[list[str], Ints]:
    """Distinct texts of the corpus, and the text of every product, (N,)."""
    return _distinct(collection.texts)


def _distinct(texts: pa.Array) -> tuple[list[str], Ints]:
    coded = texts.dictionary_encode()
    found: list[str] = coded.dictionary.to_pylist()
    return found, coded.indices.to_numpy().astype(np.int64)
