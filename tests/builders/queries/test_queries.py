"""Queries of a small shop: wishes measured, coverage, uniqueness, determinism."""

from __future__ import annotations

import io

import numpy as np
import pyarrow as pa
import pytest
from helpers.shop import clusters, shop

from fashion_rq_bench.builders.context.stage import context
from fashion_rq_bench.builders.queries import QueryConfig, QueryResult, generate
from fashion_rq_bench.builders.queries.grammar.noise import typed_in_haste
from fashion_rq_bench.builders.queries.say.candidate_wishes import candidates, masks, wish_incidence
from fashion_rq_bench.builders.queries.say.evidence import read_evidence
from fashion_rq_bench.builders.queries.say.planning import Planner
from fashion_rq_bench.builders.queries.say.wish_sets import PrefixIndex, WishSpace
from fashion_rq_bench.builders.queries.show import render_cluster
from fashion_rq_bench.errors import ConfigError, InputError
from fashion_rq_bench.schema.tables import queries_schema
from fashion_rq_bench.support.files import to_json
from fashion_rq_bench.words.vocabulary import fold


@pytest.fixture(scope="module")
def evidence() -> pa.Table:
    catalog, ids, vectors = shop()
    return context(catalog, ids, clusters(), vectors)


@pytest.fixture(scope="module")
def result(evidence: pa.Table) -> QueryResult:
    catalog, ids, _ = shop()
    return generate(evidence, catalog, ids, QueryConfig(seed=3))


def codes() -> np.ndarray:
    return np.array(shop()[1]["semantic_id"].to_pylist())


def test_tiers_of_a_prefix() -> None:
    around = PrefixIndex(codes()).around((0, 0, 1))
    assert [len(tier) for tier in around.tiers] == [7, 14, 21, 126]
    assert sorted(np.concatenate(around.tiers)) == list(range(168))
    top = PrefixIndex(codes()).around((2,))
    assert [len(tier) for tier in top.tiers] == [42, 126, 0, 0]


def test_large_tiers_are_thinned() -> None:
    around = PrefixIndex(codes(), limit=10).around((0, 0, 1))
    assert len(around.exact) == 7
    assert len(around.other) <= 10


def test_best_set_names_what_differs() -> None:
    catalog, _, _ = shop()
    space = WishSpace(wish_incidence(catalog), PrefixIndex(codes()).around((0, 0, 1)))
    best = space.best()[0]
    assert best.values["color"] == ("Blue",)
    assert (best.exact, best.sibling) == (1.0, 0.0)


def test_shares_are_measured_on_products() -> None:
    catalog, _, _ = shop()
    index = PrefixIndex(codes())
    around = index.around((3, 1, 2))
    values = wish_incidence(catalog)
    space = WishSpace(values, around)
    rows = catalog.to_pylist()
    for found in space.best()[:20]:
        said = {k: v for k, v in found.values.items() if k in ("color", "gender", "product_type")}
        if said.keys() != found.values.keys():
            continue
        columns = {"color": "base_color", "gender": "gender", "product_type": "article_type"}
        for tier, share in ((around.exact, found.exact), (around.sibling, found.sibling)):
            held = [all(rows[p][columns[k]] in v for k, v in said.items()) for p in tier]
            assert share == pytest.approx(np.mean(held))


def test_candidates_are_grounded() -> None:
    catalog, _, _ = shop()
    values = wish_incidence(catalog)
    products = PrefixIndex(codes()).members((2, 0))  # formal shoes for men, three colours
    found = {(one.wish.attribute, one.wish.values) for one in candidates(values, products, False)}
    assert ("color", ("Black", "Blue", "Red")) in found
    assert not [values for name, values in found if name == "color" and len(values) == 1]
    assert ("product_type", ("Formal Shoes",)) in found
    prices = [one for one in candidates(values, products, False) if one.lenient]
    assert [one.wish.attribute for one in prices] == ["price_hint"]
    assert masks(values, products, prices).all()


def test_schema_counts_and_ids(result: QueryResult) -> None:
    table = result.table
    assert table.schema.equals(queries_schema())
    counts = np.unique([str(p) for p in table["prefix"].to_pylist()], return_counts=True)[1]
    assert len(counts) == 36
    assert counts.min() >= 2
    assert counts.max() <= 12
    ids = table["query_id"].to_pylist()
    assert len(set(ids)) == len(ids)
    keys = [(row["level"], row["prefix"]) for row in table.to_pylist()]
    assert keys == sorted(keys)


