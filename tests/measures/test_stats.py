"""Statistics: by hand, against scipy and statsmodels, by brute force, and for what they promise."""

from __future__ import annotations

import itertools
import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats as scipy_stats

from fashion_rq_bench.errors import ConfigError
from fashion_rq_bench.measures import statistics as stats
from fashion_rq_bench.measures.statistics import Resampling

CLUSTERS = np.array(["a", "a", "b", "c", "c", "c"])
VALUES = np.array([[1.0], [2.0], [10.0], [3.0], [np.nan], [6.0]])


def every_draw(count: int) -> np.ndarray:
    """How often each of some clusters is in every one of the equally likely draws."""
    drawn = itertools.product(range(count), repeat=count)
    return np.array([np.bincount(one, minlength=count) for one in drawn], dtype=np.uint16)


# bootstrap


def test_a_draw_weights_whole_clusters() -> None:
    drawn = Resampling(np.array([0, 0, 1, 2, 2, 2]), np.array([[2, 0, 1], [0, 3, 0]], np.uint16))
    np.testing.assert_allclose(drawn.totals(np.nan_to_num(VALUES)), [[2 * 3 + 9], [30]])
    np.testing.assert_allclose(drawn.means(VALUES), [[15 / 6], [10]])


def test_every_draw_has_as_many_clusters_as_there_are() -> None:
    drawn = stats.resample(CLUSTERS, resamples=500)
    assert drawn.counts.shape == (500, 3)
    assert (drawn.counts.sum(axis=1) == 3).all()
    assert drawn.counts.min() == 0
    assert drawn.counts.max() == 3


def test_draws_match_a_loop_over_repeated_queries() -> None:
    drawn = stats.resample(CLUSTERS, resamples=40, seed=3)
    for counts, found in zip(drawn.counts, drawn.means(VALUES)[:, 0], strict=True):
        rows = [row for row, c in enumerate(drawn.cluster) for _ in range(counts[c])]
        used = VALUES[rows, 0]
        used = used[~np.isnan(used)]
        np.testing.assert_allclose(found, used.mean() if len(used) else np.nan)


def test_draws_do_not_depend_on_the_order_of_the_queries() -> None:
    order = np.array([3, 0, 5, 2, 4, 1])
    np.testing.assert_array_equal(
        stats.resample(CLUSTERS).means(VALUES), stats.resample(CLUSTERS[order]).means(VALUES[order])
    )


def test_the_same_seed_gives_the_same_draws_and_another_others() -> None:
    first, same, other = (stats.resample(CLUSTERS, seed=seed).counts for seed in (1, 1, 2))
    np.testing.assert_array_equal(first, same)
    assert (first != other).any()


def test_more_draws_than_fit_a_block_are_all_filled() -> None:
    drawn = stats.resample(CLUSTERS, resamples=1300)
    np.testing.assert_allclose(drawn.totals(np.ones((6, 2))).min(), 3)  # three times the smallest


def test_intervals_approach_the_exact_distribution() -> None:
    rng = np.random.default_rng(0)
    values, names = rng.normal(size=(12, 1)), np.repeat(list("abcde"), [1, 2, 2, 3, 4])
    drawn = stats.resample(names, resamples=40_000)
    exact = Resampling(drawn.cluster, every_draw(5))
    found = stats.interval(drawn.means(values))
    np.testing.assert_allclose(found, stats.interval(exact.means(values)), atol=0.02)


def test_interval_agrees_with_scipy_on_cluster_sums() -> None:
    rng = np.random.default_rng(1)
    names = rng.integers(0, 40, 200).astype(str)
    values = rng.normal(size=(200, 1)) + rng.normal(size=40)[names.astype(int)][:, None]
    drawn = stats.resample(names, resamples=20_000)
    sums, sizes = drawn.by_cluster(values)[:, 0], drawn.by_cluster(np.ones((200, 1)))[:, 0]
    theirs = scipy_stats.bootstrap(
        (sums, sizes),
        lambda s, n, axis: s.sum(axis=axis) / n.sum(axis=axis),
        paired=True,
        vectorized=True,
        n_resamples=20_000,
        method="percentile",
        random_state=2,
    ).confidence_interval
    low, high = stats.interval(drawn.means(values))
    np.testing.assert_allclose([low[0], high[0]], [theirs.low, theirs.high], atol=0.02)


