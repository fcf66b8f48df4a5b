"""The stages of a build strung together: configuration, content keys, keeping and resuming.

Lives here: order, caching and settings of a build. May import: every room of ``builders``.
Must not be imported by: any of them.
"""

from __future__ import annotations

from fashion_rq_bench.builders.pipeline.run import (
    STAGES,
    BuildConfig,
    BuildResult,
    StageRun,
    build,
    price_queries,
)

__all__ = ["STAGES", "BuildConfig", "BuildResult", "StageRun", "build", "price_queries"]
