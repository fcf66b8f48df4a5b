"""A small shop for the tests of context and queries: every leaf is a type, a gender, a colour."""

from __future__ import annotations

from functools import cache
from itertools import product

import numpy as np
import pyarrow as pa

from fashion_rq_bench.schema.tables import SEMANTIC_IDS, catalog_schema, embeddings_schema

TYPES = (
    ("Apparel", "Topwear", "Tshirts", "Casual"),
    ("Apparel", "Topwear", "Kurtas", "Ethnic"),
    ("Footwear", "Shoes", "Formal Shoes", "Formal"),
    ("Accessories", "Watches", "Watches", "Casual"),
)
GENDERS = ("Men", "Women")
COLORS = ("Black", "Blue", "Red")
BRANDS = ("Puma", "ADIDAS", "W", "United Colors of Benetton")
STYLES = {"Tshirts": "polo collar", "Watches": "analogue"}


def row(number: int, kind: int, gender: str, color: str, place: int) -> dict[str, object]:
    master, sub, article_type, usage = TYPES[kind]
    brand = BRANDS[(kind + place // 5) % len(BRANDS)]
    priced = place < 4
    return {
        "product_id": str(number),
        "title": f"{brand} {gender} Printed {color} {article_type}",
        "description": None,
        "master_category": master,
        "sub_category": sub,
        "article_type": article_type,
        "brand": brand,
        "base_color": color,
        "gender": gender,
        "age_group": "adult",
        "usage": usage,
        "year": 2012 + place % 3,
        "price": 300.0 + 100 * place if priced else None,
        "price_tier": "budget" if priced else None,
        "pattern": ["printed"],
        "material": [],
        "occasion": [usage.casefold()],
        "style": [STYLES[article_type]] if article_type in STYLES else [],
        "brand_inferred": False,
    }


@cache
def shop() -> tuple[pa.Table, pa.Table, pa.Table]:
    """Catalog, semantic IDs (type, gender, colour) and embeddings of 168 products."""
    rows, codes = [], []
    for (kind, gender, color), place in product(product(range(4), range(2), range(3)), range(7)):
        rows.append(row(len(rows), kind, GENDERS[gender], COLORS[color], place))
        codes.append([kind, gender, color])
    catalog = pa.Table.from_pylist(rows, schema=catalog_schema())
    ids = pa.table(
        [catalog["product_id"], pa.array(codes, pa.list_(pa.uint16()))], schema=SEMANTIC_IDS
    )
    vectors = np.array(codes, np.float16) * np.array([9, 3, 1], np.float16)
    flat = pa.FixedSizeListArray.from_arrays(pa.array(vectors.ravel()), 3)
    return catalog, ids, pa.table([catalog["product_id"], flat], schema=embeddings_schema(3))


def clusters() -> pa.Table:
    """All clusters of the shop, all of them qualifying."""
    from fashion_rq_bench.builders.hierarchy.clusters import HierarchyConfig, hierarchy

    catalog, ids, _ = shop()
    return hierarchy(ids, catalog, HierarchyConfig()).clusters