def test_an_undefined_draw_is_left_out_of_the_interval() -> None:
    draws = np.array([[np.nan], [0.0], [1.0]])
    np.testing.assert_allclose(stats.interval(draws), [[0.025], [0.975]])


def test_nothing_to_draw_from_is_refused() -> None:
    with pytest.raises(ConfigError, match="at least one unit"):
        stats.resample([])
    with pytest.raises(ConfigError, match="one draw"):
        stats.resample(["a"], resamples=0)


# detectable differences


def test_minimum_detectable_difference_is_2_8_standard_errors() -> None:
    draws = np.random.default_rng(0).normal(0, 0.01, (50_000, 1))
    np.testing.assert_allclose(stats.minimum_detectable(draws), 0.01 * 2.8016, rtol=0.01)


def test_minimum_detectable_difference_is_found_in_four_of_five_samples() -> None:
    rng, found, told, rounds = np.random.default_rng(4), 0, 0.0, 400
    names = np.repeat(np.arange(60).astype(str), 5)
    true = 2.8016 * np.sqrt((1 + 1 / 5) / 60)
    for _ in range(rounds):
        sample = np.repeat(rng.normal(size=60), 5) + rng.normal(size=300) + true
        draws = stats.resample(names, resamples=400).means(sample[:, None])
        found += int(stats.interval(draws)[0][0] > 0)
        told += stats.minimum_detectable(draws)[0] / rounds
    np.testing.assert_allclose(told, true, rtol=0.05)
    assert 0.75 < found / rounds < 0.86


# tests


def test_wilcoxon_agrees_with_scipy_column_by_column() -> None:
    rng = np.random.default_rng(0)
    values = rng.normal(0.1, 1, (300, 6)).round(1)  # ties and zeros
    values[:200, 3] = 0.0
    values[:, 4] = np.where(rng.random(300) < 0.5, np.nan, values[:, 4])
    values[:, 5] = np.where(np.arange(300) < 40, rng.normal(0.3, 1, 300), np.nan)  # exact, no ties
    found = stats.wilcoxon(values)
    for column, p_value in zip(values.T, found, strict=True):
        used = column[~np.isnan(column) & (column != 0)]
        np.testing.assert_allclose(p_value, scipy_stats.wilcoxon(used).pvalue, rtol=1e-9)


def test_tied_ranks_are_tested_exactly() -> None:
    rng = np.random.default_rng(0)
    for _ in range(5):
        values = rng.integers(-3, 5, 9).astype(float)
        values = values[values != 0]
        ranks = scipy_stats.rankdata(np.abs(values))
        sums = [
            ranks[np.array(signs, dtype=bool)].sum()
            for signs in itertools.product([0, 1], repeat=len(values))
        ]
        found = ranks[values > 0].sum()
        tail = min(np.mean(np.array(sums) <= found), np.mean(np.array(sums) >= found))
        np.testing.assert_allclose(stats.wilcoxon(values[:, None])[0], min(1, 2 * tail))


def test_wilcoxon_by_hand() -> None:
    values = np.array([1.0, 2.0, 3.0, 4.0, 5.0])[:, None]
    np.testing.assert_allclose(stats.wilcoxon(values), 2 / 2**5)


def test_wilcoxon_does_not_depend_on_the_columns_beside_it() -> None:
    values = np.random.default_rng(0).normal(size=(80, 4))
    values[:40, 1] = 0.0
    alone = [stats.wilcoxon(values[:, [column]])[0] for column in range(4)]
    np.testing.assert_array_equal(stats.wilcoxon(values), alone)


