"""Reading and scoring the hand-judged table; shared by tests of the comparators."""

from __future__ import annotations

import csv
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from fashion_rq_bench.relevance.pair_relevance import match_pairs
from fashion_rq_bench.relevance.settings import RelevanceConfig
from fashion_rq_bench.relevance.similarity import Similarity
from fashion_rq_bench.schema.domain import domain
from fashion_rq_bench.schema.tables import catalog_schema

PATH = Path(__file__).parent / "data" / "hand_judged.csv"


class Judged(NamedTuple):
    """One row: what a query asks, what a product says, and the band a person expects."""

    attribute: str
    query: str
    product: str
    low: float
    high: float
    note: str


def judged() -> list[Judged]:
    with PATH.open(encoding="utf-8", newline="") as stream:
        return [
            Judged(
                row["attribute"],
                row["query"],
                row["product"],
                float(row["low"]),
                float(row["high"]),
                row["note"],
            )
            for row in csv.DictReader(stream)
        ]


def products_of(*rows: Mapping[str, Any]) -> pa.Table:
    """A product table of the catalog's schema; what a row does not say is null."""
    return pa.Table.from_pylist([dict(row) for row in rows], schema=catalog_schema())


def compare_all(rows: list[Judged], similarity: Similarity) -> list[float]:
    """m_a of every row, all at once."""
    intents = [{row.attribute: _value(row.attribute, row.query)} for row in rows]
    table = products_of(*(json.loads(row.product) for row in rows))
    everything = np.arange(len(rows))
    matches = match_pairs(intents, table, everything, everything, similarity)
    columns = [domain().names.index(row.attribute) for row in rows]
    return [float(score) for score in matches.match[everything, columns]]


def _value(attribute: str, query: str) -> str | list[str]:
    return query.split("|") if attribute in domain().many else query


def compare(
    attribute: str,
    query: str,
    product: Mapping[str, Any],
    similarity: Similarity,
    config: RelevanceConfig | None = None,
) -> float:
    """m_a of one query value (several joined by "|") and one product."""
    intents = [{attribute: _value(attribute, query)}]
    table = products_of(product)
    matches = match_pairs(intents, table, [0], [0], similarity, config=config)
    return float(matches.match[0, domain().names.index(attribute)])
