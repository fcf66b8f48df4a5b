"""R(q, p), AttrScore and their counts: by hand, against a per-pair loop, and by properties."""

from __future__ import annotations

from itertools import pairwise, permutations
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from helpers import reference_relevance as reference
from helpers.judged import products_of
from helpers.paths import ROOT
from hypothesis import given, settings
from hypothesis import strategies as st

from fashion_rq_bench.errors import ConfigError, MetricInputError
from fashion_rq_bench.relevance import (
    RelevanceConfig,
    attr_scores,
    catalog_strings,
    default_weights,
    expressed,
    intent_strings,
    match_pairs,
    rank_weights,
    relevance,
    required_strings,
    score_rankings,
    summarise,
)
from fashion_rq_bench.relevance.intents import intents_array
from fashion_rq_bench.relevance.satisfaction import wishes_satisfied
from fashion_rq_bench.relevance.similarity import LexicalSimilarity, StringTable
from fashion_rq_bench.schema.domain import domain, load_domain, using
from fashion_rq_bench.schema.tables import intent_type

LEXICAL = LexicalSimilarity()
AT = {name: position for position, name in enumerate(domain().names)}
SHIRT = {
    "master_category": "Apparel",
    "sub_category": "Topwear",
    "article_type": "Shirts",
    "base_color": "Black",
    "gender": "Men",
    "brand": "Arrow",
    "price": 1500.0,
}


def one(intents: Any, product: dict[str, Any], **options: Any):
    return match_pairs([intents], products_of(product), [0], [0], LEXICAL, **options)


def test_weights_are_the_papers() -> None:
    assert set(default_weights()) == set(domain().names)
    assert sum(default_weights().values()) == pytest.approx(0.999)


def test_relevance_by_hand() -> None:
    """Gender 0.1, colour 1, price 0.3, brand missing: Eq. 7 over the four expressed attributes."""
    intent = {"gender": "women", "color": "black", "price_hint": "budget", "brand": "Puma"}
    found = one(intent, SHIRT | {"brand": None})
    expected = (0.127 * 0.1 + 0.138 * 1.0 + 0.024 * 0.3 + 0.211 * 0.5) / 0.5
    assert found.rel[0] == pytest.approx(expected)
    known = (0.127 * 0.1 + 0.138 * 1.0 + 0.024 * 0.3) / 0.289
    assert found.rel_known[0] == pytest.approx(known)
    assert found.missing[0].nonzero()[0].tolist() == [AT["brand"]]
    assert np.isnan(found.match[0, AT["material"]])


def test_weights_are_renormalised_and_optional() -> None:
    intent = {"gender": "women", "color": "black"}
    weights = {"gender": 3.0, "color": 1.0}
    found = one(intent, SHIRT, config=RelevanceConfig(weights=weights))
    assert found.rel[0] == pytest.approx((3 * 0.1 + 1.0) / 4)
    only = one(intent, SHIRT, config=RelevanceConfig(weights={"color": 7.0}))
    assert only.rel[0] == 1.0


def test_a_query_whose_attributes_weigh_nothing_is_undefined() -> None:
    found = one({"gender": "men"}, SHIRT, config=RelevanceConfig(weights={"color": 1.0}))
    assert np.isnan(found.rel[0])
    assert found.match[0, AT["gender"]] == 1.0


@pytest.mark.parametrize(
    "weights", [{"colour": 1.0}, {"color": -0.1}, {"color": float("nan")}, {"color": 0.0}, {}]
)
def test_bad_weights(weights: dict[str, float]) -> None:
    with pytest.raises(ConfigError):
        RelevanceConfig(weights=weights)


def test_the_best_intent_wins() -> None:
    intents = [{"product_type": "shoes", "gender": "women"}, {"color": "black", "gender": "men"}]
    found = one(intents, SHIRT)
    assert found.intent[0] == 1
    assert found.rel[0] == 1.0
    assert found.match[0, AT["gender"]] == 1.0, "from the winner, though the other says 0.1"
    assert found.own[0].nonzero()[0].tolist() == [AT["gender"], AT["color"]]
    assert 0.0 < found.match[0, AT["product_type"]] < 0.85, "from the only intent that says it"


