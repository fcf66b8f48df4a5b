"""Results on disk: one row per query and metric, and the scores they were computed from.

In:  ``task_scores.TaskScores`` and pair scores of one model on one edition.
Out: a file ``results/KEY.parquet`` (``schema.RESULTS``) and ``rankings/KEY.parquet``
     (``schema.RANKINGS``). A folder of such files is one data set, from which every table, interval
     and plot is computed. The results file is written last: where it is, the model is finished.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from fashion_rq_bench.editions.pools import Collection
from fashion_rq_bench.evaluation.task_scores import TaskScores
from fashion_rq_bench.retrievers.base import Scores
from fashion_rq_bench.schema.tables import RANKINGS, RESULTS
from fashion_rq_bench.support.files import read_parquet, write_parquet

__all__ = [
    "RunKey",
    "load",
    "rankings_table",
    "results_table",
    "store",
    "task_scores_of",
    "with_key",
]


@dataclass(frozen=True)
class RunKey:
    """One model on one edition.

    Attributes:
        edition_id: the edition's.
        model: the name shown.
        model_id: hash of everything that decides the model's scores.
    """

    edition_id: str
    model: str
    model_id: str

    @property
    def file(self) -> str:
        """Name of the run's files: readable, and unique by edition and model id."""
        return f"{self.stem}.parquet"

    @property
    def stem(self) -> str:
        """The same without its ending, for what is kept beside: costs and prices."""
        slug = re.sub(r"[^A-Za-z0-9.]+", "-", self.model).strip("-.")[-60:]
        return f"{slug}-{self.edition_id[:12]}-{self.model_id[:12]}"


def results_table(key: RunKey, scores: Mapping[str, TaskScores]) -> pa.Table:
    """Rows of ``schema.RESULTS``: by task, metric, then query (or paraphrase group)."""
    parts = [
        _rows(key, task, units.ids, units.prefixes, metric, values)
        for task, one in scores.items()
        for units in (one.queries, one.groups)
        for metric, values in units.values.items()
    ]
    return pa.concat_tables(parts).combine_chunks()


def _rows(
    key: RunKey, task: str, ids: list[str], prefixes: list[str], metric: str, values: Scores
) -> pa.Table:
    count = len(ids)
    columns = _named(key, task, count) | {
        "query_id": pa.array(ids, pa.string()),
        "prefix": pa.array(prefixes, pa.string()),
        "metric": pa.repeat(metric, count),
        "value": pa.array(values, pa.float64()),
    }
    return pa.table(columns, schema=RESULTS)


def _named(key: RunKey, task: str, count: int) -> dict[str, pa.Array]:
    return {
        "edition_id": pa.repeat(key.edition_id, count),
        "model": pa.repeat(key.model, count),
        "model_id": pa.repeat(key.model_id, count),
        "task": pa.repeat(task, count),
    }


def rankings_table(key: RunKey, collection: Collection, scores: Scores) -> pa.Table:
    """Rows of ``schema.RANKINGS``: by task, query, then falling score, then product id.

    Args:
        key: model and edition.
        collection: its pools.
        scores: (U,) scores of the collection's pairs.
    """
    parts = []
    for task, pools in collection.pools.items():
        values = scores[collection.pairs.rows[task]]
        products = collection.product_ids.take(pa.array(pools.product_index))
        by_id = pc.rank(products, tiebreaker="dense").to_numpy()
        order = np.lexsort((by_id, -values, pools.query_index))
        columns = {
            "query_id": pa.array(pools.query_ids, pa.string()).take(
                pa.array(pools.query_index[order])
            ),
            "product_id": products.take(pa.array(order)),
            "score": pa.array(values[order], pa.float64()),
        }
        parts.append(with_key(key, task, pa.table(columns)))
    return pa.concat_tables(parts).combine_chunks()


def with_key(key: RunKey, task: str, table: pa.Table) -> pa.Table:
    """Rows of ``schema.RANKINGS`` from ``query_id``, ``product_id`` and ``score`` of one task."""
    columns = _named(key, task, len(table))
    columns |= {name: table[name] for name in table.column_names}
    return pa.table(columns, schema=RANKINGS)


def store(
    folder: Path, key: RunKey, rankings: pa.Table, tasks: Mapping[str, TaskScores]
) -> pa.Table:
    """Write a run's two files, the results last; returns the results."""
    results = results_table(key, tasks)
    write_parquet(rankings, folder / "rankings" / key.file)
    write_parquet(results, folder / "results" / key.file)
    return results


def load(folder: Path, key: RunKey) -> pa.Table | None:
    """A finished run's results; None if there is none, or its file cannot be used."""
    path = folder / "results" / key.file
    if not path.is_file() or not (folder / "rankings" / key.file).is_file():
        return None
    try:
        table = read_parquet(path)
    except (OSError, pa.ArrowException):
        return None
    return table if table.schema.equals(RESULTS) else None


def task_scores_of(table: pa.Table) -> dict[str, TaskScores]:
    """The per-query values that :func:`results_table` wrote, by task."""
    return {
        str(task): TaskScores.from_rows(str(task), table.filter(pc.equal(table["task"], task)))
        for task in pc.unique(table["task"]).to_pylist()
    }
