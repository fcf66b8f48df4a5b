"""A few clusters of an edition, to read.

In:  an edition, one prefix or how many clusters to draw.
Out: per cluster its products, evidence and queries: rich renderables and data.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow.compute as pc

from fashion_rq_bench.editions.edition import Edition, in_its_domain
from fashion_rq_bench.errors import InputError
from fashion_rq_bench.schema.domain import domain

__all__ = ["show"]

_ITEMS = 8


@in_its_domain
def show(
    edition: Edition, *, prefix: str | None = None, count: int = 3, seed: int = 0
) -> tuple[list[Any], list[dict[str, Any]]]:
    """Clusters with their products and queries.

    Args:
        edition: any edition.
        prefix: codes joined by "-", e.g. "12-3-40"; None draws ``count`` leaves that have queries.
        count: how many to draw.
        seed: which ones are drawn.

    Returns:
        Renderables, and one dict per cluster with ``cluster``, ``items`` and ``queries``.

    Raises:
        InputError: if no qualifying cluster has this prefix.
    """
    from fashion_rq_bench.builders.queries.show import render_cluster

    clusters = edition.table("clusters")
    keys = _keys(clusters["prefix"].to_pylist())
    queries = edition.table("queries")
    owners = _keys(queries["prefix"].to_pylist())
    rows = [_find(keys, prefix)] if prefix is not None else _draw(keys, owners, count, seed)
    parts, data = [], []
    for row in rows:
        cluster = clusters.slice(row, 1).to_pylist()[0]
        asked = queries.filter(pc.equal(owners, keys[row])).to_pylist()
        items = _items(edition, cluster["prefix"])
        parts.append(render_cluster(cluster, items, asked))
        data.append({"cluster": cluster, "items": items, "queries": asked})
    return parts, data


def _keys(prefixes: list[list[int]]) -> np.ndarray[Any, np.dtype[np.str_]]:
    return np.array(["-".join(map(str, prefix)) for prefix in prefixes], dtype=np.str_)


def _find(keys: np.ndarray[Any, np.dtype[np.str_]], prefix: str) -> int:
    found = np.flatnonzero(keys == prefix)
    if not len(found):
        raise InputError(
            "No qualifying cluster of this edition has this prefix.", given=prefix, allowed=keys
        )
    return int(found[0])


def _draw(
    keys: np.ndarray[Any, np.dtype[np.str_]],
    owners: np.ndarray[Any, np.dtype[np.str_]],
    count: int,
    seed: int,
) -> list[int]:
    depth = max(key.count("-") for key in keys)
    leaves = [row for row, key in enumerate(keys) if key.count("-") == depth]
    asked = np.flatnonzero(np.isin(keys, owners) & np.isin(np.arange(len(keys)), leaves))
    drawn = np.random.default_rng(seed).permutation(asked)[:count]
    return [int(row) for row in np.sort(drawn)]


def _items(edition: Edition, prefix: list[int]) -> list[dict[str, Any]]:
    corpus = edition.table("corpus", ["product_id", *domain().shown, "semantic_id"])
    codes = np.array(corpus["semantic_id"].to_pylist())[:, : len(prefix)]
    rows = np.flatnonzero((codes == np.array(prefix)).all(axis=1))[:_ITEMS]
    shown = corpus.take(rows).select(["product_id", *domain().shown])
    items: list[dict[str, Any]] = shown.to_pylist()
    return items
