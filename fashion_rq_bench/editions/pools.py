"""An edition's four tasks as flat arrays, and the distinct (query, product) pairs in them.

In:  an :class:`~fashion_rq_bench.editions.edition.Edition`.
Out: a :class:`Collection`: the corpus, one :class:`Pools` per task, and :class:`Pairs`, each
     (query, product) pair that occurs in any task once, so that no retriever scores one twice.

The pools are those of the paper's section 4; nothing here depends on a model.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from fashion_rq_bench.editions.edition import Edition
from fashion_rq_bench.errors import ConfigError, EditionError
from fashion_rq_bench.measures._ragged import offsets_of
from fashion_rq_bench.schema.tables import TASK_CONFIGS

__all__ = ["Collection", "Pairs", "Pools", "prefix_keys"]

Ints = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Pools:
    """The candidate pools of one task: Q queries, M (query, candidate) rows, query by query.

    Attributes:
        task: a name of ``schema.TASK_CONFIGS``.
        query_ids: (Q,) strings.
        queries: (Q,) query texts.
        prefixes: (Q,) the anchor's codes joined by "-".
        groups: (Q,) paraphrase group ids; the prefixes in the other tasks.
        offsets: (Q + 1,) pool q is rows ``offsets[q]`` to ``offsets[q + 1]``.
        product_index: (M,) positions in the corpus.
        grades: (M,) grade 0 to 3; in ``sibling`` 1 for the target and 0 for the others.
    """

    task: str
    query_ids: list[str]
    queries: list[str]
    prefixes: list[str]
    groups: list[str]
    offsets: Ints
    product_index: Ints
    grades: NDArray[np.int8]

    @property
    def sizes(self) -> Ints:
        """Number of candidates per query, shape (Q,)."""
        return np.diff(self.offsets)

    @property
    def query_index(self) -> Ints:
        """Query of every row, shape (M,)."""
        return np.repeat(np.arange(len(self.query_ids)), self.sizes)

    def take(self, queries: Ints) -> Pools:
        """The pools of some queries, by position, in the order given."""
        sizes = self.sizes[queries]
        offsets = offsets_of(sizes)
        rows = np.arange(offsets[-1]) + np.repeat(self.offsets[queries] - offsets[:-1], sizes)
        return Pools(
            task=self.task,
            query_ids=[self.query_ids[query] for query in queries],
            queries=[self.queries[query] for query in queries],
            prefixes=[self.prefixes[query] for query in queries],
            groups=[self.groups[query] for query in queries],
            offsets=offsets,
            product_index=self.product_index[rows],
            grades=self.grades[rows],
        )


@dataclass(frozen=True, eq=False)
class Pairs:
    """Distinct (query, product) pairs over all tasks.

    Attributes:
        query_ids: (Q,) strings, in order of first appearance.
        queries: (Q,) their texts.
        query_index: (U,) positions in ``query_ids``.
        product_index: (U,) positions in the corpus.
        rows: task -> (M,) the pair of each row of its pools.
    """

    query_ids: list[str]
    queries: list[str]
    query_index: Ints
    product_index: Ints
    rows: Mapping[str, Ints]

    @cached_property
    def products(self) -> Ints:
        """Positions in the corpus of the products that occur in any pool, ascending."""
        return np.unique(self.product_index)


@dataclass(frozen=True, eq=False)
class Collection:
    """What a retriever is scored on.

    Attributes:
        edition: where it was read from.
        product_ids: (N,) the whole corpus.
        texts: (N,) what models read of each product.
        pools: one :class:`Pools` per task.
    """

    edition: Edition
    product_ids: pa.Array
    texts: pa.Array
    pools: Mapping[str, Pools]

    @classmethod
    def read(cls, edition: Edition) -> Collection:
        """Read corpus and pools.

        Raises:
            EditionError: a config is damaged, or a pool names a product that the corpus lacks.
        """
        corpus = edition.table("corpus", ["product_id", "text"]).combine_chunks()
        ids = corpus["product_id"].combine_chunks()
        pools = {task: _read_pools(edition, task, ids) for task in TASK_CONFIGS}
        return cls(edition, ids, pc.fill_null(corpus["text"], "").combine_chunks(), pools)

    @cached_property
    def pairs(self) -> Pairs:
        """The distinct pairs of all four tasks."""
        return _distinct_pairs(self.pools, len(self.product_ids))

    def slice(self, queries: int) -> Collection:
        """The same corpus with the pools of about so many queries of each task, evenly spread."""
        pools = self.pools.items()
        some = {task: one.take(_spread(len(one.query_ids), queries)) for task, one in pools}
        return replace(self, pools=some)

    def task(self, name: str) -> Pools:
        """Pools of one task; ConfigError for a name that is none."""
        if name not in self.pools:
            raise ConfigError("There is no such task.", given=name, allowed=TASK_CONFIGS)
        return self.pools[name]


def prefix_keys(prefixes: pa.Array | pa.ChunkedArray) -> list[str]:
    """Codes joined by "-", as they stand in query ids and results. (Q,) lists to (Q,) strings."""
    found: list[str] = pc.binary_join(prefixes.cast(pa.list_(pa.string())), "-").to_pylist()
    return found


def _read_pools(edition: Edition, task: str, product_ids: pa.Array) -> Pools:
    table = edition.table(task).combine_chunks()
    read = {"classification": _classification, "paraphrase": _paraphrase}.get(task, _listed)
    columns = read(table, edition)
    candidates = columns.pop("candidates")
    found = pc.index_in(candidates, value_set=product_ids)
    if found.null_count:
        dangling = candidates.filter(pc.is_null(found))
        raise EditionError(
            f"The config {task!r} of the edition at {edition.path} names {len(dangling)} products "
            f"that its corpus lacks, such as {dangling[0].as_py()!r}.",
            fix="Rebuild the edition.",
        )
    return Pools(task=task, product_index=found.to_numpy().astype(np.int64), **columns)


def _spread(count: int, wanted: int) -> Ints:
    return np.unique(np.linspace(0, count - 1, min(count, wanted)).astype(np.int64))


def _flat(table: pa.Table, field: str) -> pa.Array:
    return pc.struct_field(pc.list_flatten(table["candidates"]), field).combine_chunks()


def _listed(table: pa.Table, edition: Edition) -> dict[str, Any]:
    """``ranking`` and ``sibling``: one row per query, its candidates in a list."""
    keys = prefix_keys(table["prefix"])
    grade = "target" if "target" in str(table["candidates"].type) else "grade"
    return {
        "query_ids": table["query_id"].to_pylist(),
        "queries": table["query"].to_pylist(),
        "prefixes": keys,
        "groups": keys,
        "offsets": offsets_of(pc.list_value_length(table["candidates"]).to_numpy()),
        "candidates": _flat(table, "product_id"),
        "grades": _flat(table, grade).cast(pa.int8()).to_numpy(),
    }


def _classification(table: pa.Table, edition: Edition) -> dict[str, Any]:
    """``classification``: one row per pair; a query's rows are gathered in order of appearance."""
    codes = table["query_id"].combine_chunks().dictionary_encode()
    order = np.argsort(codes.indices.to_numpy(), kind="stable")
    first = np.unique(codes.indices.to_numpy(), return_index=True)[1]
    queries = edition.table("queries", ["query_id", "prefix"])
    place = pc.index_in(codes.dictionary, value_set=queries["query_id"].combine_chunks())
    keys = prefix_keys(queries["prefix"].take(place))
    return {
        "query_ids": codes.dictionary.to_pylist(),
        "queries": table["query"].take(first).to_pylist(),
        "prefixes": keys,
        "groups": keys,
        "offsets": offsets_of(np.bincount(codes.indices.to_numpy(), minlength=len(first))),
        "candidates": table["product_id"].combine_chunks().take(order),
        "grades": table["label"].combine_chunks().take(order).to_numpy().astype(np.int8),
    }


