"""A small catalog with a planted tree, clusters and queries, for tests of the tasks stage."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from fashion_rq_bench.builders.hierarchy.clusters import HierarchyConfig, hierarchy
from fashion_rq_bench.schema.domain import domain
from fashion_rq_bench.schema.tables import SEMANTIC_IDS, catalog_schema, queries_schema

TYPES = ("Shirts", "Jeans", "Kurtas", "Watches", "Heels", "Dresses", "Belts")
COLORS = ("Black", "White", "Blue", "Red", "Green", "Pink")
GENDERS = ("Men", "Women", "Unisex")
BRANDS = ("Arvo", "Benten", "Caspia", "Dorel")
MASTERS = ("Apparel", "Accessories")


@dataclass(frozen=True)
class Planted:
    catalog: pa.Table
    semantic_ids: pa.Table
    clusters: pa.Table
    queries: pa.Table

    @property
    def ids(self) -> pa.Array:
        return self.catalog["product_id"].combine_chunks()

    @property
    def codes(self) -> np.ndarray:
        flat = self.semantic_ids["semantic_id"].combine_chunks().flatten()
        return np.asarray(flat, dtype=np.int64).reshape(len(self.catalog), -1)


def planted(
    seed: int = 0,
    products: int = 1200,
    branching: tuple[int, ...] = (3, 3, 5),
    queries: int = 3,
    duplicates: float = 0.1,
    min_size: int = 5,
) -> Planted:
    """Products spread unevenly over a tree; level 2 sets the article type, level 3 the colour."""
    rng = np.random.default_rng(seed)
    codes = np.stack(
        [rng.choice(size, products, p=_skewed(size)) for size in branching], axis=1
    ).astype(np.uint16)
    catalog = _catalog(codes, rng, duplicates)
    semantic_ids = pa.table(
        {"product_id": catalog["product_id"], "semantic_id": list(codes)}, schema=SEMANTIC_IDS
    )
    clusters = hierarchy(
        semantic_ids, catalog, HierarchyConfig(min_size=min_size, min_purity=0.0)
    ).clusters
    clusters = clusters.filter(clusters["qualifying"])
    return Planted(catalog, semantic_ids, clusters, _queries(clusters, queries))


def _skewed(size: int) -> np.ndarray:
    weight = 1.0 / np.arange(1, size + 1)
    return weight / weight.sum()


def _catalog(codes: np.ndarray, rng: np.random.Generator, duplicates: float) -> pa.Table:
    count = len(codes)
    kind = [TYPES[(3 * a + b) % len(TYPES)] for a, b in codes[:, :2].tolist()]
    color = [COLORS[c % len(COLORS)] for c in codes[:, -1].tolist()]
    gender = rng.choice(GENDERS, count).tolist()
    brand = rng.choice(BRANDS, count).tolist()
    number = np.where(rng.random(count) < duplicates, rng.integers(0, 5, count), np.arange(count))
    columns: dict[str, object] = {
        "product_id": [f"p{row:05d}" for row in rng.permutation(count)],
        "title": [
            f"{b} {g} {c} {k} {n}"
            for b, g, c, k, n in zip(brand, gender, color, kind, number.tolist(), strict=True)
        ],
        "description": [f"A {c.lower()} {k.lower()}." for c, k in zip(color, kind, strict=True)],
        "master_category": [MASTERS[a % 2] for a in codes[:, 0].tolist()],
        "sub_category": [f"Sub {a}" for a in codes[:, 0].tolist()],
        "article_type": kind,
        "brand": brand,
        "base_color": color,
        "gender": gender,
        "age_group": ["adult"] * count,
        "usage": ["Casual"] * count,
        "price": rng.integers(100, 5000, count).astype(float).tolist(),
        "price_tier": ["mid-range"] * count,
        "brand_inferred": [False] * count,
    }
    blank = {name: [None] * count for name in catalog_schema().names if name not in columns}
    return pa.table(columns | blank, schema=catalog_schema())


def _queries(clusters: pa.Table, count: int) -> pa.Table:
    rows = []
    for cluster in clusters.select(["prefix", "level", "article_type"]).to_pylist():
        key = "-".join(map(str, cluster["prefix"]))
        color = COLORS[cluster["prefix"][-1] % len(COLORS)].lower()
        for place in range(count):
            intent = dict.fromkeys(domain().names) | {
                "product_type": cluster["article_type"].lower()
            }
            if place % 2:
                intent |= {"color": [color], "gender": GENDERS[place % 3].lower()}
            rows.append(
                {
                    "query_id": f"q{key}.{place}",
                    "query": f"{color} {intent['product_type']} number {place} of {key}",
                    "prefix": cluster["prefix"],
                    "level": cluster["level"],
                    "intents": [intent],
                    "source": "test",
                }
            )
    return pa.Table.from_pylist(rows, schema=queries_schema())
