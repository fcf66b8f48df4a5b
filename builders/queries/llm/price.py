"""What queries by a language model would cost, without a call.

In:  clusters with evidence, the model's prices, the folder of kept answers.
Out: calls, tokens and money, as expected and at most.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa

from fashion_rq_bench.builders.queries.llm.cache import AnswerCache, request_key
from fashion_rq_bench.builders.queries.llm.config import LLMConfig
from fashion_rq_bench.builders.queries.llm.drafts import cluster_prompts
from fashion_rq_bench.builders.queries.say.query_config import QueryConfig

__all__ = ["price_job"]

_OUTPUT = 450
"""Tokens of a usual answer."""
_READING = (1_000, 500)
"""Tokens of a usual request to read a cluster's queries, and of its answer."""


def price_job(
    clusters: pa.Table,
    config: LLMConfig | None = None,
    *,
    cache: Path,
    queries: QueryConfig | None = None,
) -> dict[str, Any]:
    """What :func:`~.llm.generate_with_llm` would cost.

    Args:
        clusters: schema CLUSTERS.
        config: limits and prices.
        cache: folder of kept answers.
        queries: counts and lengths of queries.

    Returns:
        clusters, kept (prompts answered by an earlier run), and as "expected" and "most" the calls,
        prompt_tokens, output_tokens and cost (NaN without prices). Expected is one answer of usual
        length to each prompt left, and one reading of it where the model is the enricher; most is
        every prompt asked, corrected and read ``config.answers`` times at full length.
    """
    config, queries = config or LLMConfig(), queries or QueryConfig()
    kept, answers = 0, AnswerCache(cache)
    left: list[int] = []
    for _, prompt in cluster_prompts(clusters, config, queries):
        if answers.get(request_key(prompt.messages, config.identity, 0)) is not None:
            kept += 1
        else:
            left.append(prompt.tokens)
    return {
        "clusters": len(clusters),
        "kept": kept,
        "expected": _expected(left, config),
        "most": _most(left, config),
    }


def _expected(left: list[int], config: LLMConfig) -> dict[str, Any]:
    calls, prompt = len(left), sum(left)
    output = calls * min(_OUTPUT, config.max_output_tokens)
    if config.enricher == "llm":
        prompt += calls * _READING[0]
        output += calls * min(_READING[1], config.max_output_tokens)
        calls *= 2
    return _priced(calls, prompt, output, config)


def _most(left: list[int], config: LLMConfig) -> dict[str, Any]:
    longest = config.max_output_tokens
    # a correction repeats the prompt and the answer, and lists the faults
    calls, prompt = 2 * len(left), sum(2 * one + 2 * longest for one in left)
    if config.enricher == "llm":
        calls, prompt = 2 * calls, prompt + 2 * len(left) * (_READING[0] + longest)
    tries = config.answers
    return _priced(tries * calls, tries * prompt, tries * calls * longest, config)


def _priced(calls: int, prompt: int, output: int, config: LLMConfig) -> dict[str, Any]:
    return {
        "calls": calls,
        "prompt_tokens": prompt,
        "output_tokens": output,
        "cost": config.cost(prompt, output),
    }
