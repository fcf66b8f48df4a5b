"""The finished folder: Parquet, card, Croissant, manifest, string vectors.

Lives here: writing and the last checks. May import: tasks and below.
Must not import: the pipeline.
"""

from __future__ import annotations

from fashion_rq_bench.builders.edition.write import write_edition

__all__ = ["write_edition"]