def test_of_equal_intents_the_first_wins() -> None:
    found = one([{"gender": "men"}, {"color": "black"}], SHIRT)
    assert found.intent[0] == 0
    assert found.match[0, AT["color"]] == 1.0


def test_attributes_come_from_the_best_intent_that_expresses_them() -> None:
    intents = [
        {"gender": "men"},  # R = 1, wins
        {"color": "white", "gender": "men"},  # R above the next one's
        {"color": "red", "gender": "women"},
    ]
    found = one(intents, SHIRT)
    assert found.match[0, AT["color"]] == pytest.approx(1 - 100 / 120, abs=1e-3)


def test_queries_without_attributes_are_nan() -> None:
    products = products_of(SHIRT)
    queries = [None, [], {}, [{}, {}], {"color": []}, {"gender": " "}]
    found = match_pairs(queries, products, np.arange(6), np.zeros(6, int), LEXICAL)
    assert np.isnan(found.rel).all()
    assert np.isnan(found.match).all()
    np.testing.assert_array_equal(found.intent[:3], [-1, -1, 0])


def test_what_is_expressed_is_what_is_matched() -> None:
    """Blank and unreadable values are unexpressed in either form of the intents."""
    queries = [{"color": [" ", ""]}, {"color": "!!!", "gender": " "}, {"brand": "-"}]
    blank = pa.array([[{"color": [" "], "gender": ""}]], pa.list_(intent_type()))
    found = match_pairs(queries, products_of(SHIRT), [0, 1, 2], [0, 0, 0], LEXICAL)
    np.testing.assert_array_equal(expressed(queries), ~np.isnan(found.match))
    np.testing.assert_array_equal(expressed(queries).sum(axis=1), [0, 0, 1])
    assert not expressed(blank).any()
    assert intents_array([queries[0]]).to_pylist()[0][0]["color"] is None


def test_python_and_arrow_intents_agree() -> None:
    queries = [{"color": "red"}, [{"gender": "men"}, {"brand": ["A", "B"]}], None]
    array = intents_array(queries)
    assert array.type == pa.list_(intent_type())
    np.testing.assert_array_equal(expressed(queries), expressed(array))
    again = intents_array(pa.chunked_array([array]))
    assert again.equals(array)
    sliced = array.slice(1)
    np.testing.assert_array_equal(expressed(sliced), expressed(queries)[1:])
    found = match_pairs(sliced, products_of(SHIRT), [0], [0], LEXICAL)
    assert found.rel[0] == 1.0
    wide = array.cast(pa.large_list(intent_type()))
    assert intents_array(wide).equals(array)


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        ({"colour": "red"}, r"Query 1.*Did you mean 'color'"),
        ({"color": 3}, r"Query 1: color must be a list of strings or null, not int.*3"),
        ({"color": ["red", None]}, r"Query 1: color must be a list of strings"),
        ({"gender": ["men"]}, r"Query 1: gender must be a string or null"),
        (["red"], r"Query 1: an intent must be a mapping"),
    ],
)
def test_malformed_intents_are_named(entry: Any, message: str) -> None:
    with pytest.raises(MetricInputError, match=message):
        intents_array([{"color": "red"}, entry])


@pytest.mark.parametrize(
    ("queries", "rows"), [([0], [1]), ([1], [0]), ([-1], [0]), ([0, 0], [0]), ([0.5], [0])]
)
def test_bad_positions_are_refused(queries: list[Any], rows: list[Any]) -> None:
    with pytest.raises(MetricInputError):
        match_pairs([{"color": "red"}], products_of(SHIRT), queries, rows, LEXICAL)


