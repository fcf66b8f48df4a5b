"""Scoring retrievers on an edition's four tasks (paper, section 5).

In:  names of retrievers, an edition, a folder.
Out: per-query results and rankings as Parquet (``results.py``), what each run cost (``cost.py``),
     and an :class:`EvaluationResult` that prints as a table like the paper's Table 2, with a random
     floor and the attribute oracle. With ``full_catalog`` the same of the whole-corpus task, in a
     folder of its own.

A finished model is not scored again: its files are named by edition id and model id. A model that
fails leaves the others' files as they are.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from fashion_rq_bench import __version__
from fashion_rq_bench.editions.edition import Edition, in_its_domain
from fashion_rq_bench.editions.pools import Collection
from fashion_rq_bench.encoders.encoding import EncoderConfig, model_errors
from fashion_rq_bench.errors import ConfigError, ModelError
from fashion_rq_bench.evaluation.floor import catalog_floor, floor_scores
from fashion_rq_bench.evaluation.price_forecast import (
    Price,
    predicted_seconds,
    price_run,
    record_path,
)
from fashion_rq_bench.evaluation.results import (
    RunKey,
    load,
    rankings_table,
    store,
    task_scores_of,
    with_key,
)
from fashion_rq_bench.evaluation.task_scores import SCORING_VERSION, TaskScores, score_task
from fashion_rq_bench.evaluation.whole_catalog import (
    RETRIEVAL,
    catalog_rankings,
    queries_of,
    score_catalog,
)
from fashion_rq_bench.measures.ranking import Mean
from fashion_rq_bench.retrievers.base import (
    Found,
    Retriever,
    Scores,
    SearchesCorpus,
    why_no_search,
)
from fashion_rq_bench.retrievers.dot_search import DEPTH, checked
from fashion_rq_bench.retrievers.registry import resolve
from fashion_rq_bench.schema.tables import TASK_CONFIGS
from fashion_rq_bench.support.files import digest
from fashion_rq_bench.support.metering import Cost, load_record, metering, store_record

if TYPE_CHECKING:
    from rich.table import Table

__all__ = [
    "FLOOR",
    "REFERENCE",
    "EvaluationResult",
    "ModelRun",
    "evaluate",
    "model_id",
    "pair_scores",
    "price",
    "search_catalog",
]

FLOOR = "random"
REFERENCE = "oracle"
_ADDED = (FLOOR, REFERENCE)


@dataclass(frozen=True)
class ModelRun:
    """One scored retriever.

    Attributes:
        key: edition, name and model id.
        role: "model", "floor" or "reference".
        at_home: the edition's hierarchy was built from this very encoder.
        reused: its results were already there.
        means: task to metric to mean, with the number of queries and of undefined ones; the
            whole-corpus task, where it was asked for and the model can, is "retrieval".
        cost: of scoring the pools; None where its record is gone.
        catalog_cost: of searching the whole corpus.
        skipped: why the whole corpus was not searched, or "".
    """

    key: RunKey
    role: str
    at_home: bool
    reused: bool
    means: dict[str, dict[str, Mean]]
    cost: Cost | None = None
    catalog_cost: Cost | None = None
    skipped: str = ""


@dataclass(frozen=True)
class EvaluationResult:
    """What an evaluation found.

    Attributes:
        edition_id, edition_name: of the edition; results of different ids are not comparable.
        tasks: the tasks asked for.
        folder: where the Parquet files are.
        runs: models in the order given, then the floor and the reference.
    """

    edition_id: str
    edition_name: str
    tasks: tuple[str, ...]
    folder: Path
    runs: tuple[ModelRun, ...]

    def table(self, *, consistent: bool = False) -> Table:
        """A table like the paper's Table 2, for the terminal; or of the consistent form."""
        from fashion_rq_bench.evaluation.score_table import evaluation_table

        return evaluation_table(self, consistent=consistent)

    def catalog_table(self) -> Table:
        """The whole-corpus task of the models that searched it."""
        from fashion_rq_bench.evaluation.run_tables import catalog_table

        return catalog_table(self)

    def cost_table(self) -> Table:
        """What each model's run cost, and what had been predicted."""
        from fashion_rq_bench.evaluation.run_tables import cost_table

        return cost_table(self)

    def to_dict(self) -> dict[str, Any]:
        """Everything but the per-query values, JSON-able; an undefined mean is NaN with n = 0."""
        return {
            "edition": {"id": self.edition_id, "name": self.edition_name},
            "results": str(self.folder),
            "models": [_as_dict(run, self.tasks) for run in self.runs],
        }