def test_equal_models_have_p_1_and_undefined_ones_none() -> None:
    np.testing.assert_array_equal(stats.wilcoxon(np.array([[0.0, np.nan]] * 3)), [1.0, np.nan])


def test_rounding_is_no_difference() -> None:
    values = np.array([[0.1 + 0.2 - 0.3]] * 60)
    assert values[0, 0] != 0
    assert stats.wilcoxon(values)[0] == 1
    np.testing.assert_array_equal(stats.outcomes(values)[:, 0], [0, 1, 0])


def test_holm_agrees_with_statsmodels() -> None:
    multitest = pytest.importorskip("statsmodels.stats.multitest")
    p_values = np.random.default_rng(0).random(40) ** 3
    theirs = multitest.multipletests(p_values, method="holm")[1]
    np.testing.assert_allclose(stats.holm(p_values), theirs)


def test_outcomes_by_hand() -> None:
    values = np.array([[1.0], [0.0], [-1.0], [2.0], [np.nan]])
    np.testing.assert_allclose(stats.outcomes(values)[:, 0], [0.5, 0.25, 0.25])


# differences


def test_differences_by_hand() -> None:
    values = np.array([[1.0, 0.5, 0.2, np.nan], [0.5, 0.5, 0.4, 1.0]])
    drawn = stats.resample(["a", "a", "b", "b"], resamples=200)
    found = stats.differences(values, drawn, [(0, 1), (1, 0)])
    np.testing.assert_allclose(found.difference, [0.1, -0.1])
    np.testing.assert_allclose([found.wins, found.ties, found.losses], [[1 / 3] * 2] * 3)
    assert found.n.tolist() == [3, 3]
    assert found.undefined.tolist() == [1, 1]
    # the draws are aa: .25, bb: -.2, ab and ba: .1
    np.testing.assert_allclose([found.low[0], found.high[0]], [-0.2, 0.25])
    np.testing.assert_allclose(found.low[0], -found.high[1])
    np.testing.assert_allclose(found.detectable[0], found.detectable[1])
    np.testing.assert_allclose(found.p_value, 1.0)  # cluster means +.25 and -.2


def test_the_test_counts_clusters_or_queries() -> None:
    rng = np.random.default_rng(0)
    values = np.stack([rng.normal(0.3, 1, 120), np.zeros(120)])
    drawn = stats.resample(np.repeat(np.arange(12), 10).astype(str), resamples=10)
    by_cluster = stats.differences(values, drawn, [(0, 1)]).p_value[0]
    by_query = stats.differences(values, drawn, [(0, 1)], by_cluster=False).p_value[0]
    means = values[0].reshape(12, 10).mean(axis=1)
    np.testing.assert_allclose(by_cluster, scipy_stats.wilcoxon(means).pvalue)
    np.testing.assert_allclose(by_query, scipy_stats.wilcoxon(values[0]).pvalue)


def test_given_figures_are_what_is_compared() -> None:
    drawn = stats.resample(["a", "b"], resamples=3)
    figures = np.array([0.7, 0.4]), np.array([[0.6, 0.4], [0.7, 0.4], [0.8, 0.4]])
    found = stats.differences(np.full((2, 2), np.nan), drawn, [(0, 1)], figures=figures)
    np.testing.assert_allclose(found.difference, 0.3)
    np.testing.assert_allclose([found.low[0], found.high[0]], [0.205, 0.395])
    assert np.isnan([found.p_value[0], found.wins[0]]).all()
    assert found.n[0] == 0