def _paraphrase(table: pa.Table, edition: Edition) -> dict[str, Any]:
    """``paraphrase``: one row per group; its pool is repeated for each of its queries."""
    counts = pc.list_value_length(table["queries"]).to_numpy().astype(np.int64)
    group = np.repeat(np.arange(len(table)), counts)
    pool = offsets_of(pc.list_value_length(table["candidates"]).to_numpy())
    sizes = np.diff(pool)[group]
    offsets = offsets_of(sizes)
    rows = np.arange(offsets[-1]) - np.repeat(offsets[:-1], sizes) + np.repeat(pool[group], sizes)
    queries = pc.list_flatten(table["queries"]).combine_chunks()
    return {
        "query_ids": queries.field("query_id").to_pylist(),
        "queries": queries.field("query").to_pylist(),
        "prefixes": prefix_keys(table["prefix"].take(group)),
        "groups": table["group_id"].take(group).to_pylist(),
        "offsets": offsets,
        "candidates": _flat(table, "product_id").take(rows),
        "grades": _flat(table, "grade").to_numpy()[rows],
    }


def _distinct_pairs(pools: Mapping[str, Pools], products: int) -> Pairs:
    texts: dict[str, str] = {}
    for pool in pools.values():
        texts.update(zip(pool.query_ids, pool.queries, strict=True))
    position = {query_id: row for row, query_id in enumerate(texts)}
    keys = []
    for pool in pools.values():
        query = np.array([position[query_id] for query_id in pool.query_ids], dtype=np.int64)
        keys.append(np.repeat(query, pool.sizes) * products + pool.product_index)
    distinct, inverse = np.unique(np.concatenate(keys), return_inverse=True)
    ends = np.cumsum([len(key) for key in keys])[:-1]
    return Pairs(
        query_ids=list(texts),
        queries=list(texts.values()),
        query_index=distinct // products,
        product_index=distinct % products,
        rows=dict(zip(pools, np.split(inverse, ends), strict=True)),
    )
