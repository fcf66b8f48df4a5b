"""The context stage: deltas, signatures, numeric differences, siblings, phrases."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pyarrow as pa
import pytest
from helpers.shop import clusters, shop
from hypothesis import given, settings
from hypothesis import strategies as st

from fashion_rq_bench.builders.context.incidence import axis, column_axis, incidence
from fashion_rq_bench.builders.context.signatures import Level, SignatureRule, signatures
from fashion_rq_bench.builders.context.stage import ContextConfig, context
from fashion_rq_bench.builders.context.title_phrases import title_phrases
from fashion_rq_bench.errors import ConfigError, InputError
from fashion_rq_bench.schema.tables import CLUSTERS

RULES = (
    SignatureRule(0.10, 0.90, 8, ("exclusivity", "precision", "coverage")),
    SignatureRule(0.05, 0.50, 20, ("coverage", "precision", "exclusivity")),
)


@pytest.fixture(scope="module")
def table() -> pa.Table:
    catalog, ids, vectors = shop()
    return context(catalog, ids, clusters(), vectors)


def evidence(table: pa.Table, *prefix: int) -> dict:
    found = [row for row in table.to_pylist() if row["prefix"] == list(prefix)]
    assert len(found) == 1
    return found[0]["evidence"]


def test_schema_and_order(table: pa.Table) -> None:
    assert table.schema.equals(CLUSTERS)
    keys = [(row["level"], row["prefix"]) for row in table.to_pylist()]
    assert keys == sorted(keys)
    assert len(keys) == 4 + 8 + 24


def test_deltas_in_percentage_points(table: pa.Table) -> None:
    black = evidence(table, 0, 0, 0)  # black t-shirts for men; siblings are blue and red
    (found,) = [d for d in black["distribution"] if d["attribute"] == "base_color"]
    assert found["value"] == "Black"
    assert found["share"] == 1.0
    assert found["delta_parent"] == pytest.approx(100 - 100 / 3)
    assert found["delta_siblings"] == [100.0, 100.0]


def test_exclusivity_holds_both_signs(table: pa.Table) -> None:
    black = evidence(table, 0, 0, 0)
    deltas = {(c["attribute"], c["value"], c["against"]): c["delta"] for c in black["exclusivity"]}
    assert deltas["base_color", "Black", "sibling 1"] == 100
    assert deltas["base_color", "Blue", "sibling 1"] == -100
    assert all(abs(delta) >= 20 for delta in deltas.values())
    assert not [key for key in deltas if key[0] == "gender"]


def test_siblings_are_nearest_first(table: pa.Table) -> None:
    red = evidence(table, 0, 0, 2)
    assert [s["prefix"] for s in red["siblings"]] == [[0, 0, 1], [0, 0, 0]]
    first = evidence(table, 3)
    assert [s["prefix"] for s in first["siblings"]] == [[2], [1], [0]]
    assert first["parent_size"] == 168


def test_numeric_statistics(table: pa.Table) -> None:
    found = {
        n["statistic"]: n
        for n in evidence(table, 0, 0, 0)["numeric"]
        if n["attribute"] == "price" and n["against"] == "parent"
    }
    prices = np.array([300.0, 400, 500, 600])
    assert found["mean"]["value"] == 450
    assert found["q25"]["value"] == np.quantile(prices, 0.25)
    assert found["q75"]["value"] == np.quantile(prices, 0.75)
    assert (found["min"]["value"], found["max"]["value"]) == (300, 600)
    assert found["median"]["delta"] == 0


def test_type_axis_prefers_the_most_specific(table: pa.Table) -> None:
    assert evidence(table, 0, 0, 0)["product_type_axis"] == "article_type"
    types = evidence(table, 0)["product_types"]
    assert types == [{"value": "Tshirts", "count": 42, "share": 1.0}]


def test_discriminating_signature_of_a_leaf(table: pa.Table) -> None:
    best = evidence(table, 2, 1, 1)["discriminating"][0]
    pairs = {(pair["attribute"], pair["value"]) for pair in best["pairs"]}
    assert ("base_color", "Blue") in pairs
    assert ("gender", "Women") in pairs
    assert (best["coverage"], best["precision"], best["exclusivity"]) == (1.0, 1.0, 1.0)


def test_phrases_leave_out_names() -> None:
    catalog, _, _ = shop()
    assert title_phrases(catalog, min_count=5).values == ["printed"]
    assert title_phrases(catalog.slice(0, 0)).values == []


def test_tables_must_be_aligned() -> None:
    catalog, ids, vectors = shop()
    with pytest.raises(InputError, match="catalog's order"):
        context(catalog, ids.take(list(range(len(ids)))[::-1]), clusters(), vectors)


@pytest.mark.parametrize(
    "wrong", [{"max_combination": 4}, {"min_share": 1.5}, {"min_delta": 0.0}, {"siblings": -1}]
)
def test_config_is_checked(wrong: dict) -> None:
    with pytest.raises(ConfigError):
        ContextConfig(**wrong)


@st.composite
def small_catalogs(draw: st.DrawFn) -> tuple[np.ndarray, list[list[str | None]]]:
    n = draw(st.integers(4, 14))
    leaves = draw(st.lists(st.integers(0, 2), min_size=n, max_size=n))
    value = st.sampled_from([None, "a", "b", "c"])
    columns = [draw(st.lists(value, min_size=n, max_size=n)) for _ in range(4)]
    return np.unique(np.array(leaves), return_inverse=True)[1], columns


@given(small_catalogs())
@settings(max_examples=60, deadline=None)
def test_signatures_equal_brute_force(case: tuple[np.ndarray, list[list[str | None]]]) -> None:
    leaf, columns = case
    n, n_clusters = len(leaf), int(leaf.max()) + 1
    axes = [axis(f"x{i}", np.arange(n), pa.array(c, pa.string())) for i, c in enumerate(columns)]
    others = [[o for o in range(n_clusters) if o != c][:1] or [-1] for c in range(n_clusters)]
    siblings = np.array(others)
    level = Level(np.arange(n_clusters), np.bincount(leaf), np.ones(n_clusters, bool), siblings)
    found = signatures(axes, leaf, [level], RULES)[0]
    for rule, per_cluster in zip(RULES, found, strict=True):
        for cluster in range(n_clusters):
            expected = brute_force(columns, leaf, cluster, siblings[cluster], rule)
            got = [
                (s.pairs, round(s.coverage, 9), round(s.precision, 9), round(s.exclusivity, 9))
                for s in per_cluster.get(cluster, [])
            ]
            assert got == expected[: rule.top]


def brute_force(columns, leaf, cluster, siblings, rule):  # type: ignore[no-untyped-def]
    rows = []
    inside = leaf == cluster
    for size in (1, 2, 3):
        for chosen in combinations(range(len(columns)), size):
            combos = {tuple(columns[i][p] for i in chosen) for p in np.flatnonzero(inside)}
            for values in combos:
                if None in values:
                    continue
                holds = np.array(
                    [tuple(columns[i][p] for i in chosen) == values for p in range(len(leaf))]
                )
                coverage, precision = holds[inside].mean(), inside[holds].mean()
                rival = max((holds[leaf == s].mean() for s in siblings if s >= 0), default=0.0)
                if coverage >= rule.coverage and precision >= rule.precision:
                    pairs = tuple((f"x{i}", v) for i, v in zip(chosen, values, strict=True))
                    figures = {
                        "coverage": coverage,
                        "precision": precision,
                        "exclusivity": coverage - rival,
                    }
                    rank = [-round(figures[name], 12) for name in rule.order]
                    rows.append(((*rank, size, pairs), pairs, figures))
    rows.sort(key=lambda one: one[0])
    return [
        (pairs, round(f["coverage"], 9), round(f["precision"], 9), round(f["exclusivity"], 9))
        for _, pairs, f in rows
    ]


def test_incidence_counts_a_repeated_value_once() -> None:
    table = pa.table({"style": pa.array([["a", "a", "b"], None, []], pa.list_(pa.string()))})
    found = incidence([column_axis(table, "style")], 3)
    assert found.names == [("style", "a"), ("style", "b")]
    assert found.matrix.toarray().tolist() == [[1, 1], [0, 0], [0, 0]]


@pytest.mark.data
@pytest.mark.slow
def test_real_titles_have_telling_phrases(shared_data) -> None:  # type: ignore[no-untyped-def]
    from fashion_rq_bench.builders.catalog import read_catalog

    catalog = read_catalog(shared_data / "myntra-catalog.parquet").table
    phrases = set(title_phrases(catalog).values)
    assert {"printed", "striped", "polo", "chronograph"} <= phrases
    assert not phrases & {"black", "puma", "men", "kurta"}
