"""Pool BM25 (paper, Table 11): term statistics of the whole corpus, scores of the pools alone.

In:  corpus texts, queries and the pairs to score.
Out: BM25 scores; a pair that shares no term scores 0 and keeps its place in the pool.

k1 = 1.2, b = 0.75, English stopwords, Porter stemmer, idf = ln(1 + (N - df + 0.5) / (df + 0.5)),
which is Lucene's form and never negative.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from fashion_rq_bench.editions.pools import Collection
from fashion_rq_bench.errors import ConfigError
from fashion_rq_bench.retrievers.base import Found, Scores
from fashion_rq_bench.retrievers.dot_search import top_k_dot
from fashion_rq_bench.support.optional import require

__all__ = ["BM25", "BM25Config", "bm25_pairs"]


@dataclass(frozen=True)
class BM25Config:
    """Settings of BM25.

    Attributes:
        k1: saturation of term frequency, at least 0.
        b: strength of length normalisation, in [0, 1].
    """

    k1: float = 1.2
    b: float = 0.75

    def __post_init__(self) -> None:
        if self.k1 < 0 or not 0 <= self.b <= 1:
            raise ConfigError("BM25 needs k1 >= 0 and b in [0, 1].", given=(self.k1, self.b))


@dataclass(frozen=True)
class BM25:
    """The lexical baseline."""

    config: BM25Config = BM25Config()
    name: str = "bm25"

    @property
    def identity(self) -> str:
        """Settings of the scoring and of the tokeniser."""
        return f"bm25-lucene(k1={self.config.k1}, b={self.config.b}, english, porter)"

    def score(self, collection: Collection) -> Scores:
        """BM25 of every pair of the collection, shape (U,)."""
        pairs = collection.pairs
        return bm25_pairs(
            collection.texts.to_pylist(),
            pairs.queries,
            pairs.query_index,
            pairs.product_index,
            self.config,
        )

    def search(self, collection: Collection, top_k: int) -> Found:
        """The best products of the corpus for each query; without a shared term a product has 0."""
        weights, vocabulary = _index(collection.texts.to_pylist(), self.config)
        queries = _counts(collection.pairs.queries, vocabulary, weights.shape[1])
        return top_k_dot(queries, weights, top_k)


def bm25_pairs(
    texts: Sequence[str],
    queries: Sequence[str],
    query_index: NDArray[np.int64],
    product_index: NDArray[np.int64],
    config: BM25Config | None = None,
) -> Scores:
    """BM25 of U (query, text) pairs.

    Args:
        texts: N corpus texts, whose statistics are used.
        queries: Q query texts.
        query_index: (U,) positions in ``queries``.
        product_index: (U,) positions in ``texts``.
        config: k1 and b; the paper's if None.

    Returns:
        (U,) scores, at least 0; a repeated query term counts as often as it stands there.
    """
    weights, vocabulary = _index(texts, config or BM25Config())
    counts = _counts(queries, vocabulary, weights.shape[1])
    shared = counts[query_index].multiply(weights[product_index])
    return np.asarray(shared.sum(axis=1), dtype=np.float64).ravel()


def _index(texts: Sequence[str], config: BM25Config) -> tuple[Any, dict[str, int]]:
    """Term weights (N, V), rows are texts, and the column of every term."""
    bm25s = require("bm25s", "baselines")
    words = _tokens(texts)
    vocabulary = {word: row for row, word in enumerate(dict.fromkeys(w for t in words for w in t))}
    if not vocabulary:
        return sparse.csr_array((len(texts), 1)), {}
    index = bm25s.BM25(k1=config.k1, b=config.b, method="lucene")
    ids = [[vocabulary[word] for word in text] for text in words]
    index.index((ids, dict(vocabulary)), show_progress=False)  # it adds a word of its own
    parts = index.scores
    matrix = sparse.csc_array(
        (parts["data"].astype(np.float64), parts["indices"], parts["indptr"]),
        shape=(len(texts), len(parts["indptr"]) - 1),
    )
    return matrix.tocsr(), vocabulary


def _counts(queries: Sequence[str], vocabulary: Mapping[str, int], terms: int) -> Any:
    """How often each known term stands in each query, (Q, V)."""
    known = [
        [vocabulary[word] for word in words if word in vocabulary] for words in _tokens(queries)
    ]
    row = np.repeat(np.arange(len(known)), [len(words) for words in known])
    column = np.array([word for words in known for word in words], dtype=np.int64)
    return sparse.csr_array((np.ones(len(row)), (row, column)), shape=(len(queries), terms))


def _tokens(texts: Sequence[str]) -> list[list[str]]:
    bm25s = require("bm25s", "baselines")
    stemmer = require("Stemmer", "baselines").Stemmer("porter")
    found = bm25s.tokenize(
        list(texts), stopwords="english", stemmer=stemmer, return_ids=False, show_progress=False
    )
    return [[word for word in words if word] for words in found]  # an empty text is one empty word
