"""Latent semantic analysis: an encoder that learns from the corpus itself and downloads nothing.

In:  corpus texts.
Out: a :class:`~fashion_rq_bench.encoders.encoding.TextEncoder`.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from fashion_rq_bench.encoders.encoding import Role, Vectors, text_only, unit_rows
from fashion_rq_bench.errors import ModelError
from fashion_rq_bench.support.files import digest
from fashion_rq_bench.support.optional import require

__all__ = ["LsaEncoder"]


class LsaEncoder:
    """TF-IDF over words and word pairs, then truncated SVD (latent semantic analysis).

    Learns from a corpus in seconds and downloads nothing. A text without a known word is a zero
    vector. The revision hashes the corpus and the settings, so that two fits never share a cache.
    """

    name = "lsa"
    _CHUNK = 16_384

    def __init__(self, corpus: Sequence[str], dim: int = 256, seed: int = 0) -> None:
        self._corpus, self._dim, self._seed = tuple(corpus), dim, seed
        self.revision = digest("lsa-2", str(dim), str(seed), *self._corpus)[:16]

    @property
    def _fitted(self) -> tuple[Any, Any]:
        return _learn(self._corpus, self._dim, self._seed)

    @property
    def dim(self) -> int:
        """Length of a vector; less than asked for where the corpus has fewer terms or texts."""
        return int(self._fitted[1].n_components)

    @property
    def identity(self) -> str:
        """Key of this function from text to vector."""
        return f"lsa@{self.revision}"

    def encode(self, texts: Sequence[str], role: Role = "document") -> Vectors:
        """Unit vectors (N, dim); queries and documents are treated alike."""
        words, projection = self._fitted
        found = np.empty((len(texts), self.dim), dtype=np.float32)
        for start in range(0, len(texts), self._CHUNK):
            part = words.transform(texts[start : start + self._CHUNK])
            found[start : start + self._CHUNK] = projection.transform(part)
        return unit_rows(found)

    def encode_images(self, images: Sequence[object]) -> Vectors:
        """Refused: LSA reads text only."""
        raise text_only(self.name)


@lru_cache(maxsize=2)
def _learn(corpus: tuple[str, ...], dim: int, seed: int) -> tuple[Any, Any]:
    """The TF-IDF weighting and the projection; kept, since hybrids and slices share a corpus."""
    text = require("sklearn.feature_extraction.text", "build")
    decomposition = require("sklearn.decomposition", "build")
    words = text.TfidfVectorizer(
        ngram_range=(1, 2),
        min_df=2 if len(corpus) >= 1000 else 1,
        max_features=50_000,
        sublinear_tf=True,
        dtype=np.float32,
    )
    try:
        counts = words.fit_transform(corpus)
    except ValueError as error:  # scikit-learn: an empty vocabulary
        raise ModelError(
            "lsa found no word in its corpus.", given=f"{len(corpus)} texts"
        ) from error
    dim = max(1, min(dim, min(counts.shape) - 1))
    # BLAS rounds differently on another number of threads, and a hierarchy learnt on it differs.
    with require("threadpoolctl", "build").threadpool_limits(1, "blas"):
        return words, decomposition.TruncatedSVD(dim, random_state=seed).fit(counts)
