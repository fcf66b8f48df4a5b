"""The offline verbalizer: plans put into words, by seed.

Lives here: sentence shapes, nouns, noise. May import: ``say``.
Must not import: the language model, the checks.
"""

from __future__ import annotations

from fashion_rq_bench.builders.queries.grammar.verbalizer import verbalize

__all__ = ["verbalize"]