def test_intervals_hold_the_truth_as_often_as_they_say() -> None:
    rng, held, rounds = np.random.default_rng(5), {"cluster": 0, "query": 0}, 300
    cluster = np.repeat(np.arange(50), 6)
    for number in range(rounds):
        values = rng.normal(size=50)[cluster] + rng.normal(size=300)
        for unit, names in (("cluster", cluster), ("query", np.arange(300))):
            drawn = stats.resample(names.astype(str), resamples=400, seed=number)
            low, high = stats.interval(drawn.means(values[:, None]))
            held[unit] += int(low[0] <= 0 <= high[0])
    assert 0.91 < held["cluster"] / rounds < 0.98
    assert held["query"] / rounds < 0.8  # what taking queries as independent would claim


# ranks


def test_rank_ranges_by_hand() -> None:
    draws = np.tile([[0.9, 0.5, 0.1]], (100, 1))
    draws[:10] = [0.4, 0.5, 0.1]
    low, high = stats.rank_ranges(draws)
    assert low.tolist() == [1, 1, 3]
    assert high.tolist() == [2, 2, 3]


def test_tied_models_share_the_better_rank_and_an_undefined_one_has_none() -> None:
    low, high = stats.rank_ranges(np.tile([[0.5, 0.1 + 0.4, np.nan, 0.2]], (10, 1)))
    assert low.tolist() == [1, 1, 0, 3]
    assert high.tolist() == low.tolist()


def test_rank_agreement_by_hand() -> None:
    figures = [[1, 2, 3, 4], [1, 2, 4, 3], [4, 3, 2, 1], [1, np.nan, np.nan, np.nan], [5] * 4]
    found = stats.rank_agreement(np.array(figures, dtype=float))
    np.testing.assert_allclose(found[:3, :3], [[1, 2 / 3, -1], [2 / 3, 1, -2 / 3], [-1, -2 / 3, 1]])
    assert np.isnan(found[3:]).all()


def test_rank_agreement_counts_ties_as_tau_b() -> None:
    found = stats.rank_agreement([[1.0, 1.0, 2.0, 3.0], [1.0, 2.0, 3.0, 4.0]])
    np.testing.assert_allclose(found[0, 1], 5 / np.sqrt(5 * 6))  # 5 concordant, 1 pair tied


# letters


def test_letters_by_hand() -> None:
    differ = np.zeros((3, 3), dtype=bool)
    differ[0, 2] = differ[2, 0] = True
    assert stats.compact_letters([0.1, 0.2, 0.3], differ) == ["b", "ab", "a"]
    assert stats.compact_letters([0.1, 0.2, 0.3], np.zeros((3, 3))) == ["a", "a", "a"]
    assert stats.compact_letters([0.1, np.nan, 0.3], ~np.eye(3, dtype=bool)) == ["b", "", "a"]
    assert stats.compact_letters([], np.zeros((0, 0))) == []


@given(st.integers(1, 7), st.randoms(use_true_random=False))
@settings(max_examples=80, deadline=None)
def test_two_models_share_a_letter_exactly_if_they_do_not_differ(
    count: int, random: np.random.Generator
) -> None:
    differ = np.zeros((count, count), dtype=bool)
    for one, other in itertools.combinations(range(count), 2):
        differ[one, other] = differ[other, one] = random.random() < 0.4
    figures = [random.random() for _ in range(count)]
    letters = stats.compact_letters(figures, differ)
    assert "a" in letters[int(np.argmax(figures))]
    for one, other in itertools.combinations(range(count), 2):
        assert bool(set(letters[one]) & set(letters[other])) != differ[one, other]


# speed


def test_a_full_comparison_is_fast() -> None:
    """20 models, 2,477 queries, 10 metrics, all pairs; promised in 20 s, here by CPU time."""
    rng, start = np.random.default_rng(0), time.process_time()
    names = rng.integers(0, 416, 2477).astype(str)
    drawn, pairs = stats.resample(names), list(itertools.combinations(range(20), 2))
    found = [stats.differences(rng.random((20, 2477)), drawn, pairs).p_value for _ in range(10)]
    assert np.isfinite(stats.holm(np.concatenate(found))).all()
    assert time.process_time() - start < 20
