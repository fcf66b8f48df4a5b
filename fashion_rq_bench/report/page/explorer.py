"""What the leaderboard's query explorer shows: queries, intents, pools in every model's order.

In:  a ``Collection`` of pools, the board of its results, rankings of models.
Out: JSON-able queries with their intents, deduplicated pools with grades, the match of every
     expressed attribute (paper, Eq. 7), and each model's ranks and figures for that query.

Two pools are shown: T1's graded one, which T2 takes its products from and T4 shares, and T3's. What
is equal is written once, so that thousands of queries fit into a page.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from fashion_rq_bench.editions.pool_relevance import judge
from fashion_rq_bench.editions.pools import Collection
from fashion_rq_bench.evaluation.task_scores import MAIN_METRICS
from fashion_rq_bench.relevance.pair_relevance import PairMatches
from fashion_rq_bench.relevance.satisfaction import wish_thresholds
from fashion_rq_bench.report.board.board import Board
from fashion_rq_bench.report.page.data import title_of
from fashion_rq_bench.report.page.pools import (
    SharedPools,
    dense_ranks,
    pool_of,
    pool_scores,
    prepare,
)
from fashion_rq_bench.schema.domain import domain

__all__ = ["POOLS", "chosen_queries", "dense_ranks", "explorer", "pool_scores", "wish_states"]

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

POOLS = ("ranking", "sibling")
_SHOWN_METRICS = tuple(
    (task, MAIN_METRICS[task]) for task in ("ranking", "classification", "sibling")
)


def explorer(
    collection: Collection, board: Board, rankings: Sequence[pa.Table], max_queries: int
) -> dict[str, Any]:
    """Everything the query explorer needs.

    Args:
        collection: the edition's pools.
        board: their results.
        rankings: of each of the board's models, rows of ``schema.RANKINGS``.
        max_queries: how many queries to show; see :func:`chosen_queries`.

    Raises:
        EditionError: a ranking lacks a pair of the edition.
    """
    kept = chosen_queries(_prefixes(collection), max_queries)
    shared = SharedPools()
    queries = _queries(collection, board, rankings, kept, shared)
    return {
        "total": len(collection.pairs.query_ids),
        "attributes": list(domain().names),
        "metrics": [{"task": task, "title": title_of(metric)} for task, metric in _SHOWN_METRICS],
        "queries": queries,
        "pools": shared.pools,
        "products": _products(collection, shared.products),
    }


def _queries(
    collection: Collection,
    board: Board,
    rankings: Sequence[pa.Table],
    kept: Ints,
    shared: SharedPools,
) -> list[dict[str, Any]]:
    """The kept queries with their intents, figures and pools; ``shared`` takes what they show."""
    pairs, judged = collection.pairs, judge(collection)
    pools = {task: prepare(collection, task, rankings) for task in POOLS}
    states, percent = wish_states(judged.matches), _percent(judged.matches.match)
    match = {"states": states, "percent": percent, "rel": _percent(judged.matches.rel)}
    figures, details = _figures(collection, board), _details(collection)
    queries = []
    for row in kept.tolist():
        query_id = pairs.query_ids[row]
        asked = np.flatnonzero(judged.asked[row])
        queries.append(
            {
                "id": query_id,
                "text": pairs.queries[row],
                **details[query_id],
                "asked": asked.tolist(),
                "figures": figures[row],
                "pools": {
                    task: pool_of(one, query_id, asked, match, shared)
                    for task, one in pools.items()
                    if query_id in one.place
                },
            }
        )
    return queries


def chosen_queries(prefixes: Sequence[str], limit: int) -> Ints:
    """Positions of at most ``limit`` queries: every anchor's first, then the second, and so on.

    So every cluster is represented before any is represented twice; the order stays the edition's.
    """
    keys = np.unique(np.asarray(prefixes), return_inverse=True)[1]
    order = np.argsort(keys, kind="stable")
    starts = np.flatnonzero(np.r_[True, np.diff(keys[order]) > 0]) if len(keys) else order
    turn = np.empty(len(keys), dtype=np.int64)
    turn[order] = np.arange(len(keys)) - np.repeat(starts, np.diff(np.r_[starts, len(keys)]))
    found: Ints = np.sort(np.argsort(turn, kind="stable")[:limit])
    return found


def _prefixes(collection: Collection) -> list[str]:
    known = {
        query_id: prefix
        for pools in collection.pools.values()
        for query_id, prefix in zip(pools.query_ids, pools.prefixes, strict=True)
    }
    return [known[query_id] for query_id in collection.pairs.query_ids]


def wish_states(matches: PairMatches) -> NDArray[np.bytes_]:
    """(U, 10) letters: s satisfied, t satisfied by the product's text, f failed, u unknown.

    The rule is :func:`~fashion_rq_bench.relevance.satisfaction.wishes_satisfied`'s.
    """
    reached = matches.match >= np.array(list(wish_thresholds().values()))
    silent = matches.missing | (matches.fallback & ~reached)
    told = np.where(reached, np.where(matches.fallback, b"t", b"s"), b"f")
    return np.where(silent, b"u", told)


def _percent(values: Floats) -> Ints:
    """Hundredths; -1 where undefined."""
    return np.where(np.isnan(values), -1, np.rint(100 * np.nan_to_num(values))).astype(np.int64)


def _figures(collection: Collection, board: Board) -> list[list[list[int | None]]]:
    """Per query, shown metric and model the value in thousandths; None where undefined."""
    place = {query_id: row for row, query_id in enumerate(collection.pairs.query_ids)}
    values = np.full((len(place), len(_SHOWN_METRICS), len(board.models)), np.nan)
    for column, (task, metric) in enumerate(_SHOWN_METRICS):
        if task in board.tasks:
            rows = [place[query_id] for query_id in board.query_ids(task)]
            values[rows, column] = board.measure(task, metric).values.T
    whole = np.rint(1000 * np.nan_to_num(values)).astype(np.int64).astype(object)
    whole[np.isnan(values)] = None
    found: list[list[list[int | None]]] = whole.tolist()
    return found


def _details(collection: Collection) -> dict[str, dict[str, Any]]:
    """Anchor, source and intents of every query, without what is not expressed."""
    table = collection.edition.table("queries", ["query_id", "prefix", "intents", "source"])
    return {
        row["query_id"]: {
            "prefix": "-".join(map(str, row["prefix"] or ())),
            "source": row["source"],
            "intents": [
                {name: value for name, value in reading.items() if value}
                for reading in row["intents"] or ()
            ],
        }
        for row in table.to_pylist()
    }


def _products(collection: Collection, rows: Sequence[int]) -> dict[str, Any]:
    """Products by column; attribute values as codes of the distinct ones, 0 for none."""
    names = dict.fromkeys(
        ["product_id", "title", *(c for one in domain().attributes for c in one.columns)]
    )
    table = collection.edition.table("corpus", list(names)).take(pa.array(rows, pa.int64()))
    values: dict[str, int] = {"": 0}
    found: dict[str, Any] = {
        "id": table["product_id"].to_pylist(),
        "title": [title or "" for title in table["title"].to_pylist()],
    }
    for one in domain().attributes:
        texts = pc.coalesce(*(_text_column(table[name]) for name in one.columns), "").to_pylist()
        found[one.name] = [values.setdefault(text, len(values)) for text in texts]
    return found | {"values": list(values)}


def _text_column(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Values as text, lists joined, empty ones null."""
    if pa.types.is_list(column.type):
        column = pc.binary_join(column, ", ")
    texts = column.cast(pa.string())
    return pc.if_else(pc.equal(texts, ""), pa.scalar(None, pa.string()), texts)
