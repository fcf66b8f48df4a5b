"""Ranking metrics: values worked by hand, every tie order, properties, refusals, runs."""

from __future__ import annotations

import doctest
import itertools
import math
import tracemalloc

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from helpers.paths import ROOT
from hypothesis import given, settings
from hypothesis import strategies as st

from fashion_rq_bench.errors import MetricInputError
from fashion_rq_bench.measures import ranking

ALL = tuple(ranking.METRICS)
CUTOFFS = [1, 2, 3, 5, 10]
relaxed = settings(deadline=None, max_examples=50)  # the machine may be busy


# ---- values worked by hand -------------------------------------------------------------------

# By score: grades 3, 0, 1, 2. DCG = 3/1 + 1/2 + 2/log2(5); ideal = 3 + 2/log2(3) + 1/2.
SCORES = [[0.9, 0.8, 0.7, 0.6]]
GRADES = [[3, 0, 1, 2]]


def test_ndcg_by_hand():
    dcg = 3 + 1 / 2 + 2 / math.log2(5)
    ideal = 3 + 2 / math.log2(3) + 1 / 2
    np.testing.assert_allclose(ranking.ndcg(SCORES, GRADES), [dcg / ideal], rtol=1e-15)
    np.testing.assert_allclose(ranking.ndcg(SCORES, GRADES, k=2), [3 / (3 + 2 / math.log2(3))])


def test_exponential_and_mapped_gains():
    dcg = 7 + 1 / 2 + 3 / math.log2(5)
    ideal = 7 + 3 / math.log2(3) + 1 / 2
    np.testing.assert_allclose(ranking.ndcg(SCORES, GRADES, gains="exponential"), [dcg / ideal])
    esci = {3: 1.0, 2: 0.1, 1: 0.01, 0: 0.0}
    dcg = 1 + 0.01 / 2 + 0.1 / math.log2(5)
    ideal = 1 + 0.1 / math.log2(3) + 0.01 / 2
    np.testing.assert_allclose(ranking.ndcg(SCORES, GRADES, gains=esci), [dcg / ideal])


def test_binary_metrics_by_hand():
    assert ranking.recall(SCORES, GRADES, k=3) == pytest.approx([2 / 3])
    assert ranking.precision(SCORES, GRADES, k=3) == pytest.approx([2 / 3])
    assert ranking.precision(SCORES, GRADES, k=10) == pytest.approx([3 / 10])
    assert ranking.precision(SCORES, GRADES, k=None) == pytest.approx([3 / 4])
    assert ranking.average_precision(SCORES, GRADES) == pytest.approx([(1 + 2 / 3 + 3 / 4) / 3])
    assert ranking.average_precision(SCORES, GRADES, k=3) == pytest.approx([(1 + 2 / 3) / 3])
    assert ranking.reciprocal_rank(SCORES, GRADES) == pytest.approx([1.0])
    assert ranking.hit_rate(SCORES, GRADES, k=1) == pytest.approx([1.0])


def test_min_grade_raises_the_bar():
    assert ranking.recall(SCORES, GRADES, k=3, min_grade=2) == pytest.approx([1 / 2])
    assert ranking.average_precision(SCORES, GRADES, min_grade=2) == pytest.approx(
        [(1 + 2 / 4) / 2]
    )
    assert ranking.reciprocal_rank([[3, 2, 1]], [[1, 2, 3]], min_grade=3) == pytest.approx([1 / 3])


def test_four_tied_products():
    """The notes' example: grades 3, 0, 0, 1 under one score."""
    scores, grades = [[1.0] * 4], [[3, 0, 0, 1]]
    mean_discount = sum(1 / math.log2(rank + 1) for rank in range(1, 5)) / 4
    expected = 4 * mean_discount / (3 + 1 / math.log2(3))
    assert ranking.ndcg(scores, grades) == pytest.approx([expected])
    assert expected == pytest.approx(0.705, abs=5e-4)
    # by position, the later first: 1, 0, 0, 3
    trec = (1 + 3 / math.log2(5)) / (3 + 1 / math.log2(3))
    assert ranking.ndcg(scores, grades, ties="trec") == pytest.approx([trec])
    assert trec == pytest.approx(0.631, abs=5e-4)
    assert ranking.recall(scores, grades, k=1) == pytest.approx([1 / 4])
    assert ranking.hit_rate(scores, grades, k=1) == pytest.approx([1 / 2])
    assert ranking.hit_rate(scores, grades, k=2) == pytest.approx([1 - 1 / 6])
    reciprocal = 1 / 2 + 1 / 3 * 1 / 2 + 1 / 6 * 1 / 3
    assert ranking.reciprocal_rank(scores, grades) == pytest.approx([reciprocal])


