"""How an edition's task runs inside mteb.

In:  a model that mteb accepts, and an edition.
Out: the scores of ``scoring.py`` under mteb's names (``ndcg_at_10``), so that ``mteb.evaluate`` and
     ``fashion-rq evaluate`` agree to the last digit.

mteb caches a score under model and task name alone. Here the edition's id is the data set's
revision and part of the subset's name, so that no edition is ever answered with another's score.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from datasets import Dataset
from mteb.abstasks import AbsTaskRetrieval
from mteb.abstasks.retrieval_dataset_loaders import RetrievalSplitData
from mteb.abstasks.task_metadata import TaskMetadata
from mteb.timing import TimingStack
from numpy.typing import NDArray

from fashion_rq_bench.editions.edition import MANIFEST, Edition, locate
from fashion_rq_bench.editions.pools import Collection, Pools
from fashion_rq_bench.errors import EditionError
from fashion_rq_bench.evaluation.floor import floor_scores
from fashion_rq_bench.evaluation.task_scores import TaskScores, score_task
from fashion_rq_bench.mteb_tasks.retriever_model import is_floor
from fashion_rq_bench.mteb_tasks.search import score_model
from fashion_rq_bench.schema.tables import NAME, SPLIT

__all__ = ["EditionTask", "TaskBinding"]


@lru_cache(maxsize=8)
def _open(path: Path, changed: int) -> Edition:
    return Edition.open(path)


@lru_cache(maxsize=2)
def _collection(edition_id: str, path: Path) -> Collection:
    return Collection.read(Edition.open(path))


class TaskBinding:
    """A task's metadata: as declared on the class, bound to the edition on an instance."""

    def __init__(self, declared: TaskMetadata) -> None:
        self.declared = declared

    def __get__(self, task: EditionTask | None, owner: type[EditionTask]) -> TaskMetadata:
        """The declared metadata, with revision and subset of the instance's edition."""
        if task is None:
            return self.declared
        try:
            edition = task.edition
        except EditionError:  # listing tasks must work where no edition is at hand
            return self.declared
        return self.declared.model_copy(
            update={
                "dataset": {**self.declared.dataset, "revision": edition.id},
                "eval_langs": {_subset(edition): self.declared.eval_langs},
            }
        )


def _subset(edition: Edition) -> str:
    return f"{edition.name}-{edition.id[:12]}"


