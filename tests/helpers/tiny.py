"""A hand-made edition of 48 products: 3 x 2 x 2 leaves of 4 products, two queries per leaf.

Valid in every config, small enough to be read, and written in a tenth of a second.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from fashion_rq_bench.builders.edition.write import write_edition
from fashion_rq_bench.schema.domain import domain
from fashion_rq_bench.schema.tables import CONFIGS, catalog_schema, schema_of

TYPES = ("Shirts", "Jeans", "Watches")
GENDERS = ("Men", "Women")
COLORS = ("Blue", "Black")
PER_LEAF = 4
DIM = 8
TIERS = {3: 3, 2: 4, 1: 4, 0: 4}
LEAVES = [(a, b, c) for a in range(len(TYPES)) for b in range(2) for c in range(2)]

CONFIG = {"seed": 0, "rqvae": {"codebook_size": 3, "levels": 3}}
REPORTS = {
    "catalog": {"input": 48, "read": 48, "repaired": 0, "quarantined": 0},
    "hierarchy": {"clusters": [3, 6, 12]},
    "tasks": {
        "quality": {
            "floor": {"ranking": {"ndcg@10": 0.61}},
            "reference": {"ranking": {"ndcg@10": 0.93}},
            "wishes": {"exact": {"pairs": 72, "satisfied": 1.0, "unknown": 0.0}},
        }
    },
}
PROVENANCE = {
    "catalog": {"source": "hand-made for tests", "license": "apache-2.0"},
    "encoder": {"name": "random", "revision": "seed-0", "dim": DIM},
}


def tiny_tables() -> dict[str, pa.Table]:
    """The eight tables."""
    rows = {
        "corpus": _corpus(),
        "queries": _queries(),
        "clusters": _clusters(),
        "ranking": [_ranking(row) for row in _queries()],
        "classification": [pair for row in _queries() for pair in _pairs(row)],
        "sibling": [_sibling(row) for row in _queries()],
        "paraphrase": [_paraphrase(leaf) for leaf in LEAVES],
        "strings": _strings(),
    }
    return {
        config: pa.Table.from_pylist(rows[config], schema=schema_of(config, DIM))
        for config in CONFIGS
    }


def write_tiny(
    out: Path, tables: Mapping[str, pa.Table] | None = None, name: str = "tiny", **changes: Any
) -> str:
    """Write the tiny edition, or changed tables in its place; returns the edition id."""
    given = {"config": CONFIG, "reports": REPORTS, "provenance": PROVENANCE} | changes
    return write_edition(out, tables or tiny_tables(), name=name, **given)


def with_column(table: pa.Table, name: str, values: list[Any]) -> pa.Table:
    """The table with one column's values replaced, its type kept."""
    place = table.column_names.index(name)
    field = table.schema.field(name)
    return table.set_column(place, field, pa.array(values, field.type))


def _product_id(leaf: tuple[int, ...], item: int) -> str:
    return f"p{''.join(map(str, leaf))}{item}"


def _words(leaf: tuple[int, ...]) -> tuple[str, str, str]:
    return TYPES[leaf[0]], GENDERS[leaf[1]], COLORS[leaf[2]]


def _corpus() -> list[dict[str, Any]]:
    return [_product(leaf, item) for leaf in LEAVES for item in range(PER_LEAF)]


def _product(leaf: tuple[int, ...], item: int) -> dict[str, Any]:
    article_type, gender, color = _words(leaf)
    title = f"Arvo {gender} {color} {article_type} {item}"
    empty = dict.fromkeys(catalog_schema().names)
    return empty | {
        "product_id": _product_id(leaf, item),
        "text": f"{title}. Apparel > {article_type}",
        "semantic_id": list(leaf),
        "title": title,
        "master_category": "Apparel",
        "article_type": article_type,
        "brand": "Arvo",
        "brand_inferred": True,
        "base_color": color,
        "gender": gender,
        "age_group": "adult",
        "price": 499.0 + 10 * item,
        "price_tier": "budget",
        "material": ["cotton"],
        "pattern": [],
    }


def _queries() -> list[dict[str, Any]]:
    return [_query(leaf, number) for leaf in LEAVES for number in range(2)]


