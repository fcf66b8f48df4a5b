"""What must hold of the four task tables before they become an edition.

In:  the tables as they would ship, the catalog and the semantic IDs.
Out: nothing, or a BuildError naming the ids that break a rule.

The rules follow the paper's section 4 and 8.0.3. They are checked on the finished tables and from
the semantic IDs again, not on what the drawing code believes:

- Query ids are unique and none is a product id; every id that is named exists.
- No product and no two twins stand in one pool: equal products never get two grades.
- Every grade, label and target is what the semantic IDs say.
- T1 and T2 pools take at least one Exact product, at most the configured number per tier, and
  lie within their sizes; T2 pools lie inside T1 pools; queries of an anchor share a T1 pool.
- T3 pools hold one target and one product each of other leaves of the same parent.
- T4 groups hold all of an anchor's queries, at least two, and its T1 pool.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from fashion_rq_bench.builders.catalog.text import product_text
from fashion_rq_bench.builders.hierarchy.clusters import code_matrix
from fashion_rq_bench.builders.hierarchy.prefix_tree import Ints
from fashion_rq_bench.builders.tasks.candidate_pools import TIERS, grades_from_codes
from fashion_rq_bench.builders.tasks.config import TaskConfig
from fashion_rq_bench.builders.tasks.twin_products import twins
from fashion_rq_bench.errors import BuildError
from fashion_rq_bench.schema.grades import Grade

__all__ = ["check_tasks"]

_SHOWN = 5


def check_tasks(
    tables: Mapping[str, pa.Table], catalog: pa.Table, semantic_ids: pa.Table, config: TaskConfig
) -> None:
    """Check every rule above on the four tables.

    Args:
        tables: "ranking", "classification", "sibling", "paraphrase".
        catalog: ``CATALOG`` table.
        semantic_ids: ``SEMANTIC_IDS`` in the catalog's order.
        config: the sizes that were asked for.

    Raises:
        BuildError: for the first rule that is broken.
    """
    codes = code_matrix(semantic_ids, catalog)
    groups = twins(catalog, product_text(catalog))
    ids = catalog["product_id"].combine_chunks()
    ranking = _listed("ranking", tables["ranking"], ids)
    _check_query_ids(ranking.names, ids)
    anchors = _matrix(tables["ranking"]["prefix"], codes.shape[1])
    classification, owners = _long(tables["classification"], ranking.names, ids)
    sibling = _listed("sibling", tables["sibling"], ids)
    asked = _known(sibling.names, ranking.names, "sibling", "query")
    paraphrase = _listed("paraphrase", tables["paraphrase"], ids)
    for pairs in (ranking, classification, sibling, paraphrase):
        _check_distinct(pairs, groups)
    _check_grades(ranking, anchors, codes)
    _check_grades(classification, anchors[owners], codes)
    _check_grades(paraphrase, _matrix(tables["paraphrase"]["prefix"], codes.shape[1]), codes)
    _check_tiers(ranking, config.ranking, config.min_ranking)
    _check_tiers(classification, config.classification, config.min_classification)
    _check_shared(ranking, anchors)
    _check_inside(classification, owners, ranking)
    _check_siblings(sibling, anchors[asked], codes, config)
    _check_paraphrases(tables["paraphrase"], paraphrase, ranking, anchors)


@dataclass(frozen=True)
class _Pairs:
    """The pairs of one table.

    Attributes:
        task: name of the config.
        names: id of each pool (a query's or a group's).
        owner: (P,) pool of each pair, ascending.
        products: (P,) catalog rows.
        grades: (P,) grade, label, or 1 for a target.
    """

    task: str
    names: pa.Array
    owner: Ints
    products: Ints
    grades: Ints

    def refuse(self, bad: npt.NDArray[np.bool_], rule: str) -> None:
        """Raise if any pair is bad."""
        _refuse(bad, self.names.take(self.owner) if bad.any() else self.names, self.task, rule)

    def refuse_pools(self, bad: npt.ArrayLike, rule: str) -> None:
        """Raise if any pool is bad."""
        _refuse(np.asarray(bad), self.names, self.task, rule)


def _refuse(bad: npt.NDArray[np.bool_], names: pa.Array, task: str, rule: str) -> None:
    if not bad.any():
        return
    culprits = pc.unique(names.filter(pa.array(bad)))
    raise BuildError(
        f"The config {task!r} breaks a rule in {len(culprits)} places: {rule}.",
        given=culprits[:_SHOWN].to_pylist(),
        fix="This is a fault of the build, not of your data; nothing was written.",
    )


def _known(names: pa.Array, allowed: pa.Array, task: str, what: str) -> Ints:
    """Positions of ``names`` in ``allowed``; all must be there."""
    found = pc.index_in(names, value_set=allowed)
    unknown = np.asarray(found.is_null())
    _refuse(unknown, names, task, f"a {what} id names nothing")
    return np.asarray(found, dtype=np.int64)


def _listed(task: str, table: pa.Table, ids: pa.Array) -> _Pairs:
    table = table.combine_chunks()
    candidates = table["candidates"].combine_chunks()
    values = candidates.flatten()
    marks = values.field("target" if task == "sibling" else "grade").cast(pa.int64())
    return _Pairs(
        task,
        table[table.column_names[0]].combine_chunks(),
        np.asarray(pc.list_parent_indices(candidates), dtype=np.int64),
        _known(values.field("product_id"), ids, task, "product"),
        np.asarray(marks),
    )


def _long(table: pa.Table, queries: pa.Array, ids: pa.Array) -> tuple[_Pairs, Ints]:
    """The pairs of T2 by query, and the row of ``ranking`` of each of its queries."""
    named = _known(table["query_id"].combine_chunks(), queries, "classification", "query")
    order = np.argsort(named, kind="stable")
    owners, owner = np.unique(named[order], return_inverse=True)
    products = _known(table["product_id"].combine_chunks(), ids, "classification", "product")
    labels = np.asarray(table["label"].combine_chunks())
    names = queries.take(pa.array(owners))
    return _Pairs("classification", names, owner, products[order], labels[order]), owners


def _matrix(prefixes: pa.ChunkedArray, levels: int) -> Ints:
    flat = np.asarray(prefixes.combine_chunks().flatten(), dtype=np.int64)
    return flat.reshape(-1, levels)


def _check_query_ids(queries: pa.Array, ids: pa.Array) -> None:
    codes = np.asarray(queries.dictionary_encode().indices)
    repeated = np.bincount(codes)[codes] > 1
    _refuse(repeated, queries, "ranking", "a query id stands twice")
    taken = np.asarray(pc.is_in(queries, value_set=ids))
    _refuse(taken, queries, "ranking", "a query id is a product id")


def _repeats(owner: Ints, values: Ints) -> npt.NDArray[np.bool_]:
    """Which pairs share owner and value with another pair."""
    keys = owner * (int(values.max(initial=0)) + 1) + values
    _, inverse, counts = np.unique(keys, return_inverse=True, return_counts=True)
    return np.asarray(counts[inverse] > 1)


def _check_distinct(pairs: _Pairs, groups: Ints) -> None:
    pairs.refuse(_repeats(pairs.owner, pairs.products), "a product stands twice in a pool")
    pairs.refuse(
        _repeats(pairs.owner, groups[pairs.products]),
        "products with the same title and attributes stand in one pool",
    )


def _check_grades(pairs: _Pairs, anchors: Ints, codes: Ints) -> None:
    expected = grades_from_codes(anchors[pairs.owner], codes[pairs.products])
    pairs.refuse(expected != pairs.grades, "a grade is not the one that the semantic IDs give")


def _check_tiers(pairs: _Pairs, most: tuple[int, ...], least: int) -> None:
    counts = np.bincount(pairs.owner * len(TIERS) + pairs.grades, minlength=len(pairs.names) * 4)
    counts = counts.reshape(-1, len(TIERS))[:, list(TIERS)]
    sizes = counts.sum(axis=1)
    pairs.refuse_pools(counts[:, 0] == 0, "a query has no Exact product")
    pairs.refuse_pools((counts > np.array(most)).any(axis=1), f"a tier holds more than {most}")
    pairs.refuse_pools(sizes < least, f"a pool holds fewer than {least} products")


def _check_inside(small: _Pairs, owners: Ints, large: _Pairs) -> None:
    span = int(max(small.products.max(initial=0), large.products.max(initial=0))) + 1
    inside = np.isin(
        owners[small.owner] * span + small.products, large.owner * span + large.products
    )
    small.refuse(~inside, "a pair is not in the query's T1 pool")
    missing = np.isin(np.arange(len(large.names)), owners, invert=True)
    large.refuse_pools(missing, "a query of T1 has no T2 pool")


def _pool_digests(pairs: _Pairs) -> npt.NDArray[np.uint64]:
    """A number per pool that depends on its products and their number."""
    mixed = (pairs.products.astype(np.uint64) + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
    mixed = (mixed ^ (mixed >> np.uint64(29))) * np.uint64(0xBF58476D1CE4E5B9)
    sums = np.zeros(len(pairs.names), dtype=np.uint64)
    np.add.at(sums, pairs.owner, mixed)
    return sums


def _check_shared(ranking: _Pairs, anchors: Ints) -> None:
    _, first, anchor = np.unique(anchors, axis=0, return_index=True, return_inverse=True)
    digests = _pool_digests(ranking)
    ranking.refuse_pools(
        digests != digests[first][anchor.ravel()], "queries of one anchor have different pools"
    )


def _check_siblings(sibling: _Pairs, anchors: Ints, codes: Ints, config: TaskConfig) -> None:
    grades = grades_from_codes(anchors[sibling.owner], codes[sibling.products])
    expected = np.where(sibling.grades == 1, Grade.EXACT, Grade.SIBLING)
    sibling.refuse(grades != expected, "a target is no Exact product, or a distractor no Sibling")
    targets = np.bincount(sibling.owner, sibling.grades, minlength=len(sibling.names))
    sizes = np.bincount(sibling.owner, minlength=len(sibling.names))
    sibling.refuse_pools(targets != 1, "a pool has not exactly one target")
    sibling.refuse(
        _repeats(sibling.owner, codes[sibling.products, -1]), "two products are of one leaf"
    )
    small, large = config.min_distractors + 1, config.distractors + 1
    sibling.refuse_pools((sizes < small) | (sizes > large), f"a pool holds not {small}–{large}")


def _check_paraphrases(table: pa.Table, groups: _Pairs, ranking: _Pairs, anchors: Ints) -> None:
    lists = table["queries"].combine_chunks()
    named = _known(lists.flatten().field("query_id"), ranking.names, "paraphrase", "query")
    owner = np.asarray(pc.list_parent_indices(lists), dtype=np.int64)
    _, anchor, sizes = np.unique(anchors, axis=0, return_inverse=True, return_counts=True)
    per_query = sizes[anchor.ravel()]
    own = _matrix(table["prefix"], anchors.shape[1])
    wrong = (own[owner] != anchors[named]).any(axis=1)
    wrong |= _pool_digests(groups)[owner] != _pool_digests(ranking)[named]
    _refuse(wrong, groups.names.take(owner), "paraphrase", "a query has another anchor or pool")
    counts = np.bincount(named, minlength=len(ranking.names))
    ranking.refuse_pools(counts != (per_query >= 2), "a query is not in exactly one group")