def test_ids_decide_ties_under_trec():
    tied = [[1.0, 1.0]]
    assert ranking.reciprocal_rank(tied, [[1, 0]], ties="trec", ids=[["b", "a"]]) == [1.0]
    assert ranking.reciprocal_rank(tied, [[1, 0]], ties="trec", ids=[["a", "b"]]) == [0.5]
    assert ranking.reciprocal_rank(tied, [[1, 0]], ties="trec", ids=[["10", "9"]]) == [0.5]
    assert ranking.reciprocal_rank(tied, [[1, 0]], ties="trec", ids=[[10, 9]]) == [1.0]


def test_ideal_holds_what_was_not_retrieved():
    found = ranking.ndcg([[1.0]], [[1]], ideal=[[1, 2]])
    assert found == pytest.approx([1 / (2 + 1 / math.log2(3))])
    assert ranking.recall([[1.0]], [[1]], ideal=[[1, 2]]) == pytest.approx([1 / 2])
    assert ranking.average_precision([[1.0]], [[1]], ideal=[[1, 2]]) == pytest.approx([1 / 2])
    nothing = {
        name: value[0] for name, value in ranking.score([[]], [[]], ALL, ideal=[[3]]).items()
    }
    assert set(nothing.values()) == {0.0}


def test_undefined_is_nan_and_counted():
    values = ranking.ndcg([[1.0, 2.0], [1.0, 2.0]], [[0, 0], [1, 0]])
    assert np.isnan(values[0])
    mean = ranking.mean(values)
    assert (mean.n, mean.undefined) == (1, 1)
    assert mean.value == pytest.approx(1 / math.log2(3))
    for name, value in ranking.score([[1.0, 2.0]], [[0, 0]], ALL).items():
        assert np.isnan(value).all(), name
    assert math.isnan(ranking.mean([float("nan")]).value)


def test_one_pass_gives_what_the_functions_give():
    rng = np.random.default_rng(1)
    scores, grades = rng.integers(0, 4, (30, 9)).astype(float), rng.integers(0, 4, (30, 9))
    together = ranking.score(scores, grades, ALL, [3, 5])
    for name in ("ndcg", "recall", "precision", "hit_rate"):
        both = getattr(ranking, name)(scores, grades, k=[3, 5])
        assert both.shape == (30, 2)
        assert both.dtype == np.float64
        np.testing.assert_array_equal(together[f"{name}@3"], both[:, 0])
        np.testing.assert_array_equal(together[f"{name}@5"], both[:, 1])
    for name in ("average_precision", "reciprocal_rank"):
        np.testing.assert_array_equal(together[name], getattr(ranking, name)(scores, grades))
    assert list(ranking.score(scores, grades, ["recall@7", "average_precision@2"])) == [
        "recall@7",
        "average_precision@2",
    ]


# ---- every order of ties ---------------------------------------------------------------------


def _reference(name: str, ordered: list[int], judged: list[int], k: int) -> float:
    """A metric by its definition, for one order of the retrieved grades."""
    if name == "ndcg":
        return _dcg(ordered, k) / _dcg(sorted(judged, reverse=True), k)
    relevant = sum(grade > 0 for grade in judged)
    hits = [rank for rank, grade in enumerate(ordered[:k], 1) if grade > 0]
    if name == "recall":
        return len(hits) / relevant
    if name == "precision":
        return len(hits) / k
    if name == "hit_rate":
        return float(bool(hits))
    if name == "reciprocal_rank":
        return 1 / hits[0] if hits else 0.0
    return sum(found / rank for found, rank in enumerate(hits, 1)) / relevant


def _dcg(grades: list[int], k: int) -> float:
    return sum(grade / math.log2(rank + 1) for rank, grade in enumerate(grades[:k], 1))


def _expected(name: str, scores: list[int], grades: list[int], judged: list[int], k: int) -> float:
    values = []
    for order in itertools.permutations(range(len(scores))):
        ordered = sorted(order, key=lambda i: -scores[i])
        values.append(_reference(name, [grades[i] for i in ordered], judged, k))
    return math.fsum(values) / len(values)


