"""A retriever on an edition: scores, floor and reference, whole catalog, results, cost.

Lives here: running and scoring, and the plain tables of it. May import: ``retrievers`` and below.
Must not import: mteb tasks, reports, commands.
"""

from __future__ import annotations

from fashion_rq_bench.evaluation.answers import pair_scores, search_catalog
from fashion_rq_bench.evaluation.outcome import FLOOR, REFERENCE, EvaluationResult, ModelRun
from fashion_rq_bench.evaluation.run import evaluate, model_id, price

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
