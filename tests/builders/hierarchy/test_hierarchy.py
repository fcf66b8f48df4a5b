"""Prefix clusters against hand-worked figures, a plain loop and a random oracle."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fashion_rq_bench.builders.hierarchy.clusters import (
    HIERARCHY,
    Hierarchy,
    HierarchyConfig,
    hierarchy,
    perplexity,
)
from fashion_rq_bench.errors import BuildError, ConfigError
from fashion_rq_bench.schema.tables import SEMANTIC_IDS


def build(codes: list[list[int]], types: list[str | None], **config: Any) -> Hierarchy:
    ids = [f"p{row}" for row in range(len(codes))]
    table = pa.table([ids, codes], schema=SEMANTIC_IDS)
    catalog = pa.table({"product_id": ids, "article_type": pa.array(types, pa.string())})
    return hierarchy(table, catalog, HierarchyConfig(**config))


def by_prefix(built: Hierarchy) -> dict[tuple[int, ...], dict]:
    return {tuple(row["prefix"]): row for row in built.clusters.to_pylist()}


def test_by_hand() -> None:
    codes = [[3, 0], [3, 0], [3, 1], [3, 1], [0, 0], [0, 0]]
    types = ["Shirts", "Shirts", "Tops", None, None, None]
    built = build(codes, types, min_size=2, min_purity=0.6)
    found = by_prefix(built)
    assert list(found) == [(0,), (3,), (0, 0), (3, 0), (3, 1)]
    assert found[3,] == {
        "prefix": [3],
        "level": 1,
        "size": 4,
        "labelled": 3,
        "purity": pytest.approx(2 / 3),
        "article_type": "Shirts",
        "qualifying": True,
    }
    assert found[3, 1]["purity"] == 1.0
    assert found[3, 1]["labelled"] == 1
    unlabelled = found[0, 0]
    assert math.isnan(unlabelled["purity"])
    assert unlabelled["article_type"] is None
    assert not unlabelled["qualifying"]
    first, second = built.statistics
    assert first["coverage"] == pytest.approx(4 / 6)
    assert first["unlabelled_clusters"] == 1
    assert first["all"] == {
        "clusters": 2,
        "items": 6,
        "mean_size": 3.0,
        "smallest": 2,
        "largest": 4,
        "purity": pytest.approx(2 / 3),
        "mean_purity": pytest.approx(2 / 3),
    }
    assert second["qualifying"]["clusters"] == 2
    assert second["qualifying"]["purity"] == 1.0
    assert first["codes_used"] == 2
    assert first["perplexity"] == pytest.approx(math.exp(math.log(3) - 2 / 3 * math.log(2)))


def test_equally_frequent_types_give_the_first_by_name() -> None:
    built = build([[1]] * 4, ["Tops", "Shirts", "Tops", "Shirts"], min_purity=0.5)
    assert built.clusters["article_type"].to_pylist() == ["Shirts"]


def test_nothing_qualifies() -> None:
    built = build([[0, 0], [1, 0]], ["a", "b"])
    assert built.statistics[0]["coverage"] == 0.0
    assert math.isnan(built.statistics[0]["qualifying"]["purity"])
    assert built.statistics[0]["qualifying"]["clusters"] == 0


rows = st.lists(
    st.tuples(
        st.integers(0, 2), st.integers(0, 3), st.integers(0, 65_535), st.sampled_from("abc-")
    ),
    min_size=1,
    max_size=40,
)


@settings(max_examples=60, deadline=None)
@given(rows=rows)
def test_equals_a_plain_loop(rows: list[tuple[int, int, int, str]]) -> None:
    codes = [list(row[:3]) for row in rows]
    types = [None if row[3] == "-" else row[3] for row in rows]
    built = build(codes, types, min_size=2)
    assert built.clusters.schema == HIERARCHY
    members: dict[tuple[int, ...], list[str | None]] = defaultdict(list)
    for code, kind in zip(codes, types, strict=True):
        for level in (1, 2, 3):
            members[tuple(code[:level])].append(kind)
    found = by_prefix(built)
    assert list(found) == sorted(members, key=lambda prefix: (len(prefix), prefix))
    for prefix, kinds in members.items():
        known = Counter(kind for kind in kinds if kind is not None)
        row = found[prefix]
        assert (row["size"], row["labelled"]) == (len(kinds), known.total())
        if known:
            best = min(known, key=lambda kind: (-known[kind], kind))
            assert row["article_type"] == best
            assert row["purity"] == pytest.approx(known[best] / known.total())
        expected = bool(known) and len(kinds) >= 2 and row["purity"] >= 0.8
        assert row["qualifying"] is expected


@settings(max_examples=30, deadline=None)
@given(counts=st.lists(st.integers(0, 50), min_size=1, max_size=30).filter(any))
def test_perplexity_lies_between_one_and_the_codes_in_use(counts: list[int]) -> None:
    code = np.repeat(np.arange(len(counts)), counts)
    assert 1 - 1e-9 <= perplexity(code) <= np.count_nonzero(counts) + 1e-9


def test_other_products_are_refused() -> None:
    ids = pa.table([["a"], [[1]]], schema=SEMANTIC_IDS)
    with pytest.raises(BuildError, match="same products"):
        hierarchy(ids, pa.table({"product_id": ["b"], "article_type": ["x"]}))


def test_bad_settings_are_refused() -> None:
    with pytest.raises(ConfigError):
        HierarchyConfig(min_size=0)
    with pytest.raises(ConfigError):
        HierarchyConfig(min_purity=1.5)
    with pytest.raises(ConfigError, match="Purity"):
        build([[0]], ["a"], attribute="articleType")
