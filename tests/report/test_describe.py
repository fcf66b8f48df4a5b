"""An edition's statistics, counted by hand on the tiny edition, and how they are shown."""

from __future__ import annotations

import io
import json
import math

import pyarrow as pa
import pytest
from helpers.tiny import tiny_tables, with_column, write_tiny
from rich.console import Console

from fashion_rq_bench.editions.edition import Edition
from fashion_rq_bench.report.tables.describe import describe, description_tables
from fashion_rq_bench.report.tables.paper import paper
from fashion_rq_bench.report.tables.statistics import (
    coverage,
    labels,
    levels,
    overview,
    tags,
    tasks,
)
from fashion_rq_bench.schema.domain import domain
from fashion_rq_bench.schema.tables import TASK_CONFIGS
from fashion_rq_bench.support.files import to_json


@pytest.fixture(scope="module")
def tables():
    return tiny_tables()


def text_of(facts):
    console = Console(file=io.StringIO(), width=160, force_terminal=False)
    for table in description_tables(facts):
        console.print(table)
    return console.file.getvalue()


def test_overview_counts_catalog_clusters_and_queries(tables):
    """48 products, 3 + 6 + 12 clusters, two queries per leaf: "blue shirts for men" with and
    without "looking for"."""
    found = overview(tables["corpus"], tables["clusters"], tables["queries"])
    assert found["products"] == 48
    assert found["article_types"] == 3
    assert found["sub_categories"] == 0
    assert found["base_colors"] == found["genders"] == 2
    assert found["clusters"] == 21
    assert found["queries"] == found["unique_queries"] == 24
    assert found["query_words"] == {"mean": 5.0, "min": 4, "max": 6}
    assert found["queries_per_cluster"] == {"mean": 2.0, "min": 2, "max": 2}


def test_repeated_queries_are_seen(tables):
    texts = tables["queries"]["query"].to_pylist()
    queries = with_column(tables["queries"], "query", [texts[0], texts[0], *texts[2:]])
    assert overview(tables["corpus"], tables["clusters"], queries)["unique_queries"] == 23


def test_levels_count_all_prefixes_and_qualifying_ones(tables):
    """Level 2 keeps 2 of its 6 clusters of 8: coverage 16 / 48."""
    clusters = tables["clusters"]
    keep = [row["level"] != 2 or row["prefix"][0] == 0 for row in clusters.to_pylist()]
    found = levels(tables["corpus"], clusters.filter(pa.array(keep)))
    assert [facts["all"]["clusters"] for facts in found] == [3, 6, 12]
    assert [facts["all"]["mean_size"] for facts in found] == [16.0, 8.0, 4.0]
    assert [facts["qualifying"]["clusters"] for facts in found] == [3, 2, 12]
    assert [facts["coverage"] for facts in found] == [1.0, 16 / 48, 1.0]
    assert found[1]["qualifying"]["smallest"] == found[1]["qualifying"]["largest"] == 8


def test_a_level_without_qualifying_clusters_is_nan_not_an_error(tables):
    clusters = tables["clusters"]
    keep = [row["level"] != 3 for row in clusters.to_pylist()]
    found = levels(tables["corpus"], clusters.filter(pa.array(keep)))[2]["qualifying"]
    assert found["clusters"] == 0
    assert math.isnan(found["mean_size"])
    assert math.isnan(found["purity"])


def test_purity_falls_where_types_are_mixed(tables):
    """One of the four products of a leaf gets another type: 3/4 there, 47 of 48 at level 3."""
    types = tables["corpus"]["article_type"].to_pylist()
    corpus = with_column(tables["corpus"], "article_type", ["Belts", *types[1:]])
    found = levels(corpus, tables["clusters"])
    assert found[2]["all"]["purity"] == pytest.approx(47 / 48)


def test_tasks_count_queries_pairs_and_anchors(tables):
    found = tasks(tables)
    assert list(found) == list(TASK_CONFIGS)
    pool = {"mean": 15.0, "min": 15, "max": 15}
    assert found["ranking"] == {"queries": 24, "pairs": 360, "pool": pool, "anchors": 12}
    assert found["classification"]["pairs"] == 24 * 8
    assert found["classification"]["pool"] == {"mean": 8.0, "min": 8, "max": 8}
    assert found["classification"]["anchors"] == 12
    assert found["paraphrase"]["groups"] == 12
    assert found["paraphrase"]["queries"] == 24
    assert found["paraphrase"]["group"] == {"mean": 2.0, "min": 2, "max": 2}


def test_labels_are_shares_in_the_papers_order(tables):
    found = labels(tables)
    assert list(found["ranking"]) == ["exact", "sibling", "related", "irrelevant"]
    assert found["ranking"] == pytest.approx(
        {"exact": 3 / 15, "sibling": 4 / 15, "related": 4 / 15, "irrelevant": 4 / 15}
    )
    assert set(found["classification"].values()) == {0.25}


def test_tags_count_queries_and_any_intent_counts(tables):
    """One query gets a second intent with a brand; another loses all attributes."""
    intents = tables["ranking"]["intents"].to_pylist()
    intents[0] = [intents[0][0], intents[0][0] | {"brand": ["Arvo"], "color": None}]
    intents[1] = [dict.fromkeys(domain().names)]
    found = tags(with_column(tables["ranking"], "intents", intents))
    assert found["counts"]["product_type"] == found["counts"]["color"] == 23
    assert found["counts"]["brand"] == 1
    assert found["counts"]["price_hint"] == 0
    assert found["per_query"] == {"mean": (22 * 3 + 4) / 24, "min": 0, "max": 4}
    assert list(found["counts"].values()) == sorted(found["counts"].values(), reverse=True)


