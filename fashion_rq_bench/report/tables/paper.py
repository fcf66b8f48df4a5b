"""The paper's own figures for the tables that ``describe`` prints.

In:  nothing.
Out: Tables 1, 6, 7 and 8 and the counts of 8.0.3, keyed as :mod:`.statistics` keys an edition's.

Where the paper contradicts itself the figure is left out or noted: the bracketed sizes of Table 6's
first column repeat Table 1's means over qualifying clusters, and 44 level-1 clusters of mean 823.9
cannot hold 44,446 products.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

__all__ = ["PAPER"]

_LEVELS = (
    {
        "level": 1,
        "all": {"clusters": 44},
        "qualifying": {"clusters": 17, "mean_size": 823.9, "smallest": 6, "largest": 5349},
    },
    {
        "level": 2,
        "all": {"clusters": 3378},
        "qualifying": {"clusters": 135, "mean_size": 219.2, "smallest": 5, "largest": 4896},
    },
    {
        "level": 3,
        "all": {"clusters": 23956, "mean_size": 1.86},
        "qualifying": {"clusters": 436, "mean_size": 79.5, "smallest": 5, "largest": 4888},
    },
)

PAPER: Mapping[str, Any] = MappingProxyType(
    {
        "overview": {
            "products": 44446,
            "master_categories": 7,
            "sub_categories": 45,
            "article_types": 143,
            "base_colors": 47,
            "genders": 5,
            "clusters": 588,
            "queries": 5380,
            "unique_queries": 5305,
            "query_words": {"mean": 10.0, "min": 3, "max": 26},
            "queries_per_cluster": {"mean": 5380 / 588, "min": 2, "max": 12},
        },
        "levels": _LEVELS,
        "tasks": {
            "ranking": {
                "queries": 2477,
                "pairs": 36782,
                "pool": {"mean": 14.8, "min": 12, "max": 15},
                "anchors": 416,
            },
            "classification": {
                "queries": 2477,
                "pairs": 19731,
                "pool": {"mean": 8.0, "min": 7, "max": 8},
                "anchors": 416,
            },
            "sibling": {
                "queries": 1968,
                "pairs": 9801,
                "pool": {"mean": 5.0, "min": 4, "max": 5},
                "anchors": 331,
            },
            "paraphrase": {
                "queries": 2477,
                "groups": 416,
                "group": {"mean": 6.0, "min": 2, "max": 10},
                "pool": {"mean": 14.9, "min": 12, "max": 15},
                "anchors": 416,
            },
        },
        "labels": {
            "ranking": {"exact": 0.202, "sibling": 0.259, "related": 0.269, "irrelevant": 0.269},
            "classification": {
                "exact": 0.251,
                "sibling": 0.247,
                "related": 0.251,
                "irrelevant": 0.251,
            },
        },
        "tags": {
            "queries": 2477,
            "per_query": {"mean": 3.8, "min": 0, "max": 8},
            "counts": {
                "product_type": 2475,
                "gender": 1892,
                "occasion": 1349,
                "brand": 945,
                "style_tags": 896,
                "color": 845,
                "age_group": 627,
                "pattern": 156,
                "material": 153,
                "price_hint": 80,
            },
        },
        "coverage": {
            "products_used": 8841,
            "share_used": 0.199,
            "master_categories": {
                "Apparel": 7622,
                "Accessories": 6760,
                "Footwear": 3699,
                "Personal Care": 1570,
                "Free Items": 73,
                "Sporting Goods": 7,
            },
            "genders": {"Men": 8996, "Women": 8913, "Unisex": 1279, "Boys": 284, "Girls": 259},
            "price": {"min": 90.0, "median": 1199.0, "mean": 1744.0, "max": 17995.0},
        },
    }
)
"""Table 1 names five of the catalog's seven master categories and counts "NA" as a colour; the mean
of ``queries_per_cluster`` is by division."""
