"""Scoring retrievers on an edition's four tasks (paper, section 5).

In:  names of retrievers, an edition, a folder.
Out: per-query results and rankings as Parquet (``results.py``), and an :class:`EvaluationResult`
     that prints as a table like the paper's Table 2, with a random floor and the attribute oracle.

A finished model is not scored again: its files are named by edition id and model id. A model that
fails leaves the others' files as they are.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from fashion_rq_bench import __version__
from fashion_rq_bench._io import digest
from fashion_rq_bench.edition import Edition
from fashion_rq_bench.errors import ConfigError, ModelError
from fashion_rq_bench.pools import Collection
from fashion_rq_bench.ranking import Mean
from fashion_rq_bench.results import RunKey, load, store, task_scores_of
from fashion_rq_bench.retrievers.base import Retriever, Scores
from fashion_rq_bench.retrievers.encoders import EncoderConfig
from fashion_rq_bench.retrievers.registry import resolve
from fashion_rq_bench.schema import TASK_CONFIGS
from fashion_rq_bench.scoring import SCORING_VERSION, score_task

if TYPE_CHECKING:
    from rich.table import Table

__all__ = ["FLOOR", "REFERENCE", "EvaluationResult", "ModelRun", "evaluate", "model_id"]

FLOOR = "random"
REFERENCE = "oracle"


@dataclass(frozen=True)
class ModelRun:
    """One scored retriever.

    Attributes:
        key: edition, name and model id.
        role: "model", "floor" or "reference".
        at_home: the edition's hierarchy was built from this very encoder.
        reused: its results were already there.
        means: task to metric to mean, with the number of queries and of undefined ones.
    """

    key: RunKey
    role: str
    at_home: bool
    reused: bool
    means: dict[str, dict[str, Mean]]


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
        from fashion_rq_bench.report.tables import evaluation_table

        return evaluation_table(self, consistent=consistent)

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
        "scores": {
            task: {
                metric: {"mean": one.value, "n": one.n, "undefined": one.undefined}
                for metric, one in run.means[task].items()
            }
            for task in tasks
        },
    }


def evaluate(
    models: Sequence[str],
    edition: Edition | str | Path,
    *,
    out: Path,
    tasks: Sequence[str] | None = None,
    config: EncoderConfig | None = None,
) -> EvaluationResult:
    """Score retrievers on an edition.

    Args:
        models: names, see ``retrievers.registry.resolve``; the floor and the reference are added.
        edition: an open edition, or its path or name.
        out: folder for ``results/``, ``rankings/`` and ``vectors/``; made if absent.
        tasks: which of ``schema.TASK_CONFIGS`` to report; all if None. All are scored, since they
            share their pairs.
        config: how dense encoders are run.

    Raises:
        ConfigError: an unknown model or task; nothing is scored.
        EditionError: the edition is missing or damaged.
        ModelError: a model failed; the finished ones' files stay.
    """
    wanted = _check_tasks(tasks)
    retrievers = _resolve_all(models, out / "vectors", config)
    opened = edition if isinstance(edition, Edition) else Edition.open(edition)
    collection: Collection | None = None
    runs = []
    for retriever in retrievers:
        key = RunKey(opened.id, retriever.name, model_id(retriever))
        table = load(out, key)
        reused = table is not None
        if table is None:
            collection = collection or Collection.read(opened)
            table = _run(retriever, key, collection, out)
        runs.append(_model_run(key, table, reused, opened))
    return EvaluationResult(opened.id, opened.name, wanted, out, tuple(runs))


def model_id(retriever: Retriever) -> str:
    """Hash of a retriever's identity, of the scoring's version and of ours (16 hex digits)."""
    return digest(retriever.identity, SCORING_VERSION, __version__)[:16]


def _check_tasks(tasks: Sequence[str] | None) -> tuple[str, ...]:
    for task in tasks or ():
        if task not in TASK_CONFIGS:
            raise ConfigError("There is no such task.", given=task, allowed=TASK_CONFIGS)
    return tuple(task for task in TASK_CONFIGS if tasks is None or not tasks or task in tasks)


def _resolve_all(
    models: Sequence[str], cache: Path, config: EncoderConfig | None
) -> list[Retriever]:
    if not models:
        raise ConfigError("No model was named.", fix="Try: fashion-rq evaluate bm25 lsa minilm")
    names = [*(name for name in models if name not in (FLOOR, REFERENCE)), FLOOR, REFERENCE]
    return [resolve(name, cache=cache, config=config) for name in dict.fromkeys(names)]


def _run(retriever: Retriever, key: RunKey, collection: Collection, out: Path) -> pa.Table:
    scores = _scores(retriever, collection)
    tasks = {task: score_task(collection, task, scores) for task in collection.pools}
    return store(out, key, collection, scores, tasks)


def _scores(retriever: Retriever, collection: Collection) -> Scores:
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


def _model_run(key: RunKey, table: pa.Table, reused: bool, edition: Edition) -> ModelRun:
    roles = {FLOOR: "floor", REFERENCE: "reference"}
    return ModelRun(
        key=key,
        role=roles.get(key.model, "model"),
        at_home=_at_home(key.model, edition),
        reused=reused,
        means={task: scores.means() for task, scores in task_scores_of(table).items()},
    )


def _at_home(name: str, edition: Edition) -> bool:
    """Whether the encoder that the edition's semantic IDs were learnt from is this model."""
    embedding = edition.manifest.get("config", {}).get("embedding", {})
    return bool(embedding) and _short(str(embedding.get("encoder"))) == _short(name)


def _short(name: str) -> str:
    return {"sentence-transformers/all-MiniLM-L6-v2": "minilm"}.get(name, name)
