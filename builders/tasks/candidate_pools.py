"""Fixed candidate pools, graded by the prefix tree.

In:  semantic IDs, qualifying clusters, queries, and which products are twins.
Out: per anchor the T1 pool (T2 and T4 use it too), per query the T3 pool, and what was left out.

Implements the candidate construction of the paper's section 4 and 8.0.3. With s the number of
leading codes that a product shares with the anchor: Exact s = L, Sibling s = L - 1, Related
1 ≤ s ≤ L - 2, Irrelevant s = 0. A lower tier may come from any leaf, qualifying or not.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from fashion_rq_bench.builders.hierarchy.prefix_tree import Ints, Tree, hash_ids, mix
from fashion_rq_bench.builders.tasks.anchors import Anchor, choose_anchors
from fashion_rq_bench.builders.tasks.config import TaskConfig
from fashion_rq_bench.errors import ConfigError
from fashion_rq_bench.schema.grades import Grade

__all__ = ["TIERS", "Pools", "draw_pools", "grades_from_codes", "pool_pairs", "ragged_take"]

TIERS = (Grade.EXACT, Grade.SIBLING, Grade.RELATED, Grade.IRRELEVANT)


@dataclass(frozen=True)
class Pools:
    """Every pool, as rows of the catalog.

    Attributes:
        prefixes: (A, L) codes of the anchors, in order.
        article_types: A dominant article types.
        queries: the rows of ``QUERIES`` that enter T1, by anchor.
        query_anchor: (Q,) anchor of each of them.
        offsets: (A + 1,) where each anchor's T1 pool begins in ``products``.
        products, grades: T1 pools, products of a pool by ``product_id``.
        in_classification: which of them are in the T2 pool.
        sibling_queries: (S,) rows of ``queries`` that enter T3.
        sibling_offsets, sibling_products, targets: their pools.
        counts: what became an anchor and what was left out, by reason.
    """

    prefixes: Ints
    article_types: tuple[str, ...]
    queries: pa.Table
    query_anchor: Ints
    offsets: Ints
    products: Ints
    grades: npt.NDArray[np.int8]
    in_classification: npt.NDArray[np.bool_]
    sibling_queries: Ints
    sibling_offsets: Ints
    sibling_products: Ints
    targets: npt.NDArray[np.bool_]
    counts: Mapping[str, object]


def ragged_take(offsets: Ints, picks: Ints) -> tuple[Ints, Ints]:
    """Positions of the items of lists ``picks``, one after the other, and the new offsets."""
    sizes = np.diff(offsets)[picks]
    taken = np.concatenate(([0], np.cumsum(sizes)))
    inside = np.arange(taken[-1]) - np.repeat(taken[:-1], sizes)
    return np.repeat(offsets[:-1][picks], sizes) + inside, taken


def pool_pairs(pools: Pools) -> tuple[Ints, Ints, Ints]:
    """Every (query, product) pair of T1, then of T3.

    Returns:
        Sorted catalog rows of the products of any pool; then per pair the row of ``pools.queries``
        and the position of its product among those.
    """
    places, offsets = ragged_take(pools.offsets, pools.query_anchor)
    ranked = np.repeat(np.arange(len(pools.queries)), np.diff(offsets))
    siblings = np.repeat(pools.sibling_queries, np.diff(pools.sibling_offsets))
    products = np.concatenate((pools.products[places], pools.sibling_products))
    used, product_index = np.unique(products, return_inverse=True)
    return used, np.concatenate((ranked, siblings)), product_index


def grades_from_codes(anchors: Ints, products: Ints) -> npt.NDArray[np.int8]:
    """Grade of each pair of (n, L) anchor codes and (n, L) product codes (paper, section 4)."""
    levels = anchors.shape[1]
    shared = np.cumprod(anchors == products, axis=1, dtype=np.int64).sum(axis=1)
    grade_of = np.full(levels + 1, Grade.RELATED, dtype=np.int8)
    grade_of[[0, levels - 1, levels]] = Grade.IRRELEVANT, Grade.SIBLING, Grade.EXACT
    return np.asarray(grade_of[shared], dtype=np.int8)


def draw_pools(
    ids: pa.Array,
    codes: Ints,
    twin_groups: Ints,
    clusters: pa.Table,
    queries: pa.Table,
    config: TaskConfig,
) -> Pools:
    """Draw all pools.

    Every draw depends on (seed, prefix), for T3 also on the query's id, and on the ids of the
    products in reach: changing one cluster leaves every pool untouched that takes nothing from it.

    Args:
        ids: N product ids.
        codes: (N, L) semantic IDs, L ≥ 3, from
            :func:`~fashion_rq_bench.builders.hierarchy.clusters.code_matrix`.
        twin_groups: (N,) from :func:`~fashion_rq_bench.builders.tasks.twin_products.twins`.
        clusters: qualifying clusters (``CLUSTERS``, or any with a column ``qualifying``).
        queries: ``QUERIES``; those of leaf clusters are used.
        config: sizes and seed.

    Raises:
        ConfigError: if the semantic IDs have fewer than three levels.
        BuildError: if a query names no qualifying leaf, or no cluster can become an anchor.
    """
    if codes.shape[1] < 3:
        raise ConfigError(
            "Four grades need semantic IDs of at least three levels.",
            given=codes.shape[1],
            fix="Set rqvae.levels = 3 or more and build again.",
        )
    tree = Tree.build(codes, twin_groups, hash_ids(ids.to_pylist()))
    anchors, left_out = choose_anchors(tree, clusters, queries, config)
    ranks = np.empty(len(ids), dtype=np.int64)
    ranks[np.asarray(pc.sort_indices(ids))] = np.arange(len(ids))
    return _assemble(tree, anchors, queries, ranks, config, left_out)


def _sibling_pools(
    tree: Tree, anchor: Anchor, query_hashes: npt.NDArray[np.uint64], config: TaskConfig
) -> list[Ints]:
    """T3 pools of an anchor's queries, target first; none if too few sibling leaves have products.

    Each query draws its own target and its own leaves, every leaf with the same chance.
    """
    leaf, salt = tree.levels, anchor.salts[1]
    targets = tree.candidates(anchor.product, leaf, None, salt, None)
    siblings = tree.candidates(anchor.product, leaf - 1, leaf, salt, None)
    leaves = tree.nodes[leaf]
    if len(np.unique(leaves[siblings])) < config.min_distractors:
        return []
    pools = []
    for own_salt in mix(query_hashes ^ salt):
        target = targets[np.argmin(mix(tree.hashes[targets] ^ own_salt))]
        shuffled = siblings[np.argsort(mix(tree.hashes[siblings] ^ own_salt), kind="stable")]
        found, first = np.unique(leaves[shuffled], return_index=True)
        taken = np.argsort(mix(tree.leaf_hashes[found] ^ own_salt))[: config.distractors]
        pools.append(np.concatenate(([target], shuffled[first[taken]])))
    return pools


def _assemble(
    tree: Tree,
    anchors: list[Anchor],
    queries: pa.Table,
    ranks: Ints,
    config: TaskConfig,
    left_out: Mapping[str, int],
) -> Pools:
    asked = queries.take(np.concatenate([anchor.queries for anchor in anchors]))
    per_anchor = [len(anchor.queries) for anchor in anchors]
    ends = np.cumsum(per_anchor)
    hashes = np.split(hash_ids(asked["query_id"].to_pylist()), ends[:-1])
    siblings = [
        _sibling_pools(tree, anchor, own, config)
        for anchor, own in zip(anchors, hashes, strict=True)
    ]
    with_siblings = np.repeat([bool(pools) for pools in siblings], per_anchor)
    return Pools(
        prefixes=np.array([anchor.prefix for anchor in anchors], dtype=np.int64),
        article_types=tuple(anchor.article_type for anchor in anchors),
        queries=asked,
        query_anchor=np.repeat(np.arange(len(anchors)), per_anchor),
        sibling_queries=np.flatnonzero(with_siblings),
        counts=_counts(anchors, siblings, left_out, config),
        **_ranking_columns(anchors, ranks, config),
        **_sibling_columns([pool for pools in siblings for pool in pools], ranks),
    )


def _ranking_columns(anchors: list[Anchor], ranks: Ints, config: TaskConfig) -> dict[str, Any]:
    sizes = np.array([[len(tier) for tier in anchor.tiers] for anchor in anchors])
    offsets, products, order = _in_id_order(
        [np.concatenate(anchor.tiers) for anchor in anchors], ranks
    )
    tier_of = np.repeat(np.tile(np.arange(len(TIERS)), len(anchors)), sizes.ravel())
    small = _place_in_tier(sizes) < np.array(config.classification)[tier_of]
    return {
        "offsets": offsets,
        "products": products,
        "grades": np.array(TIERS, dtype=np.int8)[tier_of][order],
        "in_classification": small[order],
    }


def _sibling_columns(pools: list[Ints], ranks: Ints) -> dict[str, Any]:
    offsets, products, order = _in_id_order(pools, ranks)
    targets = np.zeros(len(products), dtype=np.bool_)
    targets[offsets[:-1]] = True
    return {"sibling_offsets": offsets, "sibling_products": products, "targets": targets[order]}


def _place_in_tier(sizes: Ints) -> Ints:
    """0, 1, … within every tier of every anchor, in drawing order."""
    ends = np.cumsum(sizes)
    return np.arange(ends[-1]) - np.repeat(ends - sizes.ravel(), sizes.ravel())


def _in_id_order(pools: list[Ints], ranks: Ints) -> tuple[Ints, Ints, Ints]:
    """Offsets and products of pools sorted by product id, and the permutation that sorts them.

    The order must say nothing about the grade: ties are often broken by position.
    """
    sizes = np.array([len(pool) for pool in pools], dtype=np.int64)
    products = np.concatenate([np.empty(0, dtype=np.int64), *pools])
    order = np.lexsort((ranks[products], np.repeat(np.arange(len(pools)), sizes)))
    return np.concatenate(([0], np.cumsum(sizes))), products[order], order


def _counts(
    anchors: list[Anchor],
    siblings: list[list[Ints]],
    left_out: Mapping[str, int],
    config: TaskConfig,
) -> dict[str, object]:
    sizes = np.array([[len(tier) for tier in anchor.tiers] for anchor in anchors])
    short = (sizes < np.array(config.ranking)).sum(axis=0)
    return {
        "qualifying_leaves": len(anchors) + sum(left_out.values()),
        "anchors": len(anchors),
        "not_anchors": {reason: int(count) for reason, count in left_out.items() if count},
        "short_tiers": {tier.name.lower(): int(n) for tier, n in zip(TIERS, short, strict=True)},
        "without_sibling_task": {
            f"under {config.min_distractors} sibling leaves": sum(not pools for pools in siblings)
        },
        "without_paraphrases": {"a single query": sum(len(a.queries) == 1 for a in anchors)},
    }
