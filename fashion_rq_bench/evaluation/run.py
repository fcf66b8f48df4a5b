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
from typing import Any

import pyarrow as pa

import fashion_rq_bench.evaluation.price_forecast as forecast
import fashion_rq_bench.evaluation.results as results
from fashion_rq_bench._version import __version__
from fashion_rq_bench.editions.edition import Edition, in_its_domain
from fashion_rq_bench.editions.pools import Collection
from fashion_rq_bench.encoders.encoding import EncoderConfig, model_errors
from fashion_rq_bench.errors import ConfigError
from fashion_rq_bench.evaluation.answers import pair_scores, search_catalog
from fashion_rq_bench.evaluation.floor import catalog_floor, floor_scores
from fashion_rq_bench.evaluation.home import at_home, embedder
from fashion_rq_bench.evaluation.outcome import FLOOR, REFERENCE, EvaluationResult, ModelRun
from fashion_rq_bench.evaluation.results import RunKey
from fashion_rq_bench.evaluation.task_scores import SCORING_VERSION, TaskScores, score_task
from fashion_rq_bench.evaluation.whole_catalog import RETRIEVAL, catalog_rankings, score_catalog
from fashion_rq_bench.retrievers.base import Found, Retriever, Scores, why_no_search
from fashion_rq_bench.retrievers.registry import resolve
from fashion_rq_bench.schema.tables import TASK_CONFIGS
from fashion_rq_bench.support.files import digest
from fashion_rq_bench.support.metering import Cost, load_record, metering, store_record

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

_ADDED = (FLOOR, REFERENCE)


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
) -> dict[str, forecast.Price]:
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
            prices[retriever.name] = forecast.price_run(
                retriever, collection, full_catalog=full_catalog
            )
        key = RunKey(opened.id, retriever.name, model_id(retriever))
        store_record(prices[retriever.name], forecast.record_path(folder, "prices", key))
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
        table, costs = results.load(folder, key), forecast.record_path(folder, "costs", key)
        if table is not None:
            return _Finished(table, True, load_record(Cost, costs))
        with metering() as meter:
            answer = ask()
        cost = Cost.of(meter)
        cost = replace(cost, predicted_seconds=forecast.predicted_seconds(folder, key, cost))
        store_record(cost, costs)
        return _Finished(results.store(folder, key, *judge(answer)), False, cost)

    def _judge_pools(self, key: RunKey, scores: Scores) -> tuple[pa.Table, dict[str, TaskScores]]:
        judge = floor_scores if key.model == FLOOR else score_task
        tasks = {task: judge(self.collection, task, scores) for task in self.collection.pools}
        return results.rankings_table(key, self.collection, scores), tasks

    def _judge_catalog(self, key: RunKey, found: Found) -> tuple[pa.Table, dict[str, TaskScores]]:
        floor = key.model == FLOOR
        scores = catalog_floor(self.collection) if floor else score_catalog(self.collection, found)
        rankings = results.with_key(key, RETRIEVAL, catalog_rankings(self.collection, found))
        return rankings, {RETRIEVAL: scores}


@dataclass(frozen=True, eq=False)
class _Finished:
    """A run's results, whether they were there before, and their cost."""

    table: pa.Table
    reused: bool
    cost: Cost | None


def _model_run(
    key: RunKey, edition: Edition, pools: _Finished, catalog: _Finished | None, skipped: str
) -> ModelRun:
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
            for task, scores in results.task_scores_of(table).items()
        },
        cost=pools.cost,
        catalog_cost=None if catalog is None else catalog.cost,
        skipped=skipped,
    )
