"""The explorer's pools: products in every model's order, each pool and product written once.

In:  pools of a task, stored rankings, matches of the pairs.
Out: ranks as letters, cut up by query; the pools and products that were met.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from fashion_rq_bench.editions.pools import Collection, Pools
from fashion_rq_bench.errors import EditionError

__all__ = ["RankedPools", "SharedPools", "dense_ranks", "pool_of", "pool_scores", "prepare"]

Ints = NDArray[np.int64]

Floats = NDArray[np.float64]

_FIRST = ord("A")


@dataclass(frozen=True, eq=False)
class RankedPools:
    """One task's pools with every model's ranks, ready to be cut up by query."""

    pools: Pools
    place: dict[str, int]
    ranks: list[str]
    pairs: Ints


def pool_scores(pools: Pools, product_ids: pa.Array, ranking: pa.Table) -> Floats:
    """A stored ranking's scores in the order of the pools' rows, shape (M,).

    Args:
        pools: one task's.
        product_ids: (N,) the corpus.
        ranking: rows of ``schema.RANKINGS``, of any tasks, in any order.

    Raises:
        EditionError: the ranking lacks a pair of the pools.
    """
    rows = ranking.filter(pc.equal(ranking["task"], pools.task))
    query = pc.index_in(rows["query_id"], value_set=pa.array(pools.query_ids, pa.string()))
    product = pc.index_in(rows["product_id"], value_set=product_ids)
    known = pc.and_(query.is_valid(), product.is_valid())
    size = len(product_ids)
    given = _numbers(query.filter(known)) * size + _numbers(product.filter(known))
    wanted = pools.query_index * size + pools.product_index
    order = np.argsort(given, kind="stable")
    place = np.minimum(np.searchsorted(given[order], wanted), max(len(given) - 1, 0))
    if not len(given) or not np.array_equal(given[order][place], wanted):
        raise EditionError(
            f"A ranking of the task {pools.task!r} lacks pairs of the edition.",
            given=rows["model"][0].as_py() if len(rows) else None,
            fix="Delete its files from the results folder and evaluate the model again.",
        )
    scores: Floats = rows["score"].filter(known).to_numpy()[order][place]
    return scores


def dense_ranks(query_index: Ints, scores: Floats) -> Ints:
    """Ranks 0, 1, … of each query's products by falling score; equal scores share a rank. (M,)."""
    order = np.lexsort((-scores, query_index))
    owner, ranked = query_index[order], scores[order]
    first = np.r_[True, owner[1:] != owner[:-1]][: len(order)]
    steps = np.cumsum(first | np.r_[True, ranked[1:] != ranked[:-1]][: len(order)])
    ranks = np.empty(len(order), dtype=np.int64)
    ranks[order] = steps - steps[np.flatnonzero(first)][np.cumsum(first) - 1]
    return ranks


def _numbers(column: pa.ChunkedArray) -> Ints:
    found: Ints = column.to_numpy().astype(np.int64)
    return found


def prepare(collection: Collection, task: str, rankings: Sequence[pa.Table]) -> RankedPools:
    """A task's pools with the ranks of stored rankings, see :func:`pool_scores`."""
    pools = collection.task(task)
    ranks = [
        dense_ranks(pools.query_index, pool_scores(pools, collection.product_ids, one))
        for one in rankings
    ]
    place = {query_id: row for row, query_id in enumerate(pools.query_ids)}
    return RankedPools(pools, place, [_letters(one) for one in ranks], collection.pairs.rows[task])


def _letters(ranks: Ints) -> str:
    """One character per rank: A is 0."""
    return (ranks + _FIRST).astype("<u4").tobytes().decode("utf-32-le")


def pool_of(
    one: RankedPools,
    query_id: str,
    asked: Ints,
    match: Mapping[str, NDArray[Any]],
    shared: SharedPools,
) -> dict[str, Any]:
    """One query's pool: which, the matches by expressed attribute, and each model's ranks."""
    row = one.place[query_id]
    part = slice(int(one.pools.offsets[row]), int(one.pools.offsets[row + 1]))
    pairs = one.pairs[part]
    return {
        "pool": shared.add(one.pools.product_index[part], one.pools.grades[part]),
        "states": [match["states"][pairs, column].tobytes().decode() for column in asked],
        "match": match["percent"][pairs][:, asked].T.tolist(),
        "rel": match["rel"][pairs].tolist(),
        "ranks": [ranks[part] for ranks in one.ranks],
    }


class SharedPools:
    """Pools and products, each once, in order of first use."""

    def __init__(self) -> None:
        self.pools: list[dict[str, Any]] = []
        self.products: list[int] = []
        self._pool_place: dict[bytes, int] = {}
        self._product_place: dict[int, int] = {}

    def add(self, products: Ints, grades: NDArray[np.int8]) -> int:
        """Place of a pool."""
        key = products.tobytes() + grades.tobytes()
        if key not in self._pool_place:
            self._pool_place[key] = len(self.pools)
            places = [self._add_product(product) for product in products.tolist()]
            self.pools.append({"products": places, "grades": grades.tolist()})
        return self._pool_place[key]

    def _add_product(self, product: int) -> int:
        if product not in self._product_place:
            self._product_place[product] = len(self.products)
            self.products.append(product)
        return self._product_place[product]
