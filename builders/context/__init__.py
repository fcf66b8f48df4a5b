"""What sets each cluster apart from its parent and siblings (paper 3 and 8.0.2).

Lives here: incidence, signatures, title phrases, levels. May import: ``schema``, ``support``.
Must not import: queries, tasks.
"""

from __future__ import annotations

from fashion_rq_bench.builders.context.stage import ContextConfig, context

__all__ = ["ContextConfig", "context"]
