"""What an evaluation found: a run by retriever, as tables and as JSON.

In:  keys, means and costs of runs, from ``run.py``.
Out: :class:`EvaluationResult`, a table like the paper's Table 2.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fashion_rq_bench.evaluation.results import RunKey
from fashion_rq_bench.evaluation.whole_catalog import RETRIEVAL
from fashion_rq_bench.measures.ranking import Mean
from fashion_rq_bench.support.metering import Cost

if TYPE_CHECKING:
    from rich.table import Table

__all__ = ["FLOOR", "REFERENCE", "EvaluationResult", "ModelRun"]

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