def _as_dict(run: ModelRun, tasks: Sequence[str]) -> dict[str, Any]:
    return {
        "model": run.key.model,
        "model_id": run.key.model_id,
        "role": run.role,
        "at_home": run.at_home,
        "reused": run.reused,
        "skipped": run.skipped,
        "cost": None if run.cost is None else vars(run.cost),
        "catalog_cost": None if run.catalog_cost is None else vars(run.catalog_cost),
        "scores": {
            task: {
                metric: {"mean": one.value, "n": one.n, "undefined": one.undefined}
                for metric, one in run.means[task].items()
            }
            for task in (*tasks, RETRIEVAL)
            if task in run.means
        },
    }


def evaluate(
    models: Sequence[str],
    edition: Edition | str | Path,
    *,
    out: Path,
    tasks: Sequence[str] | None = None,
    config: EncoderConfig | None = None,
    full_catalog: bool = False,
    report: Callable[[str], None] | None = None,
) -> EvaluationResult:
    """Score retrievers on an edition.

    Args:
        models: names, see ``retrievers.registry.resolve``; the floor and the reference are added.
        edition: an open edition, or its path or name.
        out: folder for ``results/``, ``rankings/``, ``costs/`` and ``vectors/``; made if absent.
        tasks: which of ``schema.TASK_CONFIGS`` to report; all if None. All are scored, since they
            share their pairs.
        config: how encoders are run.
        full_catalog: also rank the whole corpus for each of T1's queries, by the models that can;
            those files go to ``full-catalog/``.
        report: called with a retriever's name before it is scored.

    Raises:
        ConfigError: an unknown model or task; nothing is scored.
        EditionError: the edition is missing or damaged.
        ModelError: a model failed; the finished ones' files stay.
    """
    wanted = _check_tasks(tasks)
    retrievers = _resolve_all(models, out / "vectors", config)
    opened = edition if isinstance(edition, Edition) else Edition.open(edition)
    session = _Session(opened, out)
    runs = []
    for retriever in retrievers:
        if report:
            report(retriever.name)
        runs.append(session.run(retriever, full_catalog))
    return EvaluationResult(opened.id, opened.name, wanted, out, tuple(runs))


def price(
    models: Sequence[str],
    edition: Edition | str | Path,
    *,
    out: Path,
    config: EncoderConfig | None = None,
    full_catalog: bool = False,
) -> dict[str, Price]:
    """What evaluating models would cost, from a slice of the pools; nothing is scored for good.

    The price is that of a run without vectors on disk. It is kept in ``prices/``, and the run that
    follows says how close it came.

    Args:
        models, edition, out, config: see :func:`evaluate`.
        full_catalog: price the search of the whole corpus instead of the pools.

    Returns:
        A price by model; models that do not search are left out where that is asked.

    Raises:
        As :func:`evaluate`.
    """
    retrievers = [one for one in _resolve_all(models, None, config) if one.name not in _ADDED]
    opened = edition if isinstance(edition, Edition) else Edition.open(edition)
    collection, prices = Collection.read(opened), {}
    folder = out / "full-catalog" if full_catalog else out
    for retriever in retrievers:
        if full_catalog and why_no_search(retriever):
            continue
        with model_errors(retriever.name, "scoring a slice"):
            prices[retriever.name] = price_run(retriever, collection, full_catalog=full_catalog)
        key = RunKey(opened.id, retriever.name, model_id(retriever))
        store_record(prices[retriever.name], record_path(folder, "prices", key))
    return prices


def model_id(retriever: Retriever) -> str:
    """Hash of a retriever's identity, of the scoring's version and of ours (16 hex digits)."""
    return digest(retriever.identity, SCORING_VERSION, __version__)[:16]


def _check_tasks(tasks: Sequence[str] | None) -> tuple[str, ...]:
    for task in tasks or ():
        if task not in TASK_CONFIGS:
            raise ConfigError("There is no such task.", given=task, allowed=TASK_CONFIGS)
    return tuple(task for task in TASK_CONFIGS if tasks is None or not tasks or task in tasks)


def _resolve_all(
    models: Sequence[str], cache: Path | None, config: EncoderConfig | None
) -> list[Retriever]:
    if not models:
        raise ConfigError("No model was named.", fix="Try: fashion-rq evaluate bm25 lsa minilm")
    names = [*(name for name in models if name not in _ADDED), *_ADDED]
    return [resolve(name, cache=cache, config=config) for name in dict.fromkeys(names)]


