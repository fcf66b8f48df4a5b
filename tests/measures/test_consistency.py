"""Consistency@K: by hand, against Python sets, under ties, by intent, properties, refusals."""

from __future__ import annotations

import itertools

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fashion_rq_bench.errors import MetricInputError
from fashion_rq_bench.measures.consistency import chance, consistency

relaxed = settings(deadline=None, max_examples=40)


def test_by_hand():
    """Group x: top 2 {a, b}, {a, c}, {b, c}: three overlaps of 1/3. Group y: identical lists."""
    scores = [[3, 2, 1], [3, 1, 2], [1, 3, 2], [3, 2, 1], [9, 8, 7], [1, 2, 3]]
    ids = [["a", "b", "c"]] * 6
    got = consistency(scores, ids, ["x", "x", "x", "y", "y", "z"], k=2)
    assert got.groups == ["x", "y"]
    assert got.per_group == pytest.approx([1 / 3, 1.0])
    assert got.value == pytest.approx(2 / 3)
    assert got.pairs.tolist() == [3, 1]
    assert got.left_out == 1


def test_disjoint_lists_and_lists_of_unequal_length():
    assert consistency([[2, 1], [2, 1]], [["a", "b"], ["c", "d"]], ["x", "x"], k=2).value == 0.0
    got = consistency([[2, 1], [2, 1, 0]], [["a", "b"], ["a", "b", "c"]], ["x", "x"], k=10)
    assert got.value == pytest.approx(2 / 3)
    assert consistency([[], [1]], [[], ["a"]], ["x", "x"]).value == 0.0
    assert np.isnan(consistency([[1], [1]], [["a"], ["a"]], ["x", "y"]).value)


def test_equals_python_sets():
    rng = np.random.default_rng(1)
    groups = rng.integers(0, 40, 200).tolist()
    lengths = rng.integers(5, 30, 200)
    scores = [rng.random(n) for n in lengths]
    ids = [[f"p{i}" for i in rng.choice(40, n, replace=False)] for n in lengths]
    tops = [
        {names[i] for i in np.argsort(-row)[:7]} for row, names in zip(scores, ids, strict=True)
    ]
    per_group = {}
    for label in dict.fromkeys(groups):
        members = [i for i, other in enumerate(groups) if other == label]
        pairs = list(itertools.combinations(members, 2))
        if pairs:
            overlaps = [len(tops[i] & tops[j]) / len(tops[i] | tops[j]) for i, j in pairs]
            per_group[label] = sum(overlaps) / len(overlaps)
    got = consistency(scores, ids, groups, k=7)
    assert got.groups == list(per_group)
    np.testing.assert_allclose(got.per_group, list(per_group.values()), atol=1e-15)


def test_long_pools_equal_a_full_sort():
    rng = np.random.default_rng(2)
    scores, groups = rng.random((20, 5000)), np.repeat(range(5), 4)
    ids = np.tile(np.arange(5000), (20, 1))
    tops = [set(np.argsort(-row)[:50].tolist()) for row in scores]
    want = [
        len(tops[i] & tops[j]) / len(tops[i] | tops[j])
        for group in range(5)
        for i, j in itertools.combinations(range(4 * group, 4 * group + 4), 2)
    ]
    got = consistency(scores, ids, groups.tolist(), k=50)
    assert got.value == pytest.approx(np.mean(want))


# ---- ties ------------------------------------------------------------------------------------


def _constant(queries: int, pool: int) -> tuple[np.ndarray, np.ndarray, list[int]]:
    return np.zeros((queries, pool)), np.tile(np.arange(pool), (queries, 1)), [0] * queries


@pytest.mark.parametrize(("pool", "k"), [(15, 5), (15, 10), (200, 10)])
def test_a_constant_scorer_gets_what_chance_gives(pool, k):
    scores, ids, groups = _constant(300, pool)  # 44,850 pairs
    got = consistency(scores, ids, groups, k=k).value
    assert got == pytest.approx(chance([pool], k)[0], abs=0.005)


def test_chance_by_enumeration():
    sets = list(itertools.combinations(range(5), 2))
    overlaps = [
        len(set(a) & set(b)) / len(set(a) | set(b)) for a, b in itertools.product(sets, sets)
    ]
    assert chance([5, 2, 1], 2) == pytest.approx([np.mean(overlaps), 1.0, 1.0])


def test_a_share_of_ties_moves_only_what_is_tied():
    """Top 2 of {a: 9, b = c = d: 1}: a for sure, the second at random."""
    scores, ids = np.tile([9.0, 1, 1, 1], (400, 1)), np.tile(list("abcd"), (400, 1))
    got = consistency(scores, ids, [0] * 400, k=2).value
    assert got == pytest.approx(1 / 3 * 1 + 2 / 3 * 1 / 3, abs=0.01)


def test_ties_follow_seed_query_and_product_only():
    scores, ids, groups = _constant(6, 15)
    names = [f"q{i}" for i in range(6)]
    first = consistency(scores, ids, groups, k=5, query_ids=names)
    assert first.value == consistency(scores, ids, groups, k=5, query_ids=names).value
    assert first.value != consistency(scores, ids, groups, k=5, query_ids=names, seed=1).value
    shuffled = np.random.default_rng(0).permuted(ids, axis=1)
    assert first.value == consistency(scores, shuffled, groups, k=5, query_ids=names).value
    assert first.value == pytest.approx(0.19682539682539685)  # the hash is part of the definition


