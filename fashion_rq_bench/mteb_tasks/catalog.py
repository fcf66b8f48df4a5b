"""How the whole-corpus task runs inside mteb.

In:  a model that mteb accepts, but for cross-encoders, and an edition.
Out: the scores of ``full_catalog.py`` under mteb's names.

Every product has a grade for every query, read off the semantic IDs. mteb's ``relevant_docs`` is
therefore a mapping that computes a query's grades when asked for them: written out, they would be
millions of entries.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from datasets import Dataset
from mteb.abstasks.retrieval_dataset_loaders import RetrievalSplitData

from fashion_rq_bench.editions.pools import Collection
from fashion_rq_bench.evaluation.floor import catalog_floor
from fashion_rq_bench.evaluation.task_scores import TaskScores
from fashion_rq_bench.evaluation.whole_catalog import catalog_rankings, grades_of, score_catalog
from fashion_rq_bench.mteb_tasks.base import EditionTask
from fashion_rq_bench.mteb_tasks.retriever_model import is_floor
from fashion_rq_bench.mteb_tasks.search import search_model
from fashion_rq_bench.retrievers.dot_search import DEPTH

__all__ = ["CatalogGrades", "CatalogTask"]


class CatalogGrades(Mapping[str, dict[str, int]]):
    """query id -> product id -> grade 1 to 3 of every product that shares the query's level 1."""

    def __init__(self, collection: Collection) -> None:
        self._collection = collection
        queries = collection.task("ranking").query_ids
        self._row = {query_id: row for row, query_id in enumerate(queries)}

    def __getitem__(self, query_id: str) -> dict[str, int]:
        every = np.arange(len(self._collection.product_ids))
        query = np.full(len(every), self._row[query_id])
        grades = grades_of(self._collection, query, every)
        relevant = np.flatnonzero(grades)
        names = self._collection.product_ids.take(relevant).to_pylist()
        return dict(zip(names, grades[relevant].tolist(), strict=True))

    def __iter__(self) -> Iterator[str]:
        return iter(self._row)

    def __len__(self) -> int:
        return len(self._row)


class CatalogTask(EditionTask):
    """A task over the whole corpus of an edition."""

    k_values = (1, 5, 10, 20, DEPTH)

    def _ask(self, model: Any, encode_kwargs: Mapping[str, Any]) -> Any:
        return search_model(model, self.collection, self.metadata, encode_kwargs)

    def _judge(self, model: Any, answer: Any) -> TaskScores:
        if is_floor(model):
            return catalog_floor(self.collection)
        return score_catalog(self.collection, answer)

    def _predictions(self, answer: Any) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for row in catalog_rankings(self.collection, answer).to_pylist():
            found.setdefault(row["query_id"], {})[row["product_id"]] = row["score"]
        return found

    def _data_split(self) -> RetrievalSplitData:
        collection = self.collection
        queries = collection.task("ranking")
        columns = {"id": collection.product_ids, "text": collection.texts}
        return RetrievalSplitData(
            corpus=Dataset.from_dict({name: one.to_pylist() for name, one in columns.items()}),
            queries=Dataset.from_dict({"id": queries.query_ids, "text": queries.queries}),
            relevant_docs=CatalogGrades(collection),
            top_ranked=None,
        )
