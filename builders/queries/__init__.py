"""Queries of clusters: evidence in, shoppers' words and their structured intents out."""

from .generator import QueryConfig, QueryResult, generate
from .llm import LLMConfig, LLMResult, generate_with_llm
from .llm_price import price_job
from .steering import steering_report

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
