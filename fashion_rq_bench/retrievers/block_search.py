"""Exact search of the whole corpus, in blocks of queries.

In:  a function that scores a block of queries against every distinct text.
Out: the best products of each query (:class:`~fashion_rq_bench.retrievers.base.Found`); memory is
     bounded by the block whatever the number of queries.

Products of one text score alike and stand in the corpus's order.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from fashion_rq_bench.retrievers.base import Found, Scores

__all__ = ["search_blocks", "top_columns"]

_NUMBERS = 1 << 22
"""Scores per block: 32 MB."""


def search_blocks(
    score_block: Callable[[slice], Scores], queries: int, text_of: NDArray[np.int64], top_k: int
) -> Found:
    """The best products of Q queries.

    Args:
        score_block: from a slice of B queries to (B, T) scores of every distinct text.
        queries: Q.
        text_of: (N,) the text of each product.
        top_k: products per query; all N if there are fewer.

    Returns:
        Scores and positions, (Q, k).
    """
    k = min(top_k, len(text_of))
    scores, places = np.empty((queries, k)), np.empty((queries, k), dtype=np.int64)
    block = max(1, _NUMBERS // max(1, len(text_of)))
    for start in range(0, queries, block):
        part = slice(start, min(start + block, queries))
        whole = score_block(part)[:, text_of]
        places[part] = top_columns(whole, k)
        scores[part] = np.take_along_axis(whole, places[part], axis=1)
    return Found(scores, places)


def top_columns(scores: Scores, k: int) -> NDArray[np.int64]:
    """The k greatest values of each row, (B, N) to (B, k); of equal ones the first columns win."""
    rows, columns = scores.shape
    if k < columns:
        least = np.partition(scores, columns - k, axis=1)[:, columns - k, None]
        above, level = scores > least, scores == least
        room = k - above.sum(axis=1, keepdims=True)
        chosen = above | (level & (np.cumsum(level, axis=1, dtype=np.int32) <= room))
        picked = np.nonzero(chosen)[1].reshape(rows, k)
    else:
        picked = np.tile(np.arange(columns), (rows, 1))
    falling = np.argsort(-np.take_along_axis(scores, picked, axis=1), axis=1, kind="stable")
    return np.take_along_axis(picked, falling, axis=1).astype(np.int64)
