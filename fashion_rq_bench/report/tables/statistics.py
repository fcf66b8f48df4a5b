"""What an edition consists of: the numbers of the paper's Tables 1, 6, 7, 8 and of 8.0.3.

In:  an edition's configs as Arrow tables.
Out: plain dictionaries, ready for JSON. A mean over nothing is NaN, a range over nothing is 0 to 0.

Everything is counted from the tables as they ship, not taken from what the build reported.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from fashion_rq_bench.builders.hierarchy.clusters import HierarchyConfig, hierarchy
from fashion_rq_bench.relevance.intents import expressed
from fashion_rq_bench.schema.domain import domain
from fashion_rq_bench.schema.grades import GRADE_NAMES
from fashion_rq_bench.schema.tables import TASK_CONFIGS

__all__ = ["counted", "coverage", "labels", "levels", "overview", "statistics", "tags", "tasks"]

Tables = Mapping[str, pa.Table]
Facts = dict[str, Any]
Numbers = npt.NDArray[Any]


def statistics(read: Callable[[str], pa.Table]) -> Facts:
    """All statistics of an edition.

    Args:
        read: gives the table of a config, e.g. ``Edition.table``.

    Returns:
        ``overview`` (Table 1), ``levels`` (Tables 1 and 6), ``tasks`` (Table 7), ``labels``
        (Table 8), ``tags`` and ``coverage`` (8.0.3).
    """
    names = (*TASK_CONFIGS, "corpus", "queries", "clusters")
    tables = {name: read(name).combine_chunks() for name in names}
    corpus = tables["corpus"]
    return {
        "overview": overview(corpus, tables["clusters"], tables["queries"]),
        "levels": levels(corpus, tables["clusters"]),
        "tasks": tasks(tables),
        "labels": labels(tables),
        "tags": tags(tables["ranking"]),
        "coverage": coverage(tables),
    }


def counted() -> tuple[str, ...]:
    """The domain's own columns whose values are counted beside the categories."""
    return tuple(name for name in domain().set_of("counted") if name not in domain().lists)


def overview(corpus: pa.Table, clusters: pa.Table, queries: pa.Table) -> Facts:
    """Table 1: catalog, clusters, queries; a query's length is its words between spaces."""
    words = pc.count_substring_regex(queries["query"], r"\S+")
    keys = pc.binary_join(queries["prefix"].cast(pa.list_(pa.string())), "-")
    kinds = {
        "master_categories": "master_category",
        "sub_categories": "sub_category",
        "article_types": "article_type",
        **{f"{name}s": name for name in counted()},
    }
    return {
        "products": len(corpus),
        **{name: pc.count_distinct(corpus[column]).as_py() for name, column in kinds.items()},
        "clusters": len(clusters),
        "queries": len(queries),
        "unique_queries": pc.count_distinct(queries["query"]).as_py(),
        "query_words": _spread(np.asarray(words)),
        "queries_per_cluster": _spread(np.asarray(pc.value_counts(keys).field("counts"))),
    }


def levels(corpus: pa.Table, clusters: pa.Table) -> list[Facts]:
    """Tables 1 and 6: per level the clusters, over all prefixes and over qualifying ones.

    ``coverage`` is the share of the catalog inside qualifying clusters, ``purity`` the article
    types' purity weighted by labelled products.
    """
    named = corpus.select(["product_id", "semantic_id"])
    every = hierarchy(named, corpus, HierarchyConfig(min_size=1, min_purity=0.0)).statistics
    found = []
    for facts in every:
        rows = clusters.filter(pc.equal(clusters["level"], facts["level"]))
        size, purity = np.asarray(rows["size"]), np.asarray(rows["purity"])
        found.append(
            {
                "level": facts["level"],
                "all": {
                    key: facts["all"][key]
                    for key in ("clusters", "mean_size", "smallest", "largest", "purity")
                },
                "qualifying": {
                    "clusters": len(rows),
                    "mean_size": float(size.mean()) if len(size) else math.nan,
                    "smallest": int(size.min()) if len(size) else 0,
                    "largest": int(size.max(initial=0)),
                    "purity": float(np.average(purity, weights=size)) if len(size) else math.nan,
                },
                "coverage": float(size.sum() / max(len(corpus), 1)),
                "codes_used": facts["codes_used"],
                "perplexity": facts["perplexity"],
            }
        )
    return found


