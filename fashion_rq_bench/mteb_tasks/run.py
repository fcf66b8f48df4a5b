"""``fashion-rq mteb run``: any of our retrievers through ``mteb.evaluate``.

In:  a retriever's name, an edition, tasks.
Out: mteb's own result files under the retriever's identity, and the same figures as
     ``fashion-rq evaluate``.

mteb rounds scores to six digits when it writes them, so that a rerun would say something else than
the run; here they are kept whole. A task that is finished is not run again, and one that fails
leaves the finished ones.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import mteb
from mteb.models.model_meta import ModelMeta
from mteb.results import TaskResult

from fashion_rq_bench.editions.edition import Edition
from fashion_rq_bench.encoders.encoding import EncoderConfig
from fashion_rq_bench.errors import ConfigError
from fashion_rq_bench.mteb_tasks.retriever_model import RetrieverModel
from fashion_rq_bench.mteb_tasks.tasks import ALL_TASKS, TASKS, FashionRQRetrieval
from fashion_rq_bench.retrievers.base import Retriever, why_no_search
from fashion_rq_bench.retrievers.registry import resolve
from fashion_rq_bench.schema.tables import NAME, SPLIT
from fashion_rq_bench.support.files import write_json

if TYPE_CHECKING:
    from rich.table import Table

__all__ = ["ExactCache", "MtebRun", "run"]


@dataclass(frozen=True)
class MtebRun:
    """What mteb found.

    Attributes:
        model, revision: as mteb caches them.
        scores: task name to metric to value, in mteb's names (``ndcg_at_10``).
        main: task name to the metric by which it ranks models.
        subset: edition name and id, as mteb files the scores.
        skipped: why a task was left out, by task name.
    """

    model: str
    revision: str
    scores: Mapping[str, Mapping[str, float]]
    main: Mapping[str, str]
    subset: str
    skipped: Mapping[str, str]

    def table(self) -> Table:
        """The main score of every task."""
        from rich.markup import escape
        from rich.table import Table

        table = Table(title=escape(f"{self.model} ({self.revision}) on {self.subset}"))
        for title in ("task", "main score", "value"):
            table.add_column(title)
        for task, scores in self.scores.items():
            main = self.main[task]
            table.add_row(task, main, f"{scores[main]:.4f}" if main in scores else "undefined")
        return table


class ExactCache(mteb.ResultCache):
    """mteb's cache, with scores to the last digit."""

    def save_to_cache(
        self,
        task_result: TaskResult,
        model_name: str | ModelMeta,
        model_revision: str | None = None,
        *,
        encode_kwargs: Mapping[str, Any] | None = None,
    ) -> None:
        """As mteb's, then the scores as they are."""
        super().save_to_cache(task_result, model_name, model_revision, encode_kwargs=encode_kwargs)
        path = self.get_task_result_path(
            task_name=task_result.task_name, model_name=model_name, model_revision=model_revision
        )
        document = json.loads(path.read_text(encoding="utf-8"))
        write_json(document | {"scores": task_result.scores}, path)


def run(
    name: str,
    edition: Edition | str | Path | None = None,
    *,
    out: Path,
    tasks: Sequence[str] | None = None,
    config: EncoderConfig | None = None,
) -> MtebRun:
    """Run a retriever through ``mteb.evaluate``.

    Args:
        name: see ``retrievers.registry.resolve``.
        edition: open, or its path or name; the default one if None.
        out: results go to ``mteb/``, vectors to ``vectors/``, which ``fashion-rq evaluate`` shares.
        tasks: mteb's names or ours ("ranking", "retrieval"); the benchmark's four if None.
        config: how encoders are run.

    Raises:
        ConfigError: an unknown model or task.
        EditionError: the edition is missing, damaged or of another schema version.
        ModelError: the model failed; finished tasks stay.
    """
    retriever = resolve(name, cache=out / "vectors", config=config)
    wanted, skipped = _runnable(_tasks(tasks), retriever)
    opened = edition if isinstance(edition, Edition) else Edition.open(edition or NAME)
    bound = [task(edition=opened.path) for task in wanted]
    model = RetrieverModel(retriever)
    found = _evaluated(model, bound, out / "mteb")
    meta = model.mteb_model_meta
    subset = FashionRQRetrieval(edition=opened.path).hf_subsets[0]
    return MtebRun(
        model=str(meta.name),
        revision=str(meta.revision),
        scores={one.task_name: _scores(one, subset) for one in found},
        main={task.metadata.name: task.metadata.main_score for task in bound},
        subset=subset,
        skipped=skipped,
    )


def _runnable(
    tasks: list[type[Any]], retriever: Retriever
) -> tuple[list[type[Any]], dict[str, str]]:
    """The tasks that a retriever can do, and why it cannot do the others."""
    reason = why_no_search(retriever)
    if FashionRQRetrieval not in tasks or not reason:
        return tasks, {}
    left = [task for task in tasks if task is not FashionRQRetrieval]
    return left, {FashionRQRetrieval.__name__: reason}


def _evaluated(model: RetrieverModel, tasks: list[Any], folder: Path) -> list[TaskResult]:
    if not tasks:
        return []
    cache = ExactCache(folder)
    return list(
        mteb.evaluate(model, tasks=tasks, cache=cache, show_progress_bar=False).task_results
    )


def _tasks(names: Sequence[str] | None) -> list[type[Any]]:
    known = {task.__name__: task for task in ALL_TASKS} | {task.config: task for task in ALL_TASKS}
    for name in names or ():
        if name not in known:
            raise ConfigError("There is no such task.", given=name, allowed=list(known))
    if not names:
        return list(TASKS)
    return list(dict.fromkeys(known[name] for name in names))


def _scores(result: TaskResult, subset: str) -> dict[str, float]:
    rows = [row for row in result.scores[SPLIT] if row["hf_subset"] == subset]
    return {name: value for name, value in rows[0].items() if isinstance(value, float)}