def test_a_similarity_that_is_not_a_number_is_refused() -> None:
    class Broken:
        name = "broken"

        def __call__(self, left: list[str], right: list[str]) -> np.ndarray:
            return np.full(len(left), np.nan)

    with pytest.raises(MetricInputError, match="broken"):
        match_pairs([{"material": "silk"}], products_of({"material": ["x"]}), [0], [0], Broken())


def test_no_pairs() -> None:
    found = match_pairs([{"color": "red"}], products_of(SHIRT), [], [], LEXICAL)
    assert len(found) == 0
    assert found.match.shape == (0, len(domain().names))
    none = match_pairs([], products_of(), [], [], LEXICAL)
    assert len(none) == 0


def test_columns_may_be_absent() -> None:
    bare = pa.table({"product_id": ["1"], "gender": ["Men"]})
    intent = {name: ["x"] if name in domain().many else "men" for name in domain().names}
    found = match_pairs([intent], bare, [0], [0], LEXICAL)
    assert found.missing.sum() == len(domain().names) - 1
    assert found.match[0, AT["gender"]] == 1.0


# --- against the per-pair loop ---------------------------------------------------------------

VALUES: dict[str, list[Any]] = {
    "product_type": ["shirt", "kurtas", "running shoe", "bag", "short"],
    "gender": ["men", "girls", "unisex", "anyone"],
    "age_group": ["kids", "adults", "baby", "vintage"],
    "color": ["navy", "gray", "multi", "peacock", "red"],
    "pattern": ["striped", "checks", "unknown swirl"],
    "material": ["pure cotton", "leather", "moon dust"],
    "occasion": ["party", "office wear", "launch day"],
    "brand": ["Nike", "Levi's", "Roadster Go", "-"],
    "price_hint": ["cheap", "under 2000", "luxury", "???"],
    "style_tags": ["slim fit", "boho", "v neck"],
}
PRODUCT_VALUES: dict[str, list[Any]] = {
    "master_category": [None, "Apparel", "Footwear"],
    "sub_category": [None, "Topwear", "Shoes", "Bags"],
    "article_type": [None, "Shirts", "Shorts", "Casual Shoes", "Kurtas"],
    "gender": [None, "Men", "Women", "Unisex"],
    "age_group": [None, "adult", "kids", "ancient"],
    "base_color": [None, "Navy Blue", "Grey", "Multi", "", "Peacock"],
    "description": [None, "A striped cotton shirt.", "Leather bag, navy", " "],
    "pattern": [None, [], ["striped"], ["checked", "printed"]],
    "material": [None, ["cotton"], ["leather", "denim"]],
    "occasion": [None, ["casual"], ["party", "evening"]],
    "usage": [None, None, "Casual", "Sports", " "],
    "style": [None, ["slim fit"], ["v neck", "boho"]],
    "brand": [None, "Nike", "Levis", "Roadster", "--"],
    "price": [None, 100.0, 700.0, 2000.0, 5000.0],
}


def random_intent(rng: np.random.Generator) -> dict[str, Any]:
    chosen = [name for name in VALUES if rng.random() < 0.4]
    return {
        name: [str(v) for v in rng.choice(VALUES[name], rng.integers(1, 3), replace=False)]
        if name in domain().many
        else str(rng.choice(VALUES[name]))
        for name in chosen
    }


def random_case(seed: int, queries: int, products: int) -> tuple[list[Any], list[dict[str, Any]]]:
    rng = np.random.default_rng(seed)
    intents = [[random_intent(rng) for _ in range(rng.integers(0, 4))] for _ in range(queries)]
    rows = [
        {name: values[rng.integers(len(values))] for name, values in PRODUCT_VALUES.items()}
        for _ in range(products)
    ]
    return intents, rows


def lexical(left: str, right: str) -> float:
    return float(LEXICAL([left], [right])[0])


