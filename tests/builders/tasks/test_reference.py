"""Floor, oracle reference and wishes, against brute force and hand-worked pools."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pyarrow as pa
import pytest
from helpers.planted import planted

from fashion_rq_bench.builders.tasks.candidate_pools import Pools, draw_pools, pool_pairs
from fashion_rq_bench.builders.tasks.config import TaskConfig
from fashion_rq_bench.builders.tasks.reference_scores import reference, wish_satisfaction
from fashion_rq_bench.builders.tasks.stage import tasks
from fashion_rq_bench.relevance.pair_relevance import PairMatches, match_pairs
from fashion_rq_bench.relevance.satisfaction import satisfaction_by_tier, wishes_satisfied
from fashion_rq_bench.relevance.similarity import LexicalSimilarity
from fashion_rq_bench.schema.domain import domain
from fashion_rq_bench.schema.tables import queries_schema


def hand_made(grades, sibling_targets, queries=2):
    """One anchor with ``queries`` queries over one pool, and a T3 pool for each."""
    intent = dict.fromkeys(domain().names) | {"product_type": "shirt"}
    rows = [
        {
            "query_id": f"q{i}",
            "query": f"query {i}",
            "prefix": [0, 0, 0],
            "level": 3,
            "intents": [intent],
            "source": "test",
        }
        for i in range(queries)
    ]
    size, small = len(grades), len(sibling_targets)
    return Pools(
        prefixes=np.zeros((1, 3), dtype=np.int64),
        article_types=("Shirts",),
        queries=pa.Table.from_pylist(rows, schema=queries_schema()),
        query_anchor=np.zeros(queries, dtype=np.int64),
        offsets=np.array([0, size]),
        products=np.arange(size),
        grades=np.array(grades, dtype=np.int8),
        in_classification=np.ones(size, dtype=np.bool_),
        sibling_queries=np.arange(queries),
        sibling_offsets=np.arange(queries + 1) * small,
        sibling_products=np.tile(np.arange(small), queries),
        targets=np.tile(np.array(sibling_targets, dtype=np.bool_), queries),
        counts={},
    )


def matches_of(rel):
    rel = np.array(rel, dtype=np.float64)
    match = np.full((len(rel), len(domain().names)), np.nan)
    match[:, 0] = rel
    told = ~np.isnan(match)
    no = np.zeros_like(told)
    return PairMatches(match, no, no, told, rel, rel, np.zeros(len(rel), dtype=np.int64))


IDS = pa.array([f"p{i:02d}" for i in range(15)])


def dcg(gains):
    return sum(gain / math.log2(place + 2) for place, gain in enumerate(gains))


def test_floor_is_the_mean_over_all_orders():
    """Six candidates, 720 orders each; k exceeds the pool, so Recall@10 is 1."""
    grades, targets = [3, 2, 2, 1, 0, 0], [1, 0, 0, 0]
    pools = hand_made(grades, targets)
    floor = reference(pools, matches_of(np.zeros(20)), IDS)["quality"]["floor"]
    orders = list(itertools.permutations(grades))
    ideal = dcg(sorted(grades, reverse=True))
    ndcg = np.mean([dcg(order) for order in orders]) / ideal
    assert floor["ranking"] == pytest.approx({"ndcg@10": ndcg, "recall@10": 1.0})
    accuracy = np.mean([np.mean(np.array(order) == [3, 2, 2, 1, 0, 0]) for order in orders])
    assert floor["classification"]["accuracy"] == pytest.approx(accuracy)
    recalls = [1 in order[:3] for order in itertools.permutations(targets)]
    assert floor["sibling"]["recall@3"] == pytest.approx(np.mean(recalls))
    gains = [dcg(order[:3]) for order in itertools.permutations(targets)]
    assert floor["sibling"]["ndcg@3"] == pytest.approx(np.mean(gains))
    subsets = [set(chosen) for chosen in itertools.combinations(range(6), 5)]
    overlap = np.mean([len(a & b) / len(a | b) for a in subsets for b in subsets])
    assert floor["paraphrase"] == pytest.approx({"consistency@5": overlap, "consistency@10": 1.0})


def test_floor_of_a_full_pool_is_what_the_paper_implies():
    """Recall@10 of 15 is 10/15 whatever counts as relevant; T2 in 2/2/2/2 is a quarter."""
    pools = hand_made([3] * 3 + [2] * 4 + [1] * 4 + [0] * 4, [1, 0, 0, 0, 0])
    pools.in_classification[:] = np.isin(np.arange(15), [0, 1, 3, 4, 7, 8, 11, 12])
    floor = reference(pools, matches_of(np.zeros(40)), IDS)["quality"]["floor"]
    assert floor["ranking"]["recall@10"] == pytest.approx(10 / 15)
    assert floor["classification"] == pytest.approx({"accuracy": 0.25, "macro_f1": 0.25})
    assert floor["sibling"]["recall@3"] == pytest.approx(3 / 5)


def test_an_oracle_that_follows_the_grades_is_perfect():
    grades, targets = [3, 2, 1, 0, 0, 0], [0, 1, 0, 0]
    rel = np.concatenate(
        [np.tile([1.0, 0.8, 0.5, 0.3, 0.2, 0.1], 2), np.tile([0.1, 0.9, 0.3, 0.2], 2)]
    )
    found = reference(hand_made(grades, targets), matches_of(rel), IDS)["quality"]["reference"]
    for task, metrics in found.items():
        assert metrics == pytest.approx(dict.fromkeys(metrics, 1.0)), task


def test_oracle_by_hand():
    """Scores put grades in the order 2, 3, 0, 1 and the target second of four."""
    pools = hand_made([3, 2, 1, 0], [1, 0, 0, 0])
    rel = np.concatenate([np.tile([0.8, 0.9, 0.1, 0.2], 2), np.tile([0.5, 0.6, 0.1, 0.2], 2)])
    found = reference(pools, matches_of(rel), IDS)["quality"]["reference"]
    expected = dcg([2, 3, 0, 1]) / dcg([3, 2, 1, 0])
    assert found["ranking"]["ndcg@10"] == pytest.approx(expected)
    assert found["classification"]["accuracy"] == 0.0
    assert found["sibling"] == pytest.approx({"ndcg@3": 1 / math.log2(3), "recall@3": 1.0})


def test_queries_without_attributes_score_zero_and_are_counted():
    pools = hand_made([3, 2, 1, 0], [1, 0, 0, 0])
    rel = np.concatenate([[np.nan] * 4, [0.9, 0.8, 0.7, 0.6], np.zeros(8)])
    found = reference(pools, matches_of(rel), IDS)
    assert found["pairs_without_match"] == 4
    floor = found["quality"]["floor"]["ranking"]["ndcg@10"]
    assert found["quality"]["reference"]["ranking"]["ndcg@10"] == pytest.approx((1 + floor) / 2)


@pytest.fixture(scope="module")
def drawn():
    world = planted(30, 1500, (3, 3, 6))
    groups = np.arange(len(world.ids))
    pools = draw_pools(world.ids, world.codes, groups, world.clusters, world.queries, TaskConfig())
    used, query_index, product_index = pool_pairs(pools)
    matches = match_pairs(
        pools.queries["intents"],
        world.catalog.take(used),
        query_index,
        product_index,
        LexicalSimilarity(),
    )
    return world, pools, matches


def test_wishes_over_all_pairs_agree_with_the_metric_library(drawn):
    _, pools, matches = drawn
    pairs = int(np.diff(pools.offsets)[pools.query_anchor].sum())
    grades = np.concatenate(
        [pools.grades[pools.offsets[a] : pools.offsets[a + 1]] for a in pools.query_anchor]
    )
    expected = satisfaction_by_tier(grades, wishes_satisfied(matches.take(np.arange(pairs))))
    found = wish_satisfaction(pools, matches)["all"]
    assert list(found) == ["exact", "sibling", "related", "irrelevant"]
    for grade, name in enumerate(("irrelevant", "related", "sibling", "exact")):
        assert found[name]["pairs"] == expected[grade].n
        assert found[name]["satisfied"] == pytest.approx(expected[grade].satisfied)
        assert found[name]["unknown"] == pytest.approx(expected[grade].unknown)


def test_wishes_by_number_and_by_type_add_up(drawn):
    _, pools, matches = drawn
    found = wish_satisfaction(pools, matches)
    assert set(found["by_number_of_wishes"]) == {"1", "3"}
    for parts in (found["by_number_of_wishes"], found["by_product_type"]):
        for grade, total in found["all"].items():
            pairs = [part[grade]["pairs"] for part in parts.values()]
            assert sum(pairs) == total["pairs"]
            satisfied = sum(
                part[grade]["satisfied"] * part[grade]["pairs"]
                for part in parts.values()
                if part[grade]["pairs"]
            )
            assert satisfied == pytest.approx(total["satisfied"] * total["pairs"])
    one, three = (found["by_number_of_wishes"][n]["sibling"]["satisfied"] for n in ("1", "3"))
    assert one > three


def test_the_build_reports_them(drawn):
    world, *_ = drawn
    parts = (world.catalog, world.semantic_ids, world.clusters, world.queries)
    report = tasks(*parts, LexicalSimilarity()).report
    assert set(report) == {"anchors", "quality", "wishes", "pairs_without_match"}
    floor, above = report["quality"]["floor"], report["quality"]["reference"]
    assert set(floor) == set(above) == {"ranking", "classification", "sibling", "paraphrase"}
    for task, metrics in floor.items():
        for name, value in metrics.items():
            assert 0 < value < above[task][name] <= 1