@dataclass(frozen=True, eq=False)
class _Session:
    """One edition and one folder of results; the pools are read when first needed."""

    edition: Edition
    out: Path

    @cached_property
    def collection(self) -> Collection:
        return Collection.read(self.edition)

    @in_its_domain
    def run(self, retriever: Retriever, full_catalog: bool) -> ModelRun:
        key = RunKey(self.edition.id, retriever.name, model_id(retriever))
        pools = self._finish(
            self.out,
            key,
            lambda: pair_scores(retriever, self.collection),
            lambda scores: self._judge_pools(key, scores),
        )
        skipped = (why_no_search(retriever) or "") if full_catalog else ""
        catalog = None
        if full_catalog and not skipped:
            catalog = self._finish(
                self.out / "full-catalog",
                key,
                lambda: search_catalog(retriever, self.collection),
                lambda found: self._judge_catalog(key, found),
            )
        return _model_run(key, self.edition, pools, catalog, skipped)

    def _finish(
        self,
        folder: Path,
        key: RunKey,
        ask: Callable[[], Any],
        judge: Callable[[Any], tuple[pa.Table, dict[str, TaskScores]]],
    ) -> _Finished:
        """A finished run as it lies there; else ask the model, judge the answer and keep both."""
        table, costs = load(folder, key), record_path(folder, "costs", key)
        if table is not None:
            return _Finished(table, True, load_record(Cost, costs))
        with metering() as meter:
            answer = ask()
        cost = Cost.of(meter)
        cost = replace(cost, predicted_seconds=predicted_seconds(folder, key, cost))
        store_record(cost, costs)
        return _Finished(store(folder, key, *judge(answer)), False, cost)

    def _judge_pools(self, key: RunKey, scores: Scores) -> tuple[pa.Table, dict[str, TaskScores]]:
        judge = floor_scores if key.model == FLOOR else score_task
        tasks = {task: judge(self.collection, task, scores) for task in self.collection.pools}
        return rankings_table(key, self.collection, scores), tasks

    def _judge_catalog(self, key: RunKey, found: Found) -> tuple[pa.Table, dict[str, TaskScores]]:
        floor = key.model == FLOOR
        scores = catalog_floor(self.collection) if floor else score_catalog(self.collection, found)
        rankings = with_key(key, RETRIEVAL, catalog_rankings(self.collection, found))
        return rankings, {RETRIEVAL: scores}


@dataclass(frozen=True, eq=False)
class _Finished:
    """A run's results, whether they were there before, and their cost."""

    table: pa.Table
    reused: bool
    cost: Cost | None


def pair_scores(retriever: Retriever, collection: Collection) -> Scores:
    """A retriever's score of every pair of a collection, shape (U,), checked.

    Raises:
        ModelError: the retriever failed, or its scores are not finite or not one per pair.
    """
    with model_errors(retriever.name, "scoring"):
        scores = np.asarray(retriever.score(collection), dtype=np.float64)
    expected = (len(collection.pairs.query_index),)
    if scores.shape != expected:
        raise ModelError(
            f"{retriever.name} must score every pair once.", given=scores.shape, allowed=[expected]
        )
    bad = int((~np.isfinite(scores)).sum())
    if bad:
        raise ModelError(
            f"{retriever.name} gave {bad} of {len(scores)} pairs a score that is not finite.",
            fix="Rankings need finite scores; check the model's vectors.",
        )
    return scores


def search_catalog(retriever: Retriever, collection: Collection) -> Found:
    """The best 100 products of the whole corpus for each of T1's queries, in T1's order, checked.

    Raises:
        ConfigError: the retriever cannot search.
        ModelError: it failed, or what it found cannot be used.
    """
    if not isinstance(retriever, SearchesCorpus):
        raise ConfigError(str(why_no_search(retriever)))
    with model_errors(retriever.name, "searching the whole corpus"):
        found = retriever.search(collection, DEPTH)
    queries, products = len(collection.pairs.query_ids), len(collection.product_ids)
    rows = queries_of(collection)
    found = checked(found, queries, products, retriever.name)
    return Found(found.scores[rows], found.product_index[rows])


def _model_run(
    key: RunKey, edition: Edition, pools: _Finished, catalog: _Finished | None, skipped: str
) -> ModelRun:
    from fashion_rq_bench.report.board.board import at_home, embedder

    roles = {FLOOR: "floor", REFERENCE: "reference"}
    tables = [pools.table] if catalog is None else [pools.table, catalog.table]
    return ModelRun(
        key=key,
        role=roles.get(key.model, "model"),
        at_home=at_home(key.model, embedder(edition)),
        reused=pools.reused and (catalog is None or catalog.reused),
        means={
            task: scores.means()
            for table in tables
            for task, scores in task_scores_of(table).items()
        },
        cost=pools.cost,
        catalog_cost=None if catalog is None else catalog.cost,
        skipped=skipped,
    )