@pytest.mark.parametrize("name", ALL)
def test_expectation_equals_all_permutations(name):
    rng = np.random.default_rng(2)
    for _ in range(25):
        size = int(rng.integers(1, 7))
        scores, grades = rng.integers(0, 3, size).tolist(), rng.integers(0, 4, size).tolist()
        judged = [*grades, *rng.integers(0, 4, int(rng.integers(0, 3))).tolist(), 1]
        for k in (1, 2, 3, 6):
            got = getattr(ranking, name)([scores], [grades], k=k, ideal=[judged])
            want = _expected(name, scores, grades, judged, k)
            assert got[0] == pytest.approx(want, abs=1e-12), (scores, grades, judged, k)


def test_long_rows_equal_short_rows():
    """Rows over 64 products take another way to the ranks; unjudged tails must change nothing."""
    rng = np.random.default_rng(3)
    scores = rng.integers(1, 9, (40, 30)).astype(float)
    grades = rng.integers(0, 4, (40, 30))
    wide = np.hstack([scores, np.zeros((40, 170))])
    padded = np.hstack([grades, np.zeros((40, 170), int)])
    for ties in ("expected", "trec"):
        short = ranking.score(scores, grades, ALL, [5, 10], ties=ties)
        long = ranking.score(wide, padded, ALL, [5, 10], ties=ties)
        for name, values in short.items():
            np.testing.assert_allclose(values, long[name], atol=1e-13, err_msg=f"{name} {ties}")


def test_scores_equal_in_single_precision_only_are_not_tied():
    scores = np.linspace(0, 1, 200)[None] * 1e-3 + 1000.0
    scores[0, 100] = np.nextafter(scores[0, 99], 2000)
    grades = np.zeros((1, 200), int)
    grades[0, 99] = 1
    better = int((scores[0] > scores[0, 99]).sum())
    assert ranking.reciprocal_rank(scores, grades) == pytest.approx([1 / (better + 1)])


def test_a_tied_row_behind_an_untied_one():
    """Long rows are ranked in single precision first; ties found there are looked at again."""
    rng = np.random.default_rng(6)
    untied, tied = rng.random(200), rng.integers(0, 9, 200).astype(float)
    close = 1.0 + rng.permutation(200) * 1e-12
    scores, grades = np.stack([untied, tied, close]), rng.integers(0, 2, (3, 200))
    together = ranking.score(scores, grades, ALL, 5)
    for row in range(3):
        alone = ranking.score(scores[row : row + 1], grades[row : row + 1], ALL, 5)
        for name, values in together.items():
            assert values[row] == pytest.approx(alone[name][0], abs=1e-14), (name, row)
    order = np.argsort(-close)
    hits = np.flatnonzero(grades[2][order])
    assert together["average_precision"][2] == pytest.approx(
        np.mean(np.arange(1, len(hits) + 1) / (hits + 1))
    )


def test_large_ties_stay_exact():
    """A constant scorer over 5,000 products: closed forms."""
    n, relevant = 5000, 7
    scores, grades = np.zeros((1, n)), np.zeros((1, n), int)
    grades[0, :relevant] = 1
    assert ranking.recall(scores, grades, k=10)[0] == pytest.approx(10 / n, rel=1e-12)
    miss = math.comb(n - relevant, 10) / math.comb(n, 10)
    assert ranking.hit_rate(scores, grades, k=10)[0] == pytest.approx(1 - miss, rel=1e-9)
    slots = range(1, n - relevant + 2)
    first = sum(math.comb(n - i, relevant - 1) / math.comb(n, relevant) / i for i in slots)
    assert ranking.reciprocal_rank(scores, grades)[0] == pytest.approx(first, abs=1e-10)
    rate = (relevant - 1) / (n - 1)
    precision = math.fsum((1 + (i - 1) * rate) / i for i in range(1, n + 1)) / n
    assert ranking.average_precision(scores, grades)[0] == pytest.approx(precision, abs=1e-12)


# ---- forms of input --------------------------------------------------------------------------


def test_all_forms_of_input_agree():
    rng = np.random.default_rng(4)
    lengths = [0, 1, 3, 15, 15, 40, 70, 130]
    scores = [rng.integers(0, 9, n).astype(float) for n in lengths]
    grades = [rng.integers(0, 3, n) for n in lengths]
    want = ranking.score(scores, grades, ALL, 5)
    real = pa.list_(pa.float64())
    forms = [
        ([row.tolist() for row in scores], [row.tolist() for row in grades]),
        (pa.array([row.tolist() for row in scores]), pa.array([row.tolist() for row in grades])),
        (
            pa.chunked_array([pa.array([row.tolist()], real) for row in scores]),
            pa.array([row.tolist() for row in grades], pa.large_list(pa.int8())),
        ),
        (np.array(scores, dtype=object), tuple(grades)),
    ]
    for some_scores, some_grades in forms:
        got = ranking.score(some_scores, some_grades, ALL, 5)
        for name, values in want.items():
            np.testing.assert_array_equal(values, got[name])
    for row, (one_score, one_grade) in enumerate(zip(scores, grades, strict=True)):
        if len(one_score):
            alone = ranking.score(one_score[None], one_grade[None], ALL, 5)
            for name, values in want.items():
                np.testing.assert_allclose(values[row], alone[name][0], atol=1e-14)


