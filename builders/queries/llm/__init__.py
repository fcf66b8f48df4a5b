"""The language-model port: prompt, calls, cache, budget, answers, price.

Lives here: all that speaks to a model. May import: ``check``, ``grammar``, ``say``, the generator.
Must not import: tasks, edition, pipeline.
"""

from __future__ import annotations

from fashion_rq_bench.builders.queries.llm.generate import LLMConfig, LLMResult, generate_with_llm

__all__ = ["LLMConfig", "LLMResult", "generate_with_llm"]
