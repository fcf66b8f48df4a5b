"""Weights: the paper's tables blended, twins, both estimators, planted and shuffled oracles."""

from __future__ import annotations

import time
import tracemalloc
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from helpers.oracles import PLANTED, PlantedOracle, ShuffledOracle, drawn_intents
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from fashion_rq_bench.builders.catalog import read_catalog
from fashion_rq_bench.builders.weights import blend
from fashion_rq_bench.builders.weights.ablation import AblationConfig, differences, effect
from fashion_rq_bench.builders.weights.fit import (
    WeightsConfig,
    find_observations,
    fit_weights,
    read_weights,
    write_weights,
)
from fashion_rq_bench.builders.weights.match_codes import match_codes, product_keys, product_sides
from fashion_rq_bench.builders.weights.observations import Observations
from fashion_rq_bench.builders.weights.pair_design import rake
from fashion_rq_bench.builders.weights.ridge import RidgeConfig, fit_ridge
from fashion_rq_bench.builders.weights.twin_pairs import (
    TwinGroups,
    count_pairs,
    disjoint_pairs,
    twin_groups,
)
from fashion_rq_bench.errors import ConfigError, InputError, ModelError
from fashion_rq_bench.relevance.settings import RelevanceConfig, default_weights
from fashion_rq_bench.schema.domain import domain

TABLE_9 = {
    "product_type": 0.579,
    "gender": 0.730,
    "age_group": 0.737,
    "color": 0.926,
    "material": 0.589,
    "occasion": 0.072,
    "pattern": 0.581,
    "style_tags": 0.002,
    "brand": 1.409,
    "price_hint": 0.242,
}
TABLE_10 = {
    "product_type": 0.467,
    "gender": 0.125,
    "age_group": 0.006,
    "color": 0.114,
    "material": 0.026,
    "occasion": 0.004,
    "pattern": 0.021,
    "style_tags": 0.024,
    "brand": 0.177,
    "price_hint": 0.006,
}


@pytest.fixture(scope="module")
def catalog(shared_data: Path) -> pa.Table:
    return read_catalog(shared_data / "myntra-catalog.parquet").table


@pytest.fixture(scope="module")
def synthetic() -> pa.Table:
    return read_catalog("synthetic:3000?seed=7").table


# ---------------------------------------------------------------- blend


def test_blend_of_the_papers_tables_gives_the_papers_weights() -> None:
    weights, spearman = blend(TABLE_9, TABLE_10)
    assert weights == pytest.approx(dict(default_weights()), abs=0.001)
    assert round(spearman, 2) == 0.45
    assert sum(weights.values()) == pytest.approx(1.0)


def test_blend_clips_and_takes_the_other_estimate_where_one_is_missing() -> None:
    weights = blend({"a": 3.0, "b": 1.0, "c": -5.0}, {"a": 0.5, "b": 0.5, "c": 0.0}).weights
    assert weights == pytest.approx({"a": 0.625, "b": 0.375, "c": 0.0})
    # On a and b the sides give .75/.25 and .5/.5; c is half of what the ridge gives a and b.
    one = blend({"a": 3.0, "b": 1.0}, {"a": 0.4, "b": 0.4, "c": 0.4}).weights
    assert one == pytest.approx({"a": 0.625 / 1.5, "b": 0.375 / 1.5, "c": 0.5 / 1.5})
    undefined = blend({"a": 1.0, "b": float("nan")}, {"a": 1.0}).weights
    assert undefined["a"] == 1.0
    assert np.isnan(undefined["b"])


def test_blend_refuses_what_it_cannot_use() -> None:
    with pytest.raises(InputError, match="no attribute that matters"):
        blend({"a": -1.0, "b": 0.0}, {"a": 1.0, "b": 1.0})
    with pytest.raises(InputError, match="infinite"):
        blend({"a": float("inf")}, {"a": 1.0})
    assert np.isnan(blend({"a": 1.0, "b": 2.0}, {"a": 1.0, "b": 1.0}).spearman)


@given(st.lists(st.tuples(st.floats(0.1, 9), st.floats(0.1, 9)), min_size=2, max_size=10))
@settings(max_examples=50, deadline=None)
def test_blend_does_not_depend_on_the_scale_of_either_side(
    pairs: list[tuple[float, float]],
) -> None:
    one = {str(n): a for n, (a, _) in enumerate(pairs)}
    two = {str(n): b for n, (_, b) in enumerate(pairs)}
    plain = blend(one, two).weights
    scaled = blend({k: 7 * v for k, v in one.items()}, {k: v / 3 for k, v in two.items()}).weights
    assert plain == pytest.approx(scaled)
    assert sum(plain.values()) == pytest.approx(1.0)