def test_sliced_arrow_arrays_keep_their_rows():
    scores = pa.array([[9.0], [1.0, 2.0], [5.0, 4.0, 3.0]])[1:]
    grades = pa.array([[1], [1, 0], [0, 0, 1]])[1:]
    assert ranking.reciprocal_rank(scores, grades) == pytest.approx([1 / 2, 1 / 3])


def test_single_precision_and_integers_are_welcome():
    single = ranking.ndcg(np.float32([[0.1, 0.2]]), np.int8([[1, 2]]))
    whole = ranking.ndcg([[1, 2]], [[1, 2]])
    half = ranking.ndcg(np.float16([[0.1, 0.2]]), np.float64([[0.5, 1.0]]))
    assert single == whole == half == [1.0]


# ---- properties ------------------------------------------------------------------------------


@st.composite
def queries(draw, max_queries=4, max_size=12):
    count = draw(st.integers(1, max_queries))
    sizes = [draw(st.integers(1, max_size)) for _ in range(count)]
    value = st.integers(-3, 3).map(float)
    scores = [draw(st.lists(value, min_size=n, max_size=n)) for n in sizes]
    grades = [draw(st.lists(st.integers(0, 3), min_size=n, max_size=n)) for n in sizes]
    return scores, grades


@relaxed
@given(queries(), st.sampled_from(["expected", "trec"]))
def test_bounds_and_same_result_twice(case, ties):
    scores, grades = case
    first = ranking.score(scores, grades, ALL, CUTOFFS, ties=ties)
    second = ranking.score(scores, grades, ALL, CUTOFFS, ties=ties)
    for name, values in first.items():
        np.testing.assert_array_equal(values, second[name])
        defined = values[~np.isnan(values)]
        assert ((defined >= 0) & (defined <= 1)).all()
        relevant = np.array([max(row) > 0 for row in grades])
        np.testing.assert_array_equal(~np.isnan(values), relevant)


@relaxed
@given(queries(), st.randoms(use_true_random=False))
def test_invariant_to_shuffling(case, random):
    scores, grades = case
    orders = [random.sample(range(len(row)), len(row)) for row in scores]
    shuffled = [[row[i] for i in order] for row, order in zip(scores, orders, strict=True)]
    regraded = [[row[i] for i in order] for row, order in zip(grades, orders, strict=True)]
    ids = [[f"p{i}" for i in range(len(row))] for row in scores]
    moved = [[f"p{i}" for i in order] for order in orders]
    for options, other in (({}, {}), ({"ids": ids}, {"ids": moved})):
        ties = "trec" if options else "expected"
        before = ranking.score(scores, grades, ALL, CUTOFFS, ties=ties, **options)
        after = ranking.score(shuffled, regraded, ALL, CUTOFFS, ties=ties, **other)
        for name, values in before.items():
            np.testing.assert_allclose(values, after[name], atol=1e-12)


@relaxed
@given(queries(max_queries=2), st.integers(1, 80))
def test_unjudged_tails_change_nothing(case, tail):
    scores, grades = case
    longer = [[*row, *[-9.0] * tail] for row in scores]
    graded = [[*row, *[0] * tail] for row in grades]
    for ties in ("expected", "trec"):
        before = ranking.score(scores, grades, ALL, CUTOFFS, ties=ties)
        after = ranking.score(longer, graded, ALL, CUTOFFS, ties=ties)
        for name, values in before.items():
            np.testing.assert_allclose(values, after[name], atol=1e-12)


@relaxed
@given(queries(max_queries=1), st.data())
def test_promoting_a_better_product_never_hurts(case, data):
    """Give a product the score of one ranked above it that has a lower grade, and vice versa."""
    (scores,), (grades,) = case
    pairs = [
        (i, j)
        for i, j in itertools.permutations(range(len(scores)), 2)
        if grades[i] > grades[j] and scores[i] < scores[j]
    ]
    if not pairs:
        return
    i, j = data.draw(st.sampled_from(pairs))
    swapped = list(scores)
    swapped[i], swapped[j] = scores[j], scores[i]
    before = ranking.score([scores], [grades], ALL, CUTOFFS)
    after = ranking.score([swapped], [grades], ALL, CUTOFFS)
    for name in before:
        assert after[name][0] >= before[name][0] - 1e-12, name