def test_equals_the_loop_over_pairs() -> None:
    intents, rows = random_case(seed=1, queries=40, products=15)
    queries, places = np.divmod(np.arange(600), 15)
    found = match_pairs(intents, products_of(*rows), queries, places, LEXICAL)
    for pair, (query, place) in enumerate(zip(queries, places, strict=True)):
        weights = default_weights()
        rel, attributes = reference.relevance(intents[query], rows[place], lexical, weights)
        np.testing.assert_allclose(found.rel[pair], rel, atol=1e-12)
        expected = [attributes.get(name, np.nan) for name in domain().names]
        np.testing.assert_allclose(found.match[pair], expected, atol=1e-12)


def test_does_not_depend_on_which_pairs_are_scored_together() -> None:
    intents, rows = random_case(seed=2, queries=30, products=20)
    table = products_of(*rows)
    queries, places = np.divmod(np.arange(600), 20)
    whole = match_pairs(intents, table, queries, places, LEXICAL)
    again = match_pairs(intents, table, queries, places, LEXICAL)
    some = np.random.default_rng(0).permutation(600)[:77]
    part = match_pairs(intents, table, queries[some], places[some], LEXICAL)
    for name in ("match", "missing", "fallback", "own", "rel", "rel_known", "intent"):
        np.testing.assert_array_equal(getattr(again, name), getattr(whole, name))
        np.testing.assert_array_equal(getattr(part, name), getattr(whole.take(some), name))


