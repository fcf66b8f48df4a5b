"""The paper's four tasks as mteb tasks (section 4), declared; ``base.py`` runs them.

In:  an edition: ``FashionRQRanking(edition="path or name")``, or by default the one that the name
     "fashion-rq-bench" stands for (environment variable FASHION_RQ_BENCH_DATA, else ``mini``).
Out: what ``mteb.evaluate`` returns, with this package's metrics.
"""

from __future__ import annotations

from mteb.abstasks.task_metadata import TaskMetadata

from fashion_rq_bench.mteb_tasks.base import EditionTask, TaskBinding
from fashion_rq_bench.schema import NAME, SPLIT

__all__ = [
    "TASKS",
    "FashionRQClassification",
    "FashionRQParaphrase",
    "FashionRQRanking",
    "FashionRQSibling",
]


def _declare(name: str, config: str, main_score: str, description: str) -> TaskBinding:
    return TaskBinding(
        TaskMetadata(
            name=name,
            description=description,
            type="Reranking",
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


TASKS: tuple[type[EditionTask], ...] = (
    FashionRQRanking,
    FashionRQClassification,
    FashionRQSibling,
    FashionRQParaphrase,
)