def tasks(tables: Tables) -> Facts:
    """Table 7: queries, pairs, candidates per query (per group for T4) and anchors of each task."""
    found = {name: _listed(tables[name]) for name in ("ranking", "sibling", "paraphrase")}
    classification = tables["classification"]
    per_query = pc.value_counts(classification["query_id"].combine_chunks())
    asked = pc.is_in(tables["ranking"]["query_id"], value_set=per_query.field("values"))
    found["classification"] = {
        "queries": len(per_query),
        "pairs": len(classification),
        "pool": _spread(np.asarray(per_query.field("counts"))),
        "anchors": _anchors(tables["ranking"].filter(asked)),
    }
    groups = np.asarray(pc.list_value_length(tables["paraphrase"]["queries"]))
    found["paraphrase"] |= {
        "queries": int(groups.sum()),
        "groups": len(groups),
        "group": _spread(groups),
    }
    del found["paraphrase"]["pairs"]
    return {name: found[name] for name in TASK_CONFIGS}


def labels(tables: Tables) -> Facts:
    """Table 8: share of each grade over the (query, candidate) pairs of T1 and T2, in [0, 1]."""
    ranking = pc.list_flatten(tables["ranking"]["candidates"]).combine_chunks().field("grade")
    pairs = {"ranking": ranking, "classification": tables["classification"]["label"]}
    shares = {}
    for task, grades in pairs.items():
        counts = np.bincount(np.asarray(grades, dtype=np.int64), minlength=len(GRADE_NAMES))
        by_name = zip(GRADE_NAMES, (counts / max(counts.sum(), 1)).tolist(), strict=True)
        shares[task] = dict(reversed(list(by_name)))
    return shares


def tags(ranking: pa.Table) -> Facts:
    """8.0.3: how many ranking queries express each attribute in any of their intents."""
    asked = expressed(ranking["intents"])
    counts = dict(zip(domain().names, asked.sum(axis=0).tolist(), strict=True))
    return {
        "queries": len(ranking),
        "per_query": _spread(asked.sum(axis=1)),
        "counts": dict(sorted(counts.items(), key=lambda item: -item[1])),
    }


def coverage(tables: Tables) -> Facts:
    """8.0.3: products that any task uses; categories and genders over the pairs of T2; prices.

    Prices are those of the products used that have one; ``without_price`` counts the others.
    """
    corpus, person = tables["corpus"], domain().role("person")
    ids = corpus["product_id"].combine_chunks()
    pools = [
        pc.list_flatten(tables[name]["candidates"]).combine_chunks().field("product_id")
        for name in ("ranking", "sibling", "paraphrase")
    ]
    pairs = tables["classification"]["product_id"].combine_chunks()
    used = pc.unique(pa.concat_arrays([*pools, pairs]))
    prices = corpus["price"].take(pc.index_in(used, value_set=ids)).drop_null()
    rows = corpus.take(pc.index_in(pairs, value_set=ids))
    return {
        "products_used": len(used),
        "share_used": len(used) / max(len(corpus), 1),
        "master_categories": _counted(rows["master_category"]),
        **({f"{person.column}s": _counted(rows[person.column])} if person else {}),
        "price": _price(np.asarray(prices)),
        "without_price": len(used) - len(prices),
    }


def _listed(table: pa.Table) -> Facts:
    sizes = np.asarray(pc.list_value_length(table["candidates"]))
    return {
        "queries": len(table),
        "pairs": int(sizes.sum()),
        "pool": _spread(sizes),
        "anchors": _anchors(table),
    }


def _anchors(table: pa.Table) -> int:
    keys = pc.binary_join(table["prefix"].cast(pa.list_(pa.string())), "-")
    return int(pc.count_distinct(keys).as_py())


def _spread(values: Numbers) -> Facts:
    return {
        "mean": float(values.mean()) if len(values) else math.nan,
        "min": int(values.min()) if len(values) else 0,
        "max": int(values.max(initial=0)),
    }


def _counted(column: pa.ChunkedArray) -> dict[str, int]:
    """Number of rows per value, most frequent first; nulls count as "unknown"."""
    counted = pc.value_counts(column.combine_chunks()).to_pylist()
    pairs = [(item["values"] or "unknown", item["counts"]) for item in counted]
    return dict(sorted(pairs, key=lambda item: (-item[1], item[0])))


def _price(prices: Numbers) -> Facts:
    if not len(prices):
        return dict.fromkeys(("min", "median", "mean", "max"), math.nan)
    return {
        "min": float(prices.min()),
        "median": float(np.median(prices)),
        "mean": float(prices.mean()),
        "max": float(prices.max()),
    }