def _query(leaf: tuple[int, ...], number: int) -> dict[str, Any]:
    article_type, gender, color = _words(leaf)
    text = f"{color} {article_type} for {gender}".lower()
    intent = dict.fromkeys(domain().names) | {
        "product_type": article_type,
        "gender": gender,
        "color": [color],
    }
    return {
        "query_id": f"q{'-'.join(map(str, leaf))}-{number}",
        "query": text if number == 0 else f"looking for {text}",
        "prefix": list(leaf),
        "level": 3,
        "intents": [intent],
        "source": "grammar",
    }


def _pool(leaf: tuple[int, ...]) -> list[dict[str, Any]]:
    """Three, four, four, four products of falling grade, the first of each tier."""
    graded: dict[int, list[str]] = {grade: [] for grade in TIERS}
    for other in LEAVES:
        shared = next((i for i in range(3) if other[i] != leaf[i]), 3)
        graded[shared] += [_product_id(other, item) for item in range(PER_LEAF)]
    return [
        {"product_id": product, "grade": grade, "match": (0.1, 0.4, 0.7, 1.0)[grade]}
        for grade, size in TIERS.items()
        for product in graded[grade][:size]
    ]


def _ranking(query: Mapping[str, Any]) -> dict[str, Any]:
    names = ("query_id", "query", "prefix", "intents")
    return {name: query[name] for name in names} | {"candidates": _pool(tuple(query["prefix"]))}


def _pairs(query: Mapping[str, Any]) -> list[dict[str, Any]]:
    pool = _pool(tuple(query["prefix"]))
    return [
        {
            "query_id": query["query_id"],
            "query": query["query"],
            "product_id": item["product_id"],
            "label": item["grade"],
            "match": item["match"],
        }
        for grade in TIERS
        for item in [entry for entry in pool if entry["grade"] == grade][:2]
    ]


def _sibling(query: Mapping[str, Any]) -> dict[str, Any]:
    pool = _pool(tuple(query["prefix"]))
    target = [item for item in pool if item["grade"] == 3][:1]
    others = [item for item in pool if item["grade"] == 2][:3]
    candidates = [
        {"product_id": item["product_id"], "target": item in target} for item in target + others
    ]
    names = ("query_id", "query", "prefix")
    return {name: query[name] for name in names} | {"candidates": candidates}


def _paraphrase(leaf: tuple[int, ...]) -> dict[str, Any]:
    queries = [_query(leaf, number) for number in range(2)]
    return {
        "group_id": f"g{'-'.join(map(str, leaf))}",
        "prefix": list(leaf),
        "queries": [{name: query[name] for name in ("query_id", "query")} for query in queries],
        "candidates": [
            {name: item[name] for name in ("product_id", "grade")} for item in _pool(leaf)
        ],
    }


def _clusters() -> list[dict[str, Any]]:
    prefixes = sorted({leaf[:level] for level in (1, 2, 3) for leaf in LEAVES})
    return [_cluster(prefix) for prefix in sorted(prefixes, key=lambda p: (len(p), p))]


def _cluster(prefix: tuple[int, ...]) -> dict[str, Any]:
    size = PER_LEAF * 2 ** (3 - len(prefix))
    article_type = TYPES[prefix[0]]
    evidence = dict.fromkeys(field.name for field in schema_of("clusters").field("evidence").type)
    return {
        "prefix": list(prefix),
        "level": len(prefix),
        "size": size,
        "purity": 1.0,
        "article_type": article_type,
        "evidence": evidence
        | {
            "parent_size": size * 2,
            "siblings": [{"prefix": [*prefix[:-1], 1 - prefix[-1] % 2], "size": size}],
            "product_type_axis": "article_type",
            "product_types": [{"value": article_type, "count": size, "share": 1.0}],
            "phrases": [],
        },
    }


def _strings() -> list[dict[str, Any]]:
    words = [*TYPES, *GENDERS, *COLORS, "cotton", "Apparel"]
    vectors = np.random.default_rng(0).normal(size=(len(words), DIM))
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    return [
        {"string": word, "vector": list(vector.astype(np.float16))}
        for word, vector in zip(words, vectors, strict=True)
    ]
