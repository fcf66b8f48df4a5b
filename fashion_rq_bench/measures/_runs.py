"""Runs and judgements as the arrays that the ranking metrics take.

In:  ``run`` and ``qrels`` as nested dicts ``{query_id: {product_id: value}}``, Arrow tables or
     Parquet files with the columns query_id, product_id and score (run) or grade (qrels).
Out: :class:`RunArrays`: Arrow list arrays with one row per query of the qrels.

Joins are made on dictionary-encoded ids; no Python code runs per document.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from fashion_rq_bench.errors import MetricInputError
from fashion_rq_bench.measures._ragged import Array, Ints, offsets_of
from fashion_rq_bench.support.files import read_parquet

__all__ = ["RunArrays", "from_run"]

Source: TypeAlias = Mapping[str, Mapping[str, float]] | pa.Table | str | Path


@dataclass(frozen=True)
class RunArrays:
    """One row per query of the qrels, in the order in which the qrels name them.

    Attributes:
        query_ids: (queries,) strings.
        scores: scores of the retrieved products, list<double>; an empty list where nothing was
            retrieved.
        grades: their grades, 0 where not judged.
        ids: their product ids, list<string>.
        ideal: grades of all judged products of the query.
        missing: queries of the qrels that the run lacks; they count with what nothing scores.
        unjudged: queries of the run that the qrels lack; they are left out.
    """

    query_ids: pa.Array
    scores: pa.ListArray
    grades: pa.ListArray
    ids: pa.ListArray
    ideal: pa.ListArray
    missing: int
    unjudged: int


def from_run(run: Source, qrels: Source) -> RunArrays:
    """Line a run up with its judgements.

    Args:
        run: scores, see the module.
        qrels: grades, see the module; they decide which queries are scored.

    Returns:
        arrays for :func:`fashion_rq_bench.measures.ranking.score` and its siblings:
        ``score(a.scores, a.grades, ids=a.ids, ideal=a.ideal)``.

    Raises:
        MetricInputError: a missing column, a null, no judgements, a pair that occurs twice.
    """
    run_table, judged = _read(run, "run", "score"), _read(qrels, "qrels", "grade")
    if not judged.num_rows:
        raise MetricInputError("qrels is empty.", fix="Give at least one judged product.")
    query_ids, products = pc.unique(judged["query_id"]), pc.unique(judged["product_id"])
    judged_keys, judged_order = _keys(judged, query_ids, products, "qrels")
    judged = judged.take(pa.array(judged_order))
    known = pc.is_in(run_table["query_id"], query_ids)
    scored = run_table.filter(known)
    _keys(scored, query_ids, pc.unique(scored["product_id"]), "run")
    query = _codes(scored["query_id"], query_ids)
    order = np.argsort(query, kind="stable")
    query, scored = query[order], scored.take(pa.array(order))
    offsets = _offsets(query, len(query_ids))
    keys = query * len(products) + _codes(scored["product_id"], products)
    return RunArrays(
        query_ids,
        _lists(offsets, scored["score"]),
        _lists(offsets, _grades(keys, judged_keys, judged["grade"].to_numpy())),
        _lists(offsets, scored["product_id"]),
        _lists(_offsets(judged_keys // len(products), len(query_ids)), judged["grade"]),
        missing=int((np.diff(offsets) == 0).sum()),
        unjudged=len(pc.unique(run_table["query_id"].filter(pc.invert(known)))),
    )


def _codes(values: Any, distinct: pa.Array) -> Ints:
    """Place of each value in ``distinct``; far below 0 for values that are not in it."""
    found = pc.index_in(values, distinct).cast(pa.int64()).fill_null(-(1 << 62))
    codes: Ints = found.to_numpy()
    return codes


def _offsets(rows: Ints, count: int) -> Ints:
    return offsets_of(np.bincount(rows, minlength=count))


def _keys(table: pa.Table, query_ids: pa.Array, products: pa.Array, name: str) -> tuple[Ints, Ints]:
    """Sorted numbers for the (query, product) pairs of a table and the order that sorts them."""
    keys = _codes(table["query_id"], query_ids) * len(products)
    keys += _codes(table["product_id"], products)
    order = np.argsort(keys, kind="stable")
    keys = keys[order]
    same = np.flatnonzero(keys[1:] == keys[:-1])
    if len(same):
        pair = table.slice(int(order[same[0]]), 1).to_pylist()[0]
        raise MetricInputError(
            f"{name} holds a pair of query and product twice.",
            given=f"query {pair['query_id']}, product {pair['product_id']}",
        )
    return keys, order


def _grades(keys: Ints, judged_keys: Ints, grades: Array) -> Array:
    """Grade of each retrieved pair, 0 where it is not judged."""
    at = np.minimum(np.searchsorted(judged_keys, keys), len(judged_keys) - 1)
    return np.where(judged_keys[at] == keys, grades[at], 0)


def _lists(offsets: Ints, values: Any) -> pa.ListArray:
    flat = values.combine_chunks() if isinstance(values, pa.ChunkedArray) else pa.array(values)
    return pa.LargeListArray.from_arrays(pa.array(offsets), flat)


def _read(source: Source, name: str, value: str) -> pa.Table:
    """A table query_id (string), product_id (string), ``value`` without nulls."""
    table = _from_mapping(source, value) if isinstance(source, Mapping) else source
    if isinstance(table, str | Path):
        table = read_parquet(Path(table))
    if not isinstance(table, pa.Table):
        raise MetricInputError(
            f"{name} must be nested dicts, an Arrow table or a Parquet file.",
            given=type(source).__name__,
        )
    columns = ("query_id", "product_id", value)
    for column in columns:
        if column not in table.column_names:
            raise MetricInputError(
                f"{name} lacks the column {column!r}.", given=table.column_names, allowed=columns
            )
        if table[column].null_count:
            raise MetricInputError(f"{name} has nulls in the column {column!r}.")
    text = [table[column].cast(pa.string()) for column in columns[:2]]
    return pa.table([*text, table[value]], names=list(columns))


def _from_mapping(source: Mapping[str, Mapping[str, float]], value: str) -> pa.Table:
    sizes = np.fromiter(map(len, source.values()), np.int64, len(source))
    queries = pa.array(list(source), pa.string()).take(
        pa.array(np.repeat(np.arange(len(source)), sizes))
    )
    products = pa.array(list(chain.from_iterable(source.values())), pa.string())
    values = pa.array(list(chain.from_iterable(row.values() for row in source.values())))
    return pa.table([queries, products, values], names=["query_id", "product_id", value])
