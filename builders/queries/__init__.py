"""Queries of clusters: evidence in, shoppers' words and their structured intents out."""

from .generator import QueryConfig, QueryResult, generate

__all__ = ["QueryConfig", "QueryResult", "generate"]