# ---------------------------------------------------------------- match codes


def test_match_codes_by_hand() -> None:
    products = pa.table(
        {
            "product_id": ["1", "2", "3"],
            "master_category": ["Apparel"] * 3,
            "sub_category": ["Topwear"] * 3,
            "article_type": ["Tshirts", "Shirts", "Shirts"],
            "gender": ["Men", "Women", "Unisex"],
            "base_color": ["Navy Blue", "Blue", None],
            "brand": ["Puma", "Nike", None],
            "description": ["", "a red thing", "puma red"],
            "price": [300.0, 5000.0, None],
        }
    )
    intent = {"product_type": "t-shirt", "gender": "men", "color": ["navy blue"], "brand": "puma"}
    codes = match_codes([[{**intent, "price_hint": "under 500"}]], products, [0, 0, 0], [0, 1, 2])
    at = [domain().names.index(name) for name in (*intent, "price_hint", "material")]
    assert codes[:, at].tolist() == [
        [1.0, 1.0, 1.0, 1.0, 1.0, 0.5],
        [0.0, 0.0, 0.0, 0.0, 0.0, 0.5],
        [0.0, 0.5, 0.5, 0.5, 0.5, 0.5],  # unisex and missing values are neither
    ]


# ---------------------------------------------------------------- twins


def pairs_of(twins: TwinGroups) -> set[tuple[int, int]]:
    """Every pair of twins that the groups stand for."""
    same = twins.group[:, None] == twins.group[None, :]
    left, right = np.nonzero(same & (twins.value[:, None] != twins.value[None, :]))
    pairs = zip(twins.rows[left].tolist(), twins.rows[right].tolist(), strict=True)
    return {(a, b) for a, b in pairs if a < b}


def brute_force(keys: np.ndarray, attribute: str) -> set[tuple[int, int]]:
    at = domain().names.index(attribute)
    controls = np.delete(keys, at, axis=1)
    agree = np.ones((len(keys), len(keys)), dtype=bool)
    for column in controls.T:
        agree &= column[:, None] == column[None, :]
    own = keys[:, at]
    agree &= (own[:, None] >= 0) & (own[None, :] >= 0) & (own[:, None] != own[None, :])
    return {(a, b) for a, b in np.argwhere(agree).tolist() if a < b}