@relaxed
@given(queries())
def test_the_ideal_order_scores_one(case):
    _, grades = case
    relevant = [max(row) > 0 for row in grades]
    for name in ("ndcg", "average_precision", "reciprocal_rank"):
        values = getattr(ranking, name)(grades, grades, k=None)
        assert (values[relevant] >= 1.0 - 1e-12).all()


# ---- refusals --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("scores", "grades", "options", "words"),
    [
        ([[float("nan"), 1]], [[1, 0]], {}, "query 0, position 0.*NaN"),
        ([[1, 2], [1, float("inf")]], [[1, 0], [1, 0]], {}, "query 1, position 1.*infinite"),
        ([[1, 2]], [[1]], {}, "query 0 differ in length.*2 scores, 1 grades"),
        ([[1, 2]], [[1, 0], [1, 0]], {}, "one row per query"),
        ([[1, 2]], [[1, -1]], {}, "grades of query 0, position 1, is below 0"),
        ([], [], {}, "empty"),
        (np.empty((0, 5)), np.empty((0, 5)), {}, "empty"),
        ([[]], [[]], {}, "No query has a product"),
        ([1.0, 2.0], [1, 0], {}, "row 0 is not a list"),
        ([[1, 2], [[1, 2], [3]]], [[1, 0], [1, 0]], {}, "row 1 is not a list"),
        ([[1, 2], [1, None]], [[1, 0], [1, 0]], {}, "query 1, position 1, holds None"),
        ([["a", "b"]], [[1, 0]], {}, "query 0, position 0, holds 'a'"),
        (np.array([["a", "b"]]), [[1, 0]], {}, "must hold numbers"),
        ("ab", [[1, 0]], {}, "2-D array"),
        (np.float64(1), [[1, 0]], {}, "2-D array"),
        ({"q": [1.0]}, [[1]], {}, "2-D array"),
        (pa.array([1.0]), [[1]], {}, "array of lists"),
        (pa.array([[1.0, None]]), [[1, 0]], {}, "nulls"),
        ([[1, 2]], [[1, 0]], {"k": 0}, "at least 1"),
        ([[1, 2]], [[1, 0]], {"k": [5, -1]}, "at least 1"),
        ([[1, 2]], [[1, 0]], {"k": 2.5}, "whole number"),
        ([[1, 2]], [[1, 0]], {"k": True}, "whole number"),
        ([[1, 2]], [[1, 0]], {"k": []}, "empty"),
        ([[1, 2]], [[1, 0]], {"ids": [["a", "a"]], "ties": "trec"}, "query 0 repeat.*'a'"),
        ([[1, 2]], [[1, 0]], {"ids": [["a"]]}, "differ in length"),
        ([[1, 2]], [[1, 0]], {"ids": [["a", None]]}, "ids of query 0, position 1, is null"),
        ([[1, 2]], [[1, 0]], {"ties": "random"}, "rule for ties.*expected, trec"),
        ([[1, 2]], [[1, 0]], {"gains": "squared"}, "rule for gains"),
        ([[1, 2]], [[1, 0]], {"gains": {2: 1.0}}, "no gain"),
        ([[1, 2]], [[1, 0]], {"gains": {1: -1.0}}, "not negative"),
        ([[1, 2]], [[1, 0]], {"gains": {0: 1.0, 1: 2.0}}, "grade 0 must be 0"),
        ([[1, 2]], [[1, 0]], {"ideal": [[0]]}, "more or better"),
        ([[1, 2]], [[2, 0]], {"ideal": [[1, 1]]}, "more or better"),
        ([[1, 2]], [[1, 0]], {"ideal": [[1], [1]]}, "one row per query"),
        ([[1e300, 2]], [[1, 0]], {"ties": "trec"}, "single precision"),
    ],
)
def test_refusals(scores, grades, options, words):
    with pytest.raises(MetricInputError, match=words):
        ranking.ndcg(scores, grades, **options)


