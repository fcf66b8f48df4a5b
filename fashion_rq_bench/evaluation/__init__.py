"""A retriever on an edition: scores, floor and reference, whole catalog, results, cost.

Lives here: running and scoring, and the plain tables of it. May import: ``retrievers`` and below.
Must not import: mteb tasks, reports, commands.
"""

from __future__ import annotations

from fashion_rq_bench._moved import names_of

__getattr__ = names_of(__name__, "fashion_rq_bench.evaluation.run")
