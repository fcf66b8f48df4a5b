"""The four tasks: pools drawn from the tree, floor and oracle, invariants.

Lives here: sampling and checking of candidates. May import: hierarchy, relevance, measures.
Must not import: queries' wording, edition.
"""

from __future__ import annotations

from fashion_rq_bench.builders.tasks.stage import TaskConfig, Tasks, candidate_pools, tasks

__all__ = ["TaskConfig", "Tasks", "candidate_pools", "tasks"]