def test_sampling_averages_over_tie_orders():
    scores, ids, groups = _constant(4, 15)
    one_by_one = [consistency(scores, ids, groups, k=5, seed=s).value for s in range(3, 203)]
    sampled = consistency(scores, ids, groups, k=5, seed=3, samples=200).value
    assert sampled == pytest.approx(np.mean(one_by_one))
    assert sampled == pytest.approx(chance([15], 5)[0], abs=0.02)
    untied = np.random.default_rng(3).random((4, 15))
    assert consistency(untied, ids, groups, samples=5).value == pytest.approx(
        consistency(untied, ids, groups).value
    )


# ---- by intent -------------------------------------------------------------------------------

INTENTS = [
    {"product_type": "shirt", "color": ["Blue", "red"]},
    [{"product_type": "Shirt", "color": ["red", "blue"], "gender": None}],
    {"product_type": "shirt", "color": "blue"},
    None,
]


def test_true_paraphrases_apart_from_other_intents():
    scores = [[3, 2, 1], [3, 2, 1], [1, 2, 3], [1, 2, 3]]
    ids, groups = [list("abc")] * 4, ["x", "x", "x", "y"]
    same = consistency(scores, ids, groups, k=1, intents=INTENTS, relation="same_intent")
    assert (same.value, same.pairs.tolist(), same.left_out) == (1.0, [1], 1)
    other = consistency(scores, ids, groups, k=1, intents=INTENTS, relation="other_intent")
    assert (other.value, other.pairs.tolist()) == (0.0, [2])
    whole = consistency(scores, ids, groups, k=1)
    assert whole.value == pytest.approx(1 / 3)


# ---- properties ------------------------------------------------------------------------------


@st.composite
def cases(draw):
    queries, pool = draw(st.integers(1, 8)), draw(st.integers(1, 12))
    row = st.lists(st.integers(0, 3).map(float), min_size=pool, max_size=pool)
    scores = draw(st.lists(row, min_size=queries, max_size=queries))
    groups = draw(st.lists(st.integers(0, 2), min_size=queries, max_size=queries))
    return scores, [list(range(pool))] * queries, groups, draw(st.integers(1, 12))


@relaxed
@given(cases())
def test_bounds_order_and_repetition(case):
    scores, ids, groups, k = case
    names = [f"q{i}" for i in range(len(scores))]
    got = consistency(scores, ids, groups, k=k, query_ids=names)
    assert ((got.per_group >= 0) & (got.per_group <= 1)).all()
    again = consistency(scores, ids, groups, k=k, query_ids=names)
    np.testing.assert_array_equal(got.per_group, again.per_group)
    backwards = consistency(scores[::-1], ids, groups[::-1], k=k, query_ids=names[::-1])
    np.testing.assert_allclose(got.value, backwards.value)
    if k >= len(ids[0]):
        assert (got.per_group == 1).all()


@relaxed
@given(st.lists(st.integers(0, 50), min_size=2, max_size=10, unique=True), st.integers(1, 10))
def test_one_on_identical_and_zero_on_disjoint_lists(values, k):
    scores = [[float(v) for v in values]] * 3
    ids = [[f"p{v}" for v in values]] * 3
    assert consistency(scores, ids, [0, 0, 0], k=k).value == 1.0
    apart = [[f"{query}-{v}" for v in values] for query in range(3)]
    assert consistency(scores, apart, [0, 0, 0], k=k).value == 0.0


def test_arrow_input():
    scores, ids = pa.array([[2.0, 1.0], [1.0, 2.0]]), pa.array([["a", "b"], ["a", "b"]])
    assert consistency(scores, ids, pa.array(["x", "x"]), k=1).value == 0.0


@pytest.mark.parametrize(
    ("scores", "ids", "groups", "options", "words"),
    [
        ([[1, float("nan")]], [["a", "b"]], [0], {}, "NaN"),
        ([[1, 2]], [["a", "a"]], [0], {}, "repeat"),
        ([[1, 2]], [["a"]], [0], {}, "differ in length"),
        ([[1, 2]], [["a", "b"]], [0, 1], {}, "one label for each query"),
        ([], [], [], {}, "empty"),
        ([[1]], [["a"]], [[1]], {}, "label cannot be used"),
        ([[1]], [["a"]], [0], {"k": 0}, "k must be"),
        ([[1]], [["a"]], [0], {"samples": 0}, "samples must be"),
        ([[1]], [["a"]], [0], {"query_ids": ["q", "r"]}, "one id for each query"),
        ([[1], [1]], [["a"], ["a"]], [0, 0], {"query_ids": ["q", "q"]}, "none twice"),
        ([[1]], [["a"]], [0], {"relation": "same"}, "no such relation"),
        ([[1]], [["a"]], [0], {"relation": "same_intent"}, "need intents="),
        ([[1]], [["a"]], [0], {"relation": "same_intent", "intents": []}, "one entry"),
    ],
)
def test_refusals(scores, ids, groups, options, words):
    with pytest.raises(MetricInputError, match=words):
        consistency(scores, ids, groups, **options)
