"""The paper's four tasks (section 4) and whole-corpus retrieval as mteb tasks, declared.

``base.py`` and ``catalog.py`` run them.

In:  an edition: ``FashionRQRanking(edition="path or name")``, or by default the one that the name
     "fashion-rq-bench" stands for (environment variable FASHION_RQ_BENCH_DATA, else ``mini``).
Out: what ``mteb.evaluate`` returns, with this package's metrics.
"""

from __future__ import annotations

from typing import Literal

from mteb.abstasks.task_metadata import TaskMetadata

from fashion_rq_bench.evaluation.whole_catalog import RETRIEVAL
from fashion_rq_bench.mteb_tasks.base import EditionTask, TaskBinding
from fashion_rq_bench.mteb_tasks.catalog import CatalogTask
from fashion_rq_bench.schema.tables import NAME, SPLIT

__all__ = [
    "ALL_TASKS",
    "TASKS",
    "FashionRQClassification",
    "FashionRQParaphrase",
    "FashionRQRanking",
    "FashionRQRetrieval",
    "FashionRQSibling",
]


def _declare(
    name: str,
    config: str,
    main_score: str,
    description: str,
    kind: Literal["Reranking", "Retrieval"] = "Reranking",
) -> TaskBinding:
    return TaskBinding(
        TaskMetadata(
            name=name,
            description=description,
            type=kind,
            category="t2t",
            modalities=["text"],
            dataset={"path": NAME, "name": config, "revision": "unbound"},
            eval_splits=[SPLIT],
            eval_langs=["eng-Latn"],
            main_score=main_score,
            domains=["E-commerce"],
            annotations_creators="algorithmic",
            sample_creation="created",
            dialect=[],
            bibtex_citation="",
        )
    )


class FashionRQRanking(EditionTask):
    """T1: order a query's pool of 12 to 15 products of four grades."""

    version = "1"
    config = "ranking"
    metadata = _declare(
        "FashionRQRanking",
        config,
        "ndcg_at_10",
        "Rank 12 to 15 fashion products for a query; grades come from a semantic-ID hierarchy.",
    )


class FashionRQClassification(EditionTask):
    """T2: tell the four grades apart, by each query's ranking and known class sizes."""

    version = "1"
    config = "classification"
    metadata = _declare(
        "FashionRQClassification",
        config,
        "accuracy",
        "Assign Exact, Sibling, Related or Irrelevant to 7 or 8 products of a query.",
    )


class FashionRQSibling(EditionTask):
    """T3: find the one product of the query's own leaf among those of sibling leaves."""

    version = "1"
    config = "sibling"
    metadata = _declare(
        "FashionRQSibling",
        config,
        "ndcg_at_3",
        "Pick the target product out of 4 or 5 that come from neighbouring leaf clusters.",
    )


class FashionRQParaphrase(EditionTask):
    """T4: retrieve the same products for every wording of one intent."""

    version = "1"
    config = "paraphrase"
    metadata = _declare(
        "FashionRQParaphrase",
        config,
        "consistency_at_5",
        "Agreement of the top products over paraphrases that share one pool.",
    )


class FashionRQRetrieval(CatalogTask):
    """T1's queries against the whole corpus; stands beside the benchmark of the four tasks."""

    version = "1"
    config = RETRIEVAL
    metadata = _declare(
        "FashionRQRetrieval",
        config,
        "ndcg_at_10",
        "Find a query's products among all of the catalog; every product is graded by the "
        "semantic-ID prefix that it shares with the query's leaf cluster.",
        "Retrieval",
    )


TASKS: tuple[type[EditionTask], ...] = (
    FashionRQRanking,
    FashionRQClassification,
    FashionRQSibling,
    FashionRQParaphrase,
)
"""The four tasks of the benchmark."""

ALL_TASKS: tuple[type[EditionTask], ...] = (*TASKS, FashionRQRetrieval)
"""The same and whole-corpus retrieval, which encodes every product; cross-encoders skip it."""
