"""Which leaves become anchors, each with its T1 pool by tier.

In:  the prefix tree, qualifying clusters, queries, the sizes asked for.
Out: the anchors that are kept, and how many leaves were left out, by reason.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from fashion_rq_bench.builders.hierarchy.prefix_tree import Ints, Tree, salts
from fashion_rq_bench.builders.tasks.anchor_order import stratified_order
from fashion_rq_bench.builders.tasks.config import TaskConfig
from fashion_rq_bench.errors import BuildError

__all__ = ["Anchor", "choose_anchors"]


@dataclass(frozen=True)
class Anchor:
    """A qualifying leaf with queries: one of its products stands for it in the tree."""

    prefix: tuple[int, ...]
    article_type: str
    product: int
    salts: npt.NDArray[np.uint64]
    queries: Ints
    tiers: tuple[Ints, ...] = ()


def choose_anchors(
    tree: Tree, clusters: pa.Table, queries: pa.Table, config: TaskConfig
) -> tuple[list[Anchor], Mapping[str, int]]:
    """Draw the T1 pools of all qualifying leaves with queries and keep those large enough.

    Raises:
        BuildError: if a query names no qualifying leaf, or no cluster can become an anchor.
    """
    anchors, left_out = _asked_leaves(tree, clusters, queries, config.seed)
    drawn = []
    for anchor in anchors:
        tiers = _ranking_tiers(tree, anchor, config)
        reason = _shortage([len(tier) for tier in tiers], config)
        if reason is None:
            drawn.append(replace(anchor, tiers=tiers))
        else:
            left_out[reason] += 1
    kept = _select(drawn, config)
    left_out["beyond max_anchors"] = len(drawn) - len(kept)
    if not kept:
        raise BuildError(
            f"No cluster can become an anchor: {_told(left_out)}.",
            fix="Use a larger catalog, a smaller rqvae.codebook_size or hierarchy.min_size.",
        )
    return kept, left_out


def _asked_leaves(
    tree: Tree, clusters: pa.Table, queries: pa.Table, seed: int
) -> tuple[list[Anchor], Counter[str]]:
    leaves = clusters.filter(pc.equal(clusters["level"], tree.levels))
    if "qualifying" in leaves.column_names:
        leaves = leaves.filter(leaves["qualifying"])
    asked = _queries_by_prefix(queries, tree.levels)
    products = tree.order[-1][tree.starts[-1][:-1]].tolist()
    leaf_of = dict(zip(map(tuple, tree.leaf_codes.tolist()), products, strict=True))
    prefixes = [tuple(prefix) for prefix in leaves["prefix"].to_pylist()]
    _refuse_unknown(asked.keys() - set(prefixes), "Queries name clusters that do not qualify")
    _refuse_unknown(set(prefixes) - leaf_of.keys(), "Clusters hold no product of the catalog")
    types = [str(name) for name in leaves["article_type"].to_pylist()]
    anchors = [
        Anchor(prefix, kind, leaf_of[prefix], salts(seed, prefix, 3), asked[prefix])
        for prefix, kind in sorted(zip(prefixes, types, strict=True))
        if prefix in asked
    ]
    return anchors, Counter({"no query": len(prefixes) - len(anchors)})


def _queries_by_prefix(queries: pa.Table, level: int) -> dict[tuple[int, ...], Ints]:
    rows = np.flatnonzero(np.asarray(queries["level"]) == level)
    grouped: dict[tuple[int, ...], list[int]] = {}
    for row, prefix in zip(rows.tolist(), queries["prefix"].take(rows).to_pylist(), strict=True):
        grouped.setdefault(tuple(prefix), []).append(row)
    return {prefix: np.array(members) for prefix, members in grouped.items()}


def _refuse_unknown(prefixes: set[tuple[int, ...]], problem: str) -> None:
    if prefixes:
        raise BuildError(
            f"{problem}.",
            given=["-".join(map(str, prefix)) for prefix in sorted(prefixes)[:5]],
            fix="Build clusters and queries from these semantic IDs.",
        )


def _ranking_tiers(tree: Tree, anchor: Anchor, config: TaskConfig) -> tuple[Ints, ...]:
    """The T1 pool by tier. A tier lies in a node and stays outside the next deeper node."""
    leaf = tree.levels
    places = ((leaf, None), (leaf - 1, leaf), (1, leaf - 1), (0, 1))
    return tuple(
        tree.candidates(anchor.product, level, outside, anchor.salts[0], wanted)[:wanted]
        for (level, outside), wanted in zip(places, config.ranking, strict=True)
    )


def _shortage(sizes: Sequence[int], config: TaskConfig) -> str | None:
    if sum(sizes) < config.min_ranking:
        return f"T1 pool under {config.min_ranking}"
    small = sum(map(min, sizes, config.classification))
    if small < config.min_classification:
        return f"T2 pool under {config.min_classification}"
    return None


def _select(anchors: list[Anchor], config: TaskConfig) -> list[Anchor]:
    if config.max_anchors is None or config.max_anchors >= len(anchors):
        return anchors
    keys = np.array([anchor.salts[2] for anchor in anchors], dtype=np.uint64)
    order = stratified_order([anchor.article_type for anchor in anchors], keys)
    return [anchors[place] for place in np.sort(order[: config.max_anchors])]


def _told(reasons: Mapping[str, int]) -> str:
    return ", ".join(f"{reason} {count}" for reason, count in reasons.items() if count)
