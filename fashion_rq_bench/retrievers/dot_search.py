"""The best products of the whole corpus for every query: exact, in blocks, in bounded memory.

In:  vectors of queries and products, dense or sparse.
Out: the k products of the highest dot product, best first, as a
     :class:`~fashion_rq_bench.retrievers.base.Found`.

Candidates come from a product of float32 matrices, and their order from dot products in float64.
A product is left out only where the error bound of the float32 product rules out that it belongs
to the first k, so that the outcome is that of a search in float64. Equal scores are ordered by the
place of the product in the corpus.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from fashion_rq_bench.errors import ConfigError, ModelError
from fashion_rq_bench.retrievers.base import Found

__all__ = ["DEPTH", "checked", "top_k_dot"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

DEPTH = 100
"""Products kept per query."""

_NUMBERS = 1 << 23
"""Scores held at once: 32 MB in float32."""

_ROUNDING = 2.0**-23
"""Twice the unit roundoff of float32: a dot product of d terms errs by less than d times this."""


def top_k_dot(queries: Any, products: Any, k: int = DEPTH) -> Found:
    """The k products of the highest dot product for every query.

    Args:
        queries: (Q, d) vectors: an array, or a scipy sparse matrix.
        products: (N, d) vectors of the same kind; unit vectors give cosines.
        k: products per query, at least 1; all N where there are fewer.

    Raises:
        ConfigError: k < 1.
        ModelError: vectors of different lengths, or values that are not finite.
    """
    if k < 1:
        raise ConfigError("A search finds at least one product.", given=k)
    if queries.shape[1] != products.shape[1]:
        raise ModelError(
            "Queries and products have vectors of different lengths.",
            given=[queries.shape[1], products.shape[1]],
        )
    k = min(k, products.shape[0])
    blocks = _sparse_blocks if sparse.issparse(products) else _dense_blocks
    parts = list(blocks(queries, products, k)) if queries.shape[0] else []
    if not parts:
        return Found(np.empty((0, k)), np.empty((0, k), np.int64))
    places, scores = (np.concatenate(side) for side in zip(*parts, strict=True))
    return Found(scores, places)


def _rows_at_once(products: int) -> int:
    return max(1, _NUMBERS // max(1, products))


def _dense_blocks(queries: Any, products: Any, k: int) -> Iterator[tuple[Ints, Floats]]:
    left = np.ascontiguousarray(queries, dtype=np.float32)
    right = np.ascontiguousarray(products, dtype=np.float32)
    longest = _longest(right)
    if not (np.isfinite(longest) and np.isfinite(_longest(left))):
        raise ModelError("A vector holds values that are not finite.")
    for start in range(0, len(left), step := _rows_at_once(len(right))):
        part = left[start : start + step]
        scores = part @ right.T
        error = _ROUNDING * right.shape[1] * longest * np.linalg.norm(part, axis=1)
        kth = np.partition(scores, len(right) - k, axis=1)[:, len(right) - k]
        row, product = np.nonzero(scores >= (kth - 2 * error)[:, None])
        yield _first_k(row, product, _pair_dots(part, right, row, product), k)


def _longest(vectors: NDArray[np.float32]) -> float:
    return float(np.sqrt(np.einsum("nd,nd->n", vectors, vectors).max(initial=0.0)))


def _pair_dots(left: Any, right: Any, row: Ints, product: Ints) -> Floats:
    found = np.empty(len(row))
    step = max(1, _NUMBERS // (4 * max(1, right.shape[1])))
    for start in range(0, len(row), step):
        part = slice(start, start + step)
        one, other = left[row[part]].astype(np.float64), right[product[part]].astype(np.float64)
        found[part] = np.einsum("ud,ud->u", one, other)
    return found


def _first_k(row: Ints, product: Ints, scores: Floats, k: int) -> tuple[Ints, Floats]:
    """The best k of each row's candidates; rows are ascending and have k or more."""
    order = np.lexsort((product, -scores, row))
    first = np.flatnonzero(np.diff(row, prepend=-1))
    taken = order[first[:, None] + np.arange(k)]
    return product[taken].astype(np.int64), scores[taken]


def _sparse_blocks(queries: Any, products: Any, k: int) -> Iterator[tuple[Ints, Floats]]:
    left, right = sparse.csr_array(queries), sparse.csr_array(products).T.tocsr()
    if not (np.isfinite(left.data).all() and np.isfinite(right.data).all()):
        raise ModelError("A vector holds values that are not finite.")
    for start in range(0, left.shape[0], step := max(1, _rows_at_once(right.shape[1]) // 2)):
        found = left[start : start + step] @ right
        scores = found.toarray().astype(np.float64)
        rows = zip(scores, found.indptr[:-1], found.indptr[1:], strict=True)
        kth = np.array([[_kth(row, found.data[a:b], k)] for row, a, b in rows])
        row, product = np.nonzero(_enough(scores, kth, k))
        yield _first_k(row, product, scores[row, product], k)


def _kth(row: Floats, stored: Floats, k: int) -> float:
    """The k-th score of a row; mostly zeros, so that its stored part nearly always decides."""
    positive = stored[stored > 0]
    if len(positive) >= k:
        return float(np.partition(positive, len(positive) - k)[len(positive) - k])
    if len(positive) + len(row) - len(stored) >= k:
        return 0.0
    return float(np.partition(row, len(row) - k)[len(row) - k])


def _enough(scores: Floats, kth: Floats, k: int) -> NDArray[np.bool_]:
    """The products at or above the k-th score; of those that tie there, where they are many
    (most products share no term with a query), the first in the corpus for which there is room.
    """
    enough: NDArray[np.bool_] = scores >= kth
    many = np.flatnonzero(enough.sum(axis=1) > 2 * k)
    if len(many):
        part, least = scores[many], kth[many]
        better, tied = part > least, part == least
        room = k - better.sum(axis=1, keepdims=True)
        enough[many] = better | (tied & (np.cumsum(tied, axis=1) <= room))
    return enough


def checked(found: Found, queries: int, products: int, name: str) -> Found:
    """The outcome of a search, if it can be used; a position of -1 (scored -inf) is no product.

    Raises:
        ModelError: another shape, a product twice or unknown, a score not finite, or not best
            first.
    """
    places, scores = found.product_index, found.scores
    if places.ndim != 2 or len(places) != queries or scores.shape != places.shape:
        raise ModelError(
            f"{name} must give products and scores for every query.",
            given=[places.shape, scores.shape],
            allowed=[f"({queries}, k)"],
        )
    there = places >= 0
    if places.max(initial=-1) >= products:
        raise ModelError(f"{name} found a product that the corpus lacks.")
    if not np.isfinite(scores[there]).all():
        raise ModelError(f"{name} gave products a score that is not finite.")
    rising = np.any(scores[:, 1:] > scores[:, :-1])
    unique = np.sort(np.where(there, places, -1 - np.arange(places.shape[1])), axis=1)
    if rising or np.any(np.diff(unique, axis=1) == 0):
        raise ModelError(f"{name} gave a ranking with a product twice, or not best first.")
    return found