@given(st.integers(0, 10_000), st.integers(0, 60))
@settings(max_examples=40, deadline=None)
def test_twins_agree_with_brute_force(seed: int, n: int) -> None:
    keys = np.random.default_rng(seed).integers(-1, 2, (n, 10))
    keys[:, 3:] = 0  # so that there are twins
    for attribute in domain().names[:4]:
        twins = twin_groups(keys, attribute)
        expected = brute_force(keys, attribute)
        assert pairs_of(twins) == expected
        for number in set(twins.group.tolist()):  # a group without twins would only cost time
            assert len(set(twins.value[twins.group == number].tolist())) > 1
        assert count_pairs(twins) == len(expected)
        pairs = disjoint_pairs(twins, np.random.default_rng(seed))
        assert {(min(p), max(p)) for p in pairs.tolist()} <= expected
        assert len(np.unique(pairs)) == pairs.size
        _, group = np.unique(twins.group, return_inverse=True)
        most = 0  # as many disjoint pairs as a group allows
        for number in set(group.tolist()):
            values = twins.value[group == number]
            largest = np.unique(values, return_counts=True)[1].max()
            most += min(len(values) // 2, len(values) - largest)
        assert len(pairs) == most


def test_unknown_attributes_are_refused() -> None:
    with pytest.raises(ConfigError, match="no such attribute"):
        twin_groups(np.zeros((2, 10), np.int64), "colour")
    with pytest.raises(ConfigError):
        AblationConfig(confidence=1.0)
    with pytest.raises(ConfigError):
        RidgeConfig(specified=0.6)


@pytest.mark.data
def test_twins_of_the_whole_catalog_in_linear_time_and_memory(catalog: pa.Table) -> None:
    started = time.perf_counter()
    keys = product_keys(product_sides(catalog))
    counts = {name: count_pairs(twin_groups(keys, name)) for name in domain().names}
    assert time.perf_counter() - started < 10
    assert len(keys) == 44_446
    assert all(count > 100 for count in counts.values())
    rows = np.random.default_rng(0).choice(len(keys), 2_500, replace=False)
    for name in domain().names:
        assert pairs_of(twin_groups(keys[rows], name)) == brute_force(keys[rows], name)
    peaks = [_peak(np.concatenate([keys] * times)) for times in (1, 4)]
    assert peaks[1] < 5 * peaks[0]  # the pairs themselves grow sixteenfold


def _peak(keys: np.ndarray) -> int:
    tracemalloc.start()
    twin_groups(keys, "color")
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak


# ---------------------------------------------------------------- ablation


def observed(twin: list[int]) -> Observations:
    rows = np.arange(len(twin))
    return Observations("color", rows, rows, rows + 100, np.array(twin), rows)


def test_effect_by_hand() -> None:
    delta = np.array([1.0, 2.0, -1.0, 2.0])
    found = effect(observed([0, 0, 1, 2]), delta, np.array([0.0, 1.0, 0.0, 1.0]))
    assert (found.n, found.n_twins, found.mean) == (4, 3, 1.0)
    assert found.sign_consistency == 0.75
    assert found.null_mean == 0.5
    # Totals beyond the null are 2, -1, 1: of 8 sign patterns 6 reach |2|, so p is about 3/4.
    assert found.p_value == pytest.approx(0.75, abs=0.04)
    assert (found.low, found.high) == (-1.0, 2.0)
    assert (found.distinguishable, found.tier) == (False, "insufficient")


def test_interval_is_clustered() -> None:
    """Copies of an observation within its twin pair add nothing to what is known."""
    rng = np.random.default_rng(0)
    delta, twin = rng.normal(1, 1, 80), np.arange(80)
    once = effect(observed(twin.tolist()), delta, np.zeros(80))
    copies = effect(observed(np.repeat(twin, 5).tolist()), np.repeat(delta, 5), np.zeros(400))
    assert copies.high - copies.low == pytest.approx(once.high - once.low, rel=0.1)
    width = 2 * 1.96 * delta.std() / np.sqrt(80)
    assert once.high - once.low == pytest.approx(width, rel=0.1)
    assert once.tier == "moderate"
    assert effect(observed(twin.tolist()), delta - 1, np.zeros(80)).tier == "low"


def test_no_observations_is_undefined() -> None:
    found = effect(observed([]), np.zeros(0), np.zeros(0))
    assert (found.n, found.tier, found.distinguishable) == (0, "insufficient", False)
    assert np.isnan(found.mean)


def test_an_oracle_must_give_logits() -> None:
    with pytest.raises(ModelError, match="one finite logit"):
        differences(lambda q, p: np.full(len(q), np.nan), observed([0]), 200)


# ---------------------------------------------------------------- ridge


def test_ridge_agrees_with_closed_forms() -> None:
    rng = np.random.default_rng(0)
    codes = rng.choice([0.0, 0.5, 1.0], (500, 10))
    codes[:, 1] = np.where(rng.random(500) < 0.5, codes[:, 0], codes[:, 1])
    codes[:, 9] = 0.5
    logits = codes @ np.arange(10) + rng.normal(0, 1, 500)
    fit = fit_ridge(codes, logits, RidgeConfig(alpha=2.0))
    x = codes[:, :9]
    z = (x - x.mean(0)) / x.std(0)
    expected = np.linalg.solve(z.T @ z + 2 * np.eye(9), z.T @ (logits - logits.mean()))
    assert list(fit.coefficient.values())[:9] == pytest.approx(expected.tolist())
    inflation = np.diag(np.linalg.inv(np.corrcoef(x.T)))
    assert list(fit.vif.values())[:9] == pytest.approx(inflation.tolist())
    left = logits - logits.mean() - z @ expected
    assert fit.r2 == pytest.approx(1 - (left**2).sum() / ((logits - logits.mean()) ** 2).sum())
    assert np.isnan(fit.coefficient["style_tags"])
    assert fit.n_match["style_tags"] == 0
    assert fit.n == 500
    for bad in (codes[:, :5], codes[:5], codes * np.nan):
        with pytest.raises(InputError):
            fit_ridge(bad, logits[: len(bad)])
    with pytest.raises(InputError, match="varies"):
        fit_ridge(np.full((500, 10), 0.5), logits)


def test_raking_gives_every_attribute_the_same_margins() -> None:
    rng = np.random.default_rng(0)
    shares = [(0.1, 0.8, 0.1), (0.3, 0.6, 0.1), (0.1, 0.3, 0.6)]
    codes = np.stack(
        [rng.choice([0.0, 0.5, 1.0], 20_000, p=shares[n % 3]) for n in range(10)], axis=1
    )
    codes[:, 9] = 0.5  # never asked for: left alone
    weights = rake(codes, 0.2, 50.0)
    for column in codes.T[:9]:
        for value, target in ((0.0, 0.2), (1.0, 0.2), (0.5, 0.6)):
            share = weights[column == value].sum() / weights.sum()
            assert share == pytest.approx(target, abs=0.03)


# ---------------------------------------------------------------- together


FAST = WeightsConfig(
    ablation=AblationConfig(max_twins=300, bootstrap=200), ridge=RidgeConfig(n_pairs=2_000)
)


def test_fit_and_file_on_a_synthetic_catalog(synthetic: pa.Table, tmp_path: Path) -> None:
    intents = drawn_intents(synthetic, 800)
    oracle = PlantedOracle(intents, synthetic, scale=10, noise=0.2)
    fitted = fit_weights(oracle, intents, synthetic, FAST)
    again = fit_weights(oracle, intents, synthetic, FAST)
    assert repr(fitted) == repr(again)
    path = tmp_path / "weights.json"
    write_weights(fitted, path, {"oracle": "planted"})
    known = {k: v for k, v in fitted.blend.weights.items() if not np.isnan(v)}
    assert read_weights(path) == pytest.approx(known)
    assert RelevanceConfig(weights=read_weights(path)).vector().sum() == pytest.approx(1.0)
    for name in ("product_type", "brand", "color", "gender"):
        assert known[name] > known["occasion"]
    (tmp_path / "other.json").write_text("[1]", encoding="utf-8")
    for wrong in (tmp_path / "other.json", tmp_path / "none.json"):
        with pytest.raises(InputError):
            read_weights(wrong)


def test_observations_tell_twins_apart(synthetic: pa.Table) -> None:
    intents = drawn_intents(synthetic, 500)
    several = [*intents, [*intents[0], *intents[1]]]
    found, _, index = find_observations(several, synthetic, FAST)
    assert index.n_several == 1
    for one in found:
        at = domain().names.index(one.attribute)
        first = match_codes(several, synthetic, one.query, one.first)
        second = match_codes(several, synthetic, one.query, one.second)
        assert (first[:, at] == 1).all()
        assert (second[:, at] == 0).all()
        assert np.array_equal(np.delete(first, at, 1), np.delete(second, at, 1))
        assert (np.delete(first, at, 1) > 0).all()
        assert not (one.query == len(intents)).any()
        assert not index.asks[one.null_query, at].any()


@pytest.mark.slow
@pytest.mark.data
def test_planted_weights_are_recovered_on_the_real_catalog(catalog: pa.Table) -> None:
    """Both estimators in the planted order, the blend within 0.03, whatever the noise's draw."""
    intents = drawn_intents(catalog, 4_000)
    oracle = PlantedOracle(intents, catalog, scale=10, noise=0.2)
    fitted = fit_weights(oracle, intents, catalog)
    planted = sorted(PLANTED, key=lambda name: -PLANTED[name])
    means = {one.attribute: one.mean for one in fitted.effects}
    for estimate in (means, fitted.ridge.coefficient, fitted.blend.weights):
        assert sorted(domain().names, key=lambda name: -estimate[name]) == planted
    for name, weight in zip(domain().names, oracle.weights, strict=True):
        assert fitted.blend.weights[name] == pytest.approx(weight, abs=0.03)
    assert all(one.distinguishable for one in fitted.effects)
    assert max(fitted.ridge.vif.values()) < 1.5


@pytest.mark.slow
@pytest.mark.data
def test_a_shuffled_oracle_distinguishes_at_the_nominal_rate(catalog: pa.Table) -> None:
    """200 shuffles: the rate of calls is 5% overall, and of no attribute above 5% and its error."""
    config = AblationConfig(max_twins=150, bootstrap=399)
    intents = drawn_intents(catalog, 3_000)
    found, _, _ = find_observations(intents, catalog, WeightsConfig(ablation=config))
    calls = np.zeros(len(domain().names), dtype=int)
    for repeat in range(200):
        oracle, drawn_anew = ShuffledOracle(repeat), replace(config, seed=repeat)
        for position, one in enumerate(found):
            delta, null = differences(oracle, one, len(catalog))
            calls[position] += effect(one, delta, null, drawn_anew).distinguishable
    interval = stats.binomtest(int(calls.sum()), 2000).proportion_ci()
    print(
        dict(zip(domain().names, (calls / 200).tolist(), strict=True)), calls.sum() / 2000, interval
    )
    assert calls.max() <= stats.binom.isf(0.05 / len(domain().names), 200, 0.05)
    assert interval.low <= 0.05 <= interval.high
