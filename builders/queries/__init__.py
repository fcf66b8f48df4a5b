"""Queries of clusters: evidence in, shoppers' words and their structured intents out."""

from .generator import QueryConfig, QueryResult, generate
from .llm import LLMConfig, LLMResult, generate_with_llm, price_job

__all__ = [
    "LLMConfig",
    "LLMResult",
    "QueryConfig",
    "QueryResult",
    "generate",
    "generate_with_llm",
    "price_job",
]
