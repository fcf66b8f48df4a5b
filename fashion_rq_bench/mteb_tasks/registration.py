"""Entering the tasks and the benchmark into mteb's registries.

In:  mteb, imported.
Out: ``mteb.get_task("FashionRQRanking")``, ``mteb.get_tasks``, ``mteb.get_benchmark`` find ours.

mteb has no entry point for tasks of other packages, so its registries are extended in place.
"""

from __future__ import annotations

import sys

import mteb.benchmarks.benchmarks as benchmarks
import mteb.benchmarks.get_benchmark
import mteb.evaluate
import mteb.get_tasks
import mteb.tasks
from mteb.benchmarks.benchmark import Benchmark

from fashion_rq_bench.mteb_tasks.identity import identify_unnamed_models
from fashion_rq_bench.mteb_tasks.tasks import ALL_TASKS, TASKS
from fashion_rq_bench.schema.tables import NAME

__all__ = ["BENCHMARK", "register_all"]

BENCHMARK = "FashionRQBench"


def register_all() -> None:
    """Extend mteb's registries; harmless when repeated."""
    # Attributes of the package mteb hide these modules behind functions of the same name.
    get_tasks = sys.modules["mteb.get_tasks"]
    get_benchmark = sys.modules["mteb.benchmarks.get_benchmark"]
    if TASKS[0].metadata.name in get_tasks._TASKS_REGISTRY:
        return
    for task in ALL_TASKS:
        get_tasks._TASKS_REGISTRY[task.metadata.name] = task
        setattr(mteb.tasks, task.__name__, task)
    vars(get_tasks)["TASK_LIST"] = (*vars(get_tasks)["TASK_LIST"], *ALL_TASKS)
    vars(benchmarks)["FASHION_RQ_BENCH"] = Benchmark(
        name=BENCHMARK,
        aliases=(NAME,),
        tasks=tuple(task() for task in TASKS),
        description="Graded, attribute-aware fashion retrieval over fixed pools: ranking, "
        "relevance classification, sibling discrimination and paraphrase robustness.",
    )
    get_benchmark._build_registry.cache_clear()
    get_benchmark._build_aliases_registry.cache_clear()
    identify_unnamed_models(sys.modules["mteb.evaluate"])