def test_texts_are_unique_and_of_good_length(result: QueryResult) -> None:
    texts = result.table["query"].to_pylist()
    assert len({fold(text) for text in texts}) == len(texts)
    assert all(3 <= len(text.split()) <= 26 for text in texts)
    assert result.report["unique"] == result.report["queries"] == len(texts)


def test_report_holds_the_checks(result: QueryResult) -> None:
    checks = result.report["checks"]
    assert checks["coverage"]["gaps"] == 0
    assert checks["queries"] == len(result.table)


def test_leaf_queries_fit_their_leaf(result: QueryResult) -> None:
    assert result.report["satisfied"]["exact"] > 0.95
    leaves = [row for row in result.table.to_pylist() if row["level"] == 3]
    colors = ["black", "blue", "red"]
    told = [row for row in leaves if row["intents"][0]["color"]]
    assert len(told) > 0.8 * len(leaves)
    for row in told:
        assert row["intents"][0]["color"] == [colors[row["prefix"][2]]]


def test_same_seed_same_bytes(result: QueryResult, evidence: pa.Table) -> None:
    catalog, ids, _ = shop()
    again = generate(evidence, catalog, ids, QueryConfig(seed=3))
    assert again.table.equals(result.table)
    assert to_json(again.report) == to_json(result.report)
    other = generate(evidence, catalog, ids, QueryConfig(seed=4))
    assert not other.table["query"].equals(result.table["query"])


def test_one_cluster_does_not_depend_on_others(result: QueryResult, evidence: pa.Table) -> None:
    catalog, ids, _ = shop()
    alone = generate(evidence.slice(20, 1), catalog, ids, QueryConfig(seed=3)).table
    prefix = alone["prefix"].to_pylist()[0]
    inside = {row["query"] for row in result.table.to_pylist() if row["prefix"] == prefix}
    same = set(alone["query"].to_pylist()) & inside
    assert len(same) >= len(alone) - 1  # but for texts that another cluster took first


def test_catch_all_for_minor_types() -> None:
    catalog, ids, vectors = shop()
    types = catalog["article_type"].to_pylist()
    types[0], types[1] = "Ties", "Ties"  # 2 of 42 products of the first cluster
    changed = catalog.set_column(
        catalog.schema.get_field_index("article_type"), "article_type", pa.array(types)
    )
    top = clusters().filter(pa.array([p == [0] for p in clusters()["prefix"].to_pylist()]))
    found = context(changed, ids, top, vectors)
    (one,) = read_evidence(found)
    assert one.minor_types() == ("Ties",)
    table = generate(found, changed, ids).table
    named = {i["product_type"] for row in table.to_pylist() for i in row["intents"]}
    assert named & {"ties", "topwear", "apparel"}


def test_refusals(evidence: pa.Table) -> None:
    catalog, ids, _ = shop()
    with pytest.raises(InputError, match="catalog's order"):
        generate(evidence, catalog.slice(1), ids)
    for wrong in (
        {"seed": -1},
        {"min_queries": 0},
        {"min_words": 30},
        {"max_queries": 2},
        {"noise": 2.0},
    ):
        with pytest.raises(ConfigError):
            QueryConfig(**wrong)


def test_noise_is_labelled(evidence: pa.Table, result: QueryResult) -> None:
    catalog, ids, _ = shop()
    noisy = generate(evidence, catalog, ids, QueryConfig(seed=3, noise=0.5)).table
    sources = noisy["source"].to_pylist()
    assert 0.3 < sources.count("grammar-noisy") / len(sources) < 0.7
    hasty = [q for q, s in zip(noisy["query"].to_pylist(), sources, strict=True) if "noisy" in s]
    assert all(text == text.lower() and not text.endswith(("?", ".")) for text in hasty)
    assert set(result.table["source"].to_pylist()) == {"grammar"}


def test_brands_are_typed_rightly() -> None:
    rng = np.random.default_rng(0)
    texts = [typed_in_haste("I want Wrangler jeans.", rng, ["wrangler"]) for _ in range(50)]
    assert all("wrangler" in text for text in texts)
    assert len(set(texts)) > 3


