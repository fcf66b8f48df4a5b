"""The four tasks as tables (paper, section 4).

In:  catalog, semantic IDs, clusters, queries, a similarity for R(q, p), a TaskConfig.
Out: the configs ``ranking`` (T1), ``classification`` (T2), ``sibling`` (T3), ``paraphrase`` (T4),
     and a report: what became an anchor, floor, attribute-oracle reference, wish satisfaction.

Labels come from the tree alone; R(q, p) stands beside them as ``match`` and changes none.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from fashion_rq_bench.builders.catalog.text import product_text
from fashion_rq_bench.builders.hierarchy.clusters import code_matrix
from fashion_rq_bench.builders.hierarchy.prefix_tree import Ints
from fashion_rq_bench.builders.tasks.candidate_pools import (
    Pools,
    draw_pools,
    pool_pairs,
    ragged_take,
)
from fashion_rq_bench.builders.tasks.config import TaskConfig
from fashion_rq_bench.builders.tasks.invariants import check_tasks
from fashion_rq_bench.builders.tasks.reference_scores import reference
from fashion_rq_bench.builders.tasks.twin_products import twins
from fashion_rq_bench.errors import BuildError
from fashion_rq_bench.relevance.pair_relevance import match_pairs
from fashion_rq_bench.relevance.similarity import Similarity
from fashion_rq_bench.schema.tables import CLASSIFICATION, PARAPHRASE, SIBLING, ranking_schema

__all__ = ["TaskConfig", "Tasks", "candidate_pools", "tasks"]

_DECIMALS = 4


@dataclass(frozen=True)
class Tasks:
    """The four configs and what is known about them.

    Attributes:
        ranking, classification, sibling, paraphrase: tables of those schemas.
        report: JSON-able; ``anchors`` (what became one, what did not and why), ``quality``,
            ``wishes`` and ``pairs_without_match`` (see :func:`~.reference.reference`).
    """

    ranking: pa.Table
    classification: pa.Table
    sibling: pa.Table
    paraphrase: pa.Table
    report: Mapping[str, object]


def candidate_pools(
    catalog: pa.Table,
    semantic_ids: pa.Table,
    clusters: pa.Table,
    queries: pa.Table,
    config: TaskConfig | None = None,
) -> Pools:
    """Draw every pool: see :func:`~fashion_rq_bench.builders.tasks.candidate_pools.draw_pools`.

    Args:
        catalog: ``CATALOG`` table.
        semantic_ids: ``SEMANTIC_IDS``, row by row the same products.
        clusters: ``CLUSTERS``, or all clusters with a column ``qualifying``.
        queries: ``QUERIES``.
        config: sizes and seed.

    Raises:
        ConfigError: fewer than three levels.
        BuildError: tables that do not fit together, or a task without any query.
    """
    pools = draw_pools(
        catalog["product_id"].combine_chunks(),
        code_matrix(semantic_ids, catalog),
        twins(catalog, product_text(catalog)),
        clusters,
        queries,
        config or TaskConfig(),
    )
    _refuse_empty(pools)
    return pools


def _refuse_empty(pools: Pools) -> None:
    empty = {
        "Sibling discrimination (T3) has no query: no anchor has enough sibling leaves": len(
            pools.sibling_queries
        ),
        "Paraphrase robustness (T4) has no group: every anchor has a single query": int(
            (np.bincount(pools.query_anchor) >= 2).sum()
        ),
    }
    for problem, count in empty.items():
        if not count:
            raise BuildError(
                f"{problem}.",
                given=f"{len(pools.prefixes)} anchors",
                fix="Use a larger catalog: a few hundred products of several types and colours.",
            )


def tasks(
    catalog: pa.Table,
    semantic_ids: pa.Table,
    clusters: pa.Table,
    queries: pa.Table,
    similarity: Similarity,
    config: TaskConfig | None = None,
    *,
    pools: Pools | None = None,
) -> Tasks:
    """Draw pools, match their pairs, write the four tables and check them.

    Args:
        catalog, semantic_ids, clusters, queries, config: as for :func:`candidate_pools`.
        similarity: sim(·, ·) of R(q, p), usually a ``StringTable`` of the edition's strings.
        pools: what :func:`candidate_pools` gave for the same input, so as not to draw twice.

    Raises:
        ConfigError, BuildError: as :func:`candidate_pools`; BuildError also if a table breaks an
            invariant (see :func:`~fashion_rq_bench.builders.tasks.invariants.check_tasks`).
    """
    config = config or TaskConfig()
    pools = pools or candidate_pools(catalog, semantic_ids, clusters, queries, config)
    used, query_index, product_index = pool_pairs(pools)
    matches = match_pairs(
        pools.queries["intents"], catalog.take(used), query_index, product_index, similarity
    )
    ids = catalog["product_id"].combine_chunks()
    rel = np.round(matches.rel, _DECIMALS)
    built = {
        "ranking": _ranking(pools, ids, rel),
        "classification": _classification(pools, ids, rel),
        "sibling": _sibling(pools, ids),
        "paraphrase": _paraphrase(pools, ids),
    }
    check_tasks(built, catalog, semantic_ids, config)
    report = {"anchors": pools.counts, **reference(pools, matches, ids)}
    return Tasks(**built, report=report)


def _ranking(pools: Pools, ids: pa.Array, rel: npt.NDArray[np.float64]) -> pa.Table:
    places, offsets = ragged_take(pools.offsets, pools.query_anchor)
    candidates = {
        "product_id": ids.take(pools.products[places]),
        "grade": pools.grades[places],
        "match": rel[: len(places)].astype(np.float32),
    }
    columns = {
        "query_id": pools.queries["query_id"],
        "query": pools.queries["query"],
        "prefix": pools.queries["prefix"],
        "intents": pools.queries["intents"],
        "candidates": _lists(offsets, candidates, ranking_schema()),
    }
    return pa.table(columns, schema=ranking_schema()).combine_chunks()


def _classification(pools: Pools, ids: pa.Array, rel: npt.NDArray[np.float64]) -> pa.Table:
    every, offsets = ragged_take(pools.offsets, pools.query_anchor)
    rows = np.flatnonzero(pools.in_classification[every])
    places = every[rows]
    queries = np.searchsorted(offsets, rows, side="right") - 1
    columns = {
        "query_id": pools.queries["query_id"].take(queries),
        "query": pools.queries["query"].take(queries),
        "product_id": ids.take(pools.products[places]),
        "label": pools.grades[places].astype(np.int64),
        "match": rel[rows].astype(np.float32),
    }
    return pa.table(columns, schema=CLASSIFICATION).combine_chunks()


def _sibling(pools: Pools, ids: pa.Array) -> pa.Table:
    queries = pools.queries.take(pools.sibling_queries)
    candidates = {"product_id": ids.take(pools.sibling_products), "target": pools.targets}
    columns = {
        "query_id": queries["query_id"],
        "query": queries["query"],
        "prefix": queries["prefix"],
        "candidates": _lists(pools.sibling_offsets, candidates, SIBLING),
    }
    return pa.table(columns, schema=SIBLING).combine_chunks()


def _paraphrase(pools: Pools, ids: pa.Array) -> pa.Table:
    sizes = np.bincount(pools.query_anchor, minlength=len(pools.prefixes))
    groups = np.flatnonzero(sizes >= 2)
    offsets = np.concatenate(([0], np.cumsum(sizes)))
    rows, query_offsets = ragged_take(offsets, groups)
    places, pool_offsets = ragged_take(pools.offsets, groups)
    asked = pools.queries.take(rows)
    queries = {name: asked[name].combine_chunks() for name in ("query_id", "query")}
    candidates = {"product_id": ids.take(pools.products[places]), "grade": pools.grades[places]}
    prefixes = pools.prefixes[groups]
    columns = {
        "group_id": ["-".join(map(str, prefix)) for prefix in prefixes.tolist()],
        "prefix": list(prefixes.astype(np.uint16)),
        "queries": _lists(query_offsets, queries, PARAPHRASE, "queries"),
        "candidates": _lists(pool_offsets, candidates, PARAPHRASE),
    }
    return pa.table(columns, schema=PARAPHRASE).combine_chunks()


def _lists(
    offsets: Ints, fields: Mapping[str, object], schema: pa.Schema, column: str = "candidates"
) -> pa.Array:
    """A list of structs per row, of the type that ``schema`` gives ``column``."""
    kind = schema.field(column).type
    names = [field.name for field in kind.value_type]
    arrays = [pa.array(fields[name], kind.value_type.field(name).type) for name in names]
    values = pa.StructArray.from_arrays(arrays, fields=list(kind.value_type))
    return pa.ListArray.from_arrays(pa.array(offsets, pa.int32()), values, type=kind)