class EditionTask(AbsTaskRetrieval):
    """A task over the fixed pools of an edition.

    Args:
        edition: path or name of an edition; what "fashion-rq-bench" stands for if None.
        seed: mteb's; nothing here is random.
    """

    version: ClassVar[str]
    config: ClassVar[str]
    k_values = (1, 3, 5, 10, 15)
    abstask_prompt = "Given a shopping query, retrieve matching fashion products"

    def __init__(self, edition: str | Path | None = None, seed: int = 42, **kwargs: Any) -> None:
        self._source = edition
        self._loaded: Edition | None = None
        super().__init__(seed=seed, **kwargs)

    @property
    def edition(self) -> Edition:
        """The edition: the loaded one, else the one its source stands for now."""
        if self._loaded is not None:
            return self._loaded
        folder = locate(self._source or NAME)
        manifest = folder / MANIFEST
        changed = manifest.stat().st_mtime_ns if manifest.is_file() else 0
        return _open(folder.resolve(), changed)

    @property
    def hf_subsets(self) -> list[str]:
        """One subset, named after the edition and its id."""
        return list(self.metadata.hf_subsets)

    @hf_subsets.setter
    def hf_subsets(self, value: object) -> None:
        """mteb assigns what it read from the metadata; the edition decides."""

    @property
    def collection(self) -> Collection:
        """Corpus and pools, shared by the tasks of an edition."""
        edition = self.edition
        return _collection(edition.id, edition.path)

    def load_data(
        self, num_proc: int | None = None, *, timer: TimingStack | None = None, **kwargs: Any
    ) -> None:
        """Read the edition's pools in mteb's form.

        Raises:
            EditionError: the edition is missing, damaged or of another schema version.
        """
        if self.data_loaded:
            return
        with (timer or TimingStack())("Data loading"):
            edition = self.edition
            self.dataset = {_subset(edition): {SPLIT: self._data_split()}}
            self._loaded = edition
        self.data_loaded = True

    def unload_data(self) -> None:
        """Forget the data; the next run opens the edition again."""
        super().unload_data()
        self._loaded = None

    def _evaluate_subset(
        self,
        model: Any,
        data_split: Any,
        *,
        encode_kwargs: Any,
        hf_split: str,
        hf_subset: str,
        prediction_folder: Path | None = None,
        num_proc: int | None = None,
        timer: TimingStack,
        **kwargs: Any,
    ) -> dict[str, float]:
        """Score a model (mteb calls this)."""
        with timer("Scoring pairs", split=hf_split, subset=hf_subset):
            answer = self._ask(model, encode_kwargs)
        if prediction_folder is not None:
            results = self._predictions(answer)
            self._save_task_predictions(results, model, prediction_folder, hf_split, hf_subset)
        with timer("Scoring", split=hf_split, subset=hf_subset):
            means = self._judge(model, answer).means()
        # mteb writes plain JSON: what no query defines is left out there.
        return {name.replace("@", "_at_"): one.value for name, one in means.items() if one.n}

    def _ask(self, model: Any, encode_kwargs: Mapping[str, Any]) -> Any:
        """What the model makes of the pools: (U,) scores of the collection's pairs."""
        return score_model(model, self.collection, self.metadata, encode_kwargs)

    def _judge(self, model: Any, answer: Any) -> TaskScores:
        """Every metric of the task."""
        judge = floor_scores if is_floor(model) else score_task
        return judge(self.collection, self.config, answer)

    def _predictions(self, answer: Any) -> dict[str, Any]:
        """query id -> product id -> score."""
        pools = self.collection.task(self.config)
        values = answer[self.collection.pairs.rows[self.config]]
        return _by_query(self.collection, pools, values)

    def _data_split(self) -> RetrievalSplitData:
        """Corpus, queries, grades and pools in mteb's form."""
        return _split(self.collection, self.config)

    def _save_task_predictions(
        self,
        predictions: Mapping[str, Any] | list[Any],
        model: Any,
        prediction_folder: Path,
        hf_split: str,
        hf_subset: str,
    ) -> None:
        """As mteb's, except that another model's file is replaced, not continued in its name."""
        path = self._predictions_path(prediction_folder)
        meta = model.mteb_model_meta
        owner = {"model_name": meta.name, "revision": meta.revision}
        if path.exists() and json.loads(path.read_text("utf-8"))["mteb_model_meta"] != owner:
            path.unlink()
        super()._save_task_predictions(predictions, model, prediction_folder, hf_split, hf_subset)


def _by_query(collection: Collection, pools: Pools, values: NDArray[Any]) -> dict[str, Any]:
    """query id -> product id -> value, as mteb keeps grades and predictions."""
    names = collection.product_ids.take(pools.product_index).to_pylist()
    rows = zip(pools.query_ids, pools.offsets[:-1], pools.offsets[1:], strict=True)
    plain = values.tolist()
    return {q: dict(zip(names[a:b], plain[a:b], strict=True)) for q, a, b in rows}


def _split(collection: Collection, config: str) -> RetrievalSplitData:
    pools = collection.task(config)
    used = np.unique(pools.product_index)
    grades = _by_query(collection, pools, pools.grades)
    return RetrievalSplitData(
        corpus=Dataset.from_dict(
            {
                "id": collection.product_ids.take(used).to_pylist(),
                "text": collection.texts.take(used).to_pylist(),
            }
        ),
        queries=Dataset.from_dict({"id": pools.query_ids, "text": pools.queries}),
        relevant_docs=grades,
        top_ranked={query_id: list(pool) for query_id, pool in grades.items()},
    )