def test_coverage_counts_products_of_any_task_and_t2_pairs(tables):
    corpus = tables["corpus"]
    genders = corpus["gender"].to_pylist()
    prices = corpus["price"].to_pylist()
    changed = with_column(corpus, "gender", [None, *genders[1:]])
    changed = with_column(changed, "price", [None, 100.0, 100.0, *prices[3:]])
    found = coverage(tables | {"corpus": changed})
    assert found["products_used"] == 48
    assert found["share_used"] == 1.0
    first = corpus["product_id"][0].as_py()
    t2 = tables["classification"]["product_id"].to_pylist()
    assert found["genders"].get("unknown", 0) == t2.count(first)
    assert sum(found["genders"].values()) == len(t2)
    assert found["without_price"] == 1
    assert found["price"]["min"] == 100.0
    assert found["price"]["max"] == max(prices)


def test_paper_figures_agree_with_each_other():
    """Sums and quotients that the paper states twice."""
    assert sum(level["qualifying"]["clusters"] for level in paper()["levels"]) == 588
    ranking = paper()["tasks"]["ranking"]
    assert ranking["pairs"] / ranking["queries"] == pytest.approx(14.8, abs=0.05)
    assert paper()["tasks"]["sibling"]["pairs"] / 1968 == pytest.approx(5.0, abs=0.05)
    assert paper()["coverage"]["products_used"] / 44446 == pytest.approx(0.199, abs=5e-4)
    counts = paper()["tags"]["counts"]
    assert set(counts) == set(domain().names)
    assert sum(counts.values()) / 2477 == pytest.approx(3.8, abs=0.05)
    for key in ("master_categories", "genders"):
        assert sum(paper()["coverage"][key].values()) == 19731
    for shares in paper()["labels"].values():
        assert sum(shares.values()) == pytest.approx(1, abs=2e-3)


def test_describe_gives_json_and_tables_beside_the_paper(tmp_path):
    anchors = {"anchors": 12, "not_anchors": {"no query": 7}}
    tasks = {"anchors": anchors, "quality": {"floor": {"ranking": {"ndcg@10": 0.61}}}}
    write_tiny(tmp_path / "tiny", reports={"tasks": tasks})
    facts = describe(Edition.open(tmp_path / "tiny"))
    assert json.loads(to_json(facts))["overview"]["products"] == 48
    assert set(facts["paper"]) < set(facts)
    shown = text_of(facts)
    for words in (
        "44,446",
        "Table 7",
        "Table 8",
        "2,475",
        "19.9%",
        facts["edition"]["id"],
        "0.6100",
    ):
        assert words in shown


def test_an_edition_without_quality_or_with_wishes_is_shown(tmp_path):
    grades = {"exact": {"pairs": 72, "satisfied": 0.5, "unknown": math.nan}}
    quality = {"floor": {"sibling": {"ndcg@3": 0.25}}, "reference": {}, "wishes": grades}
    write_tiny(tmp_path / "a", reports={})
    write_tiny(tmp_path / "b", reports={"tasks": {"quality": quality}})
    assert "How far" not in text_of(describe(Edition.open(tmp_path / "a")))
    shown = text_of(describe(Edition.open(tmp_path / "b")))
    assert "sibling ndcg@3" in shown
    assert "0.2500" in shown
    assert "50.0%" in shown


def test_names_from_a_catalog_are_shown_as_text(tmp_path):
    tables = tiny_tables()
    corpus = tables["corpus"]
    hostile = with_column(corpus, "gender", ["[bold red]Men[/]"] * len(corpus))
    write_tiny(tmp_path / "tiny", tables | {"corpus": hostile}, name="[link=x]y")
    shown = text_of(describe(Edition.open(tmp_path / "tiny")))
    assert "[bold red]Men[/]" in shown
    assert "[link=x]y" in shown


CHECKS = {
    "queries": 90,
    "unique": 90,
    "failures": {"fits siblings as well": 9},
    "coverage": {"required_types": 30, "gaps": 0, "minor_types": 4, "minor_gaps": 1},
    "satisfied": {"exact": 0.91, "sibling": math.nan},
    "fits_siblings_as_well": 0.1,
}


def test_checks_of_the_queries_are_shown_beside_their_first_drafts(tmp_path):
    first = {**CHECKS, "queries": 100, "fits_siblings_as_well": 0.25}
    revision = {"first_draft": first, "replaced": 7, "kept_though_failing": 9}
    write_tiny(tmp_path, reports={"queries": {"checks": CHECKS, "revision": revision}})
    facts = describe(Edition.open(tmp_path))
    assert facts["checks"] == {**CHECKS, "satisfied": {"exact": 0.91, "sibling": None}}
    rows = [line.split("│") for line in text_of(facts).splitlines() if "│" in line]
    cells = {row[1].strip(): [cell.strip() for cell in row[2:4]] for row in rows}
    assert cells["queries that fit sibling clusters as well"] == ["25.0%", "10.0%"]
    assert cells["sent back and replaced"] == ["", "7"]
    assert cells["queries found faulty: fits siblings as well"] == ["9", "9"]
    assert "10.0% (25.0% of the first drafts)" in (tmp_path / "README.md").read_text("utf-8")
