"""Queries of clusters: evidence in, shoppers' words and their structured intents out."""

from fashion_rq_bench.builders.queries.check.steering import steering_report
from fashion_rq_bench.builders.queries.generator import QueryConfig, QueryResult, generate
from fashion_rq_bench.builders.queries.llm.generate import LLMConfig, LLMResult, generate_with_llm
from fashion_rq_bench.builders.queries.llm.price import price_job

__all__ = [
    "LLMConfig",
    "LLMResult",
    "QueryConfig",
    "QueryResult",
    "generate",
    "generate_with_llm",
    "price_job",
    "steering_report",
]
