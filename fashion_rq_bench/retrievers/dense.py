"""Dense retrievers (paper, Tables 12 and 13): cosine of a query's and a product's vector.

In:  an encoder by name, and a folder in which vectors are kept.
Out: cosines of pairs, or dot products where the model declares those. Queries and pool products are
     encoded once for all four tasks.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path

import numpy as np
import pyarrow as pa

from fashion_rq_bench.editions.pools import Collection
from fashion_rq_bench.encoders.by_name import (
    EncoderConfig,
    TextEncoder,
    check_vectors,
    load_text_encoder,
)
from fashion_rq_bench.encoders.vectors import Encodes, encode_texts, pair_dots
from fashion_rq_bench.errors import ConfigError
from fashion_rq_bench.retrievers.base import Found, Scores
from fashion_rq_bench.retrievers.dot_search import top_k_dot
from fashion_rq_bench.retrievers.texts import corpus_texts, pool_texts

__all__ = ["Dense", "score_dense", "search_dense"]


@dataclass(frozen=True)
class Dense:
    """Any text encoder as a retriever.

    Attributes:
        name: an encoder's name, see ``load_text_encoder``.
        config: how to run it.
        cache: folder of finished vectors; nothing is kept if None.
    """

    name: str
    config: EncoderConfig = field(default_factory=EncoderConfig)
    cache: Path | None = None

    @cached_property
    def _encoder(self) -> TextEncoder:
        encoder = load_text_encoder(self.name, self.config)
        similarity = getattr(encoder, "similarity", "cosine")
        if similarity == "dot" and getattr(encoder, "normalizes", False):
            return load_text_encoder(self.name, replace(self.config, normalize=False))
        if similarity not in ("cosine", "dot"):
            raise ConfigError(
                f"{self.name} compares vectors in a way that dense retrieval here does not.",
                given=similarity,
                allowed=["cosine", "dot"],
                fix="Hand the model to mteb.evaluate with the tasks of FashionRQBench.",
            )
        return encoder

    @property
    def identity(self) -> str:
        """Weights and settings; of ``lsa`` the settings, since an edition fixes its corpus."""
        if self.name == "lsa":
            return f"lsa(dim={self.config.dim}, seed={self.config.seed})"
        return self._encoder.identity

    def score(self, collection: Collection) -> Scores:
        """Cosine (or dot product) of every pair of the collection, shape (U,).

        Raises:
            ConfigError: the model is compared by another measure.
            ModelError: the model failed, or its vectors are unusable.
        """
        encoder, cache = self._fitted(collection)
        return score_dense(encoder, collection, cache)

    def search(self, collection: Collection, top_k: int) -> Found:
        """The best products of the corpus for each query, exactly; errors as :meth:`score`."""
        encoder, cache = self._fitted(collection)
        return search_dense(encoder, collection, top_k, cache)

    def _fitted(self, collection: Collection) -> tuple[Encodes, Path | None]:
        """The encoder, learnt from the corpus if it is ``lsa``, and where its vectors are kept."""
        if self.name != "lsa":
            return self._encoder, self.cache
        corpus = collection.texts.to_pylist()
        return load_text_encoder("lsa", self.config, corpus=corpus), None


def score_dense(encoder: Encodes, collection: Collection, cache: Path | None) -> Scores:
    """Dot product of every pair of a collection under an encoder, shape (U,)."""
    pairs = collection.pairs
    texts = collection.texts.take(pa.array(pairs.products)).to_pylist()
    queries = encode_texts(encoder, pairs.queries, "query", cache=cache)
    products = encode_texts(encoder, texts, "document", cache=cache)
    place = np.searchsorted(pairs.products, pairs.product_index)
    return pair_dots(queries, products, pairs.query_index, place)


def search_dense(encoder: Encodes, collection: Collection, top_k: int, cache: Path | None) -> Found:
    """The best products of the corpus for each query, by dot products in float64.

    Args:
        encoder: gives vectors of texts.
        collection: its distinct queries and its whole corpus.
        top_k: products per query.
        cache: folder of finished vectors; nothing is kept if None.

    Raises:
        ModelError: the model failed, or its vectors are unusable.
    """
    texts, text_of = corpus_texts(collection)
    queries = encode_texts(encoder, collection.pairs.queries, "query", cache=cache)
    pooled, _ = pool_texts(collection)
    products = encode_texts(encoder, texts, "document", cache=cache, leading=pooled)
    check_vectors(queries, len(queries), products.shape[1], encoder.identity)

    return top_k_dot(queries, products[text_of], top_k)