def test_required_strings_are_exactly_those_asked_for() -> None:
    intents, rows = random_case(seed=3, queries=30, products=20)
    table = products_of(*rows)
    queries, places = np.divmod(np.arange(600), 20)
    strings = required_strings(intents, table, queries, places)
    vectors = np.random.default_rng(0).standard_normal((len(strings), 8)).astype(np.float16)
    known = pa.table(
        {
            "string": strings,
            "vector": pa.FixedSizeListArray.from_arrays(pa.array(vectors.ravel()), 8),
        }
    )
    match_pairs(intents, table, queries, places, StringTable(known, "random"))
    for dropped in (0, len(strings) // 2, len(strings) - 1):
        less = pa.concat_tables([known.slice(0, dropped), known.slice(dropped + 1)])
        with pytest.raises(MetricInputError, match="not in the table"):
            match_pairs(intents, table, queries, places, StringTable(less, "random"))


def test_strings_of_catalog_and_intents_cover_all_but_descriptions() -> None:
    intents, rows = random_case(seed=4, queries=30, products=20)
    table = products_of(*rows)
    queries, places = np.divmod(np.arange(600), 20)
    needed = set(required_strings(intents, table, queries, places))
    texts = {(row["description"] or "").strip() for row in rows}
    assert needed <= {*catalog_strings(table), *intent_strings(intents), *texts}
    assert not texts & set(catalog_strings(table))


# --- over rankings -----------------------------------------------------------------------------


def test_rank_weights_by_hand() -> None:
    queries = [0, 0, 0, 1, 1]
    scores = [0.3, 0.9, 0.5, 1.0, 2.0]
    np.testing.assert_allclose(rank_weights(queries, scores), [0, 1, 0, 0, 1])
    np.testing.assert_allclose(rank_weights(queries, scores, k=2), [0, 0.5, 0.5, 0.5, 0.5])
    np.testing.assert_allclose(rank_weights(queries, scores, k=None)[:3], [1 / 3] * 3)
    gains = np.array([1.0, 1 / np.log2(3), 0.5])
    np.testing.assert_allclose(
        rank_weights(queries, scores, k=None, discounted=True)[[1, 2, 0]], gains / gains.sum()
    )


@given(
    scores=st.lists(st.integers(0, 3), min_size=1, max_size=5),
    k=st.integers(1, 6),
    discounted=st.booleans(),
)
@settings(max_examples=60, deadline=None)
def test_ties_are_the_expectation_over_orders(scores: list[int], k: int, discounted: bool) -> None:
    gains = 1 / np.log2(np.arange(len(scores)) + 2) if discounted else np.ones(len(scores))
    gains[k:] = 0
    gains /= gains.sum()
    total, count = np.zeros(len(scores)), 0
    for order in permutations(range(len(scores))):
        if all(scores[a] >= scores[b] for a, b in pairwise(order)):
            total[list(order)] += gains
            count += 1
    found = rank_weights([7] * len(scores), scores, k=k, discounted=discounted)
    np.testing.assert_allclose(found, total / count, atol=1e-12)


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_scores_must_be_finite(bad: float) -> None:
    with pytest.raises(MetricInputError, match="finite"):
        rank_weights([0], [bad])
    with pytest.raises(ConfigError):
        rank_weights([0], [1.0], k=0)
    with pytest.raises(MetricInputError):
        rank_weights([0, 1], [1.0])


QUERIES = [{"gender": "men", "brand": "Nike"}, {"gender": "women"}, None, {"color": "red"}]
CATALOG = products_of(
    {"gender": "Men", "brand": "Nike"}, {"gender": "Women"}, {"gender": "Unisex", "brand": "Puma"}
)


def test_summary_by_hand() -> None:
    found = score_rankings(QUERIES, CATALOG, [[0, 1], [2, 1], [0], []], LEXICAL)
    assert found.per_query_rel[[0, 1, 3]].tolist() == [1.0, 0.7, 0.0]
    assert np.isnan(found.per_query_rel[2])
    assert found.rel == pytest.approx(1.7 / 3)
    assert (found.n_queries, found.n_undefined, found.n_empty) == (3, 1, 1)
    assert found.n["gender"] == 2
    assert found.n["color"] == 1
    assert found.attr_score["gender"] == pytest.approx(0.85)
    assert found.attr_score["color"] == 0.0
    assert found.n["pattern"] == 0
    assert np.isnan(found.attr_score["pattern"])


def test_missing_values_are_counted_and_can_be_left_out() -> None:
    found = score_rankings(QUERIES[:2], CATALOG, [[1], [1]], LEXICAL)
    assert found.n_missing["brand"] == 1.0
    assert found.attr_score["brand"] == 0.5
    assert found.n_known["brand"] == 0
    assert np.isnan(found.attr_score_known["brand"])
    assert found.rel == pytest.approx(((0.127 * 0.1 + 0.211 * 0.5) / 0.338 + 1.0) / 2)
    assert found.rel_known == pytest.approx((0.1 + 1.0) / 2)


def test_top_k_and_discount() -> None:
    one_query = [{"gender": "men"}]
    top = score_rankings(one_query, CATALOG, [[0, 2, 1]], LEXICAL, k=2)
    assert top.rel == pytest.approx((1.0 + 0.7) / 2)
    whole = score_rankings(one_query, CATALOG, [[0, 2, 1]], LEXICAL, k=None)
    assert whole.rel == pytest.approx((1.0 + 0.7 + 0.1) / 3)
    soft = score_rankings(one_query, CATALOG, [[0, 2, 1]], LEXICAL, k=2, discounted=True)
    assert soft.rel == pytest.approx((1.0 + 0.7 / np.log2(3)) / (1 + 1 / np.log2(3)))


def test_n_does_not_depend_on_the_model() -> None:
    intents, rows = random_case(seed=5, queries=60, products=30)
    table = products_of(*rows)
    rng = np.random.default_rng(0)
    counts = []
    for _ in range(3):
        rankings = [rng.permutation(30)[:5] for _ in intents]
        counts.append(score_rankings(intents, table, rankings, LEXICAL).n)
    assert counts[0] == counts[1] == counts[2]
    assert list(counts[0].values()) == expressed(intents).sum(axis=0).tolist()


@given(seed=st.integers(0, 10_000))
@settings(max_examples=15, deadline=None)
def test_promoting_the_better_product_never_hurts(seed: int) -> None:
    intents, rows = random_case(seed, queries=6, products=8)
    queries, places = np.divmod(np.arange(48), 8)
    matches = match_pairs(intents, products_of(*rows), queries, places, LEXICAL)
    asked = expressed(intents)
    rng = np.random.default_rng(seed)
    scores = rng.permutation(48).astype(float)
    by_rel = np.nan_to_num(matches.rel)
    base = relevance(matches, queries, scores, asked, k=3, discounted=True)
    better = relevance(matches, queries, by_rel, asked, k=3, discounted=True)
    defined = ~np.isnan(base)
    assert (better[defined] >= base[defined] - 1e-12).all()
    assert ((base[defined] >= 0) & (base[defined] <= 1)).all()
    attributes = attr_scores(matches, queries, scores, asked, k=3)
    np.testing.assert_array_equal(~np.isnan(attributes), asked)
    order = rng.permutation(48)
    shuffled = summarise(matches.take(order), queries[order], scores[order], asked, k=3)
    straight = summarise(matches, queries, scores, asked, k=3)
    np.testing.assert_allclose(shuffled.per_query_rel, straight.per_query_rel, rtol=1e-12)


def test_rankings_must_be_one_per_query() -> None:
    with pytest.raises(MetricInputError, match="one ranking per query"):
        score_rankings(QUERIES, CATALOG, [[0]], LEXICAL)


@pytest.mark.data
def test_real_products_satisfy_their_own_attributes(shared_data: Any) -> None:
    """A query made of a product's own hard values has R = 1 or nearly: found types score 0.85+."""
    import pyarrow.parquet as pq

    raw = pq.read_table(shared_data / "myntra-catalog.parquet").slice(0, 3000)
    names = {
        "master_category": "masterCategory",
        "sub_category": "subCategory",
        "article_type": "articleType",
        "base_color": "baseColour",
        "gender": "gender",
        "brand": "brandName",
        "price": "price",
    }
    table = pa.table({ours: raw[theirs] for ours, theirs in names.items()})
    intents = [
        {"product_type": row["article_type"], "gender": row["gender"], "color": row["base_color"]}
        for row in table.to_pylist()
    ]
    everything = np.arange(len(table))
    found = match_pairs(intents, table, everything, everything, LEXICAL)
    assert (found.match[:, AT["gender"]] == 1.0).all()
    assert (found.match[:, AT["product_type"]] >= 0.85).all()
    assert (found.match[:, AT["color"]] == 1.0).all()
    other = match_pairs(intents, table, everything, np.roll(everything, 1), LEXICAL)
    assert other.rel.mean() < found.rel.mean() - 0.2


def test_another_domain_has_its_own_comparators() -> None:
    products = pa.table(
        {
            "article_type": ["Boots", "Sandals", None],
            "heel": ["High Heel", "flat", None],
            "closure": [["laces"], ["buckled"], None],
            "color": ["Navy", "Red", None],
            "material": [["wool"], None, None],
        }
    )
    intent = {
        "product_type": "boot",
        "heel": "mid heel",
        "closure": ["lace up"],
        "color": ["navy blue"],
        "lining": ["wool"],
    }
    with using(load_domain(ROOT / "tests/helpers/domains/shoes.toml")):
        found = match_pairs([intent], products, [0, 0, 0], [0, 1, 2], LEXICAL)
        assert found.match.shape == (3, 6)
        assert found.match[0].tolist()[:4] == [0.85, 0.6, 1.0, 1.0]
        assert np.isnan(found.match[0, 4])
        assert found.missing[2].tolist() == [True, True, True, True, False, True]
        assert catalog_strings(products) >= ["boots", "buckle"]
        assert wishes_satisfied(match_pairs([{}], products, [0], [0], LEXICAL)).unknown.all()
        with pytest.raises(MetricInputError):
            match_pairs([{"pattern": ["striped"]}], products, [0], [0], LEXICAL)
    assert match_pairs([{}], products, [0], [0], LEXICAL).match.shape == (1, len(domain().names))