def test_no_clusters_no_queries(evidence: pa.Table) -> None:
    catalog, ids, _ = shop()
    empty = generate(evidence.slice(0, 0), catalog, ids)
    assert len(empty.table) == 0
    assert empty.report["queries"] == 0


def test_shown_text_is_not_markup(result: QueryResult, evidence: pa.Table) -> None:
    from rich.console import Console

    catalog, _, _ = shop()
    cluster = evidence.slice(12, 1).to_pylist()[0]
    item = {**catalog.to_pylist()[0], "title": "[red]<script>alert(1)</script>[/red]"}
    out = io.StringIO()
    Console(file=out, width=200).print(
        render_cluster(cluster, [item], result.table.to_pylist()[:3])
    )
    assert "[red]<script>" in out.getvalue()
    assert "What sets it apart" in out.getvalue()


def test_failing_queries_go_back_once_and_are_counted(evidence: pa.Table) -> None:
    catalog, ids, _ = shop()
    colors = ["Black"] * len(catalog)  # no colour tells leaves apart any more
    blind = catalog.set_column(
        catalog.schema.get_field_index("base_color"), "base_color", pa.array(colors)
    )
    made = generate(evidence, blind, ids, QueryConfig(seed=3))
    revision, checks = made.report["revision"], made.report["checks"]
    leaves = [tuple(row["prefix"]) for row in made.table.to_pylist() if row["level"] == 3]
    assert {leaves.count(prefix) for prefix in leaves} == {2}  # the least that a cluster keeps
    assert revision["first_draft"]["failures"]["fits siblings as well"] > len(leaves)
    assert revision["kept_though_failing"] == checks["failures"]["fits siblings as well"]
    assert revision["clusters_at_minimum"] == 24
    sent, gone = revision["sent_back"], revision["dropped"]
    assert sum(sent.values()) >= revision["replaced"] + sum(gone.values())
    drafted = revision["first_draft"]["queries"]
    assert len(made.table) == drafted - gone["fits siblings as well"]


def test_a_revised_query_says_what_the_siblings_lack(evidence: pa.Table) -> None:
    catalog, _, _ = shop()
    index = PrefixIndex(codes())
    values = wish_incidence(catalog)
    (leaf,) = [one for one in read_evidence(evidence) if one.prefix == (0, 0, 1)]
    planner = Planner(catalog, index, values)
    rng = np.random.default_rng(0)
    planned = next(planner.plans(leaf, 6, rng))
    second = planner.revise(planned, ["fits siblings as well"], rng)
    assert second is not None
    assert second.plan.wishes["color"] == ("Blue",)
    shorter = planner.revise(planned, ["length"], rng)
    assert shorter is not None
    assert len(shorter.wishes.wishes) == len(planned.wishes.wishes) - 1
    assert planner.revise(planned, ["near-duplicate"], rng) == planned


def test_a_checked_out_draft_is_not_revised(evidence: pa.Table) -> None:
    catalog, ids, _ = shop()
    made = generate(evidence, catalog, ids, QueryConfig(seed=3, check=False))
    assert "revision" not in made.report
    assert "checks" not in made.report


def test_age_is_said_once(evidence: pa.Table) -> None:
    catalog, _, _ = shop()
    kids = catalog.set_column(
        catalog.schema.get_field_index("age_group"), "age_group", pa.array(["kids"] * len(catalog))
    ).set_column(
        catalog.schema.get_field_index("gender"), "gender", pa.array(["Boys"] * len(catalog))
    )
    space = WishSpace(wish_incidence(kids), PrefixIndex(codes()).around((0, 0, 1)))
    assert not [one for one in space.best() if {"age_group", "gender"} <= one.values.keys()]


def test_nearest_siblings_are_the_contrast_above_the_leaves() -> None:
    index = PrefixIndex(codes())
    around = index.around((0,), nearest=[(1,)])
    assert [len(tier) for tier in around.tiers] == [42, 42, 84, 0]
    leaf = index.around((0, 0, 1), nearest=[(0, 0, 2)])
    assert [len(tier) for tier in leaf.tiers] == [7, 14, 21, 126]