def test_refusals_of_score_and_mean():
    with pytest.raises(MetricInputError, match="Did you mean 'ndcg'"):
        ranking.score([[1]], [[1]], ["ndgc"])
    with pytest.raises(MetricInputError, match="No metric"):
        ranking.score([[1]], [[1]], [])
    with pytest.raises(MetricInputError, match="at least 1"):
        ranking.score([[1]], [[1]], ["ndcg@0"])
    with pytest.raises(MetricInputError, match="min_grade"):
        ranking.recall([[1]], [[1]], min_grade=0)
    with pytest.raises(MetricInputError, match="one value per query"):
        ranking.mean([[0.5]])


# ---- runs and judgements ---------------------------------------------------------------------

RUN = {"q1": {"a": 3.0, "b": 2.0, "x": 1.0}, "q2": {"a": 1.0}, "q9": {"a": 1.0}}
QRELS = {"q2": {"b": 1}, "q1": {"b": 2, "c": 1}, "q3": {"a": 3}}


def test_from_run_lines_up_run_and_judgements():
    got = ranking.from_run(RUN, QRELS)
    assert got.query_ids.to_pylist() == ["q2", "q1", "q3"]
    assert got.scores.to_pylist() == [[1.0], [3.0, 2.0, 1.0], []]
    assert got.grades.to_pylist() == [[0], [0, 2, 0], []]
    assert got.ids.to_pylist() == [["a"], ["a", "b", "x"], []]
    assert got.ideal.to_pylist() == [[1], [2, 1], [3]]
    assert (got.missing, got.unjudged) == (1, 1)
    values = ranking.recall(got.scores, got.grades, ids=got.ids, ideal=got.ideal)
    assert values == pytest.approx([0.0, 0.5, 0.0])


def test_from_run_reads_tables_and_parquet(tmp_path):
    run = [(q, p, s) for q, row in RUN.items() for p, s in row.items()]
    qrels = [(q, p, g) for q, row in QRELS.items() for p, g in row.items()]
    names = ["query_id", "product_id"]
    tables = [
        pa.table(list(zip(*rows, strict=True)), names=[*names, value])
        for rows, value in ((run, "score"), (qrels, "grade"))
    ]
    paths = [tmp_path / "run.parquet", tmp_path / "qrels.parquet"]
    for table, path in zip(tables, paths, strict=True):
        pq.write_table(table, path)
    want = ranking.from_run(RUN, QRELS)
    for got in (ranking.from_run(*tables), ranking.from_run(*paths)):
        for field in ("query_ids", "scores", "grades", "ids", "ideal"):
            assert getattr(got, field).to_pylist() == getattr(want, field).to_pylist()


def test_from_run_refuses():
    table = pa.table({"query_id": ["q", "q"], "product_id": ["a", "a"], "grade": [1, 2]})
    with pytest.raises(MetricInputError, match=r"twice.*query q, product a"):
        ranking.from_run(RUN, table)
    doubled = table.rename_columns({"grade": "score"})
    with pytest.raises(MetricInputError, match=r"run holds .* twice.*query q, product a"):
        ranking.from_run(doubled, {"q": {"a": 1}})
    with pytest.raises(MetricInputError, match="lacks the column 'score'"):
        ranking.from_run(table, QRELS)
    with pytest.raises(MetricInputError, match="empty"):
        ranking.from_run(RUN, {})
    with pytest.raises(MetricInputError, match="nested dicts"):
        ranking.from_run([1], QRELS)
    nulls = pa.table({"query_id": ["q"], "product_id": ["a"], "grade": pa.array([None], pa.int8())})
    with pytest.raises(MetricInputError, match="nulls in the column 'grade'"):
        ranking.from_run(RUN, nulls)


# ---- memory ----------------------------------------------------------------------------------


def test_memory_is_linear_whatever_the_lengths():
    """One row of 200,000 products among 20,000 of five must not be padded to a rectangle."""
    rng = np.random.default_rng(5)
    lengths = np.full(20_000, 5)
    lengths[7] = 200_000
    scores = [rng.random(n) for n in lengths]
    grades = [rng.integers(0, 2, n) for n in lengths]
    size = 8 * int(lengths.sum())
    tracemalloc.start()
    ranking.score(scores, grades, ALL, [5, 10])
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 60 * size


def test_the_guide_shows_what_comes_out():
    guide = ROOT / "docs" / "metrics.md"
    text = guide.read_text(encoding="utf-8").replace("```", "")
    test = doctest.DocTestParser().get_doctest(text, {}, guide.name, str(guide), 0)
    assert len(test.examples) > 15
    report: list[str] = []
    doctest.DocTestRunner().run(test, out=report.append)
    assert not report, "".join(report)
