"""Classification: figures by hand and against scikit-learn, both score-to-class rules."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fashion_rq_bench.errors import MetricInputError
from fashion_rq_bench.measures.classification import (
    class_sizes,
    classes_by_cuts,
    classes_by_rank,
    classification_report,
    fit_cuts,
    folds_of,
    report_from_confusion,
)

relaxed = settings(deadline=None, max_examples=50)


def test_report_by_hand():
    report = classification_report([0, 0, 1, 2, 3, 3], [0, 1, 1, 2, 2, 0])
    assert report.confusion.tolist() == [[1, 1, 0, 0], [0, 1, 0, 0], [0, 0, 1, 0], [1, 0, 1, 0]]
    assert report.accuracy == pytest.approx(3 / 6)
    assert report.ordinal_error == pytest.approx((0 + 1 + 0 + 0 + 1 + 3) / 6)
    np.testing.assert_allclose(report.precision, [1 / 2, 1 / 2, 1 / 2, np.nan])
    np.testing.assert_allclose(report.recall, [1 / 2, 1, 1, 0])
    np.testing.assert_allclose(report.f1, [1 / 2, 2 / 3, 2 / 3, 0])
    assert report.macro_f1 == pytest.approx((1 / 2 + 2 / 3 + 2 / 3) / 4)
    assert report.support.tolist() == [2, 1, 1, 2]
    assert report.n == 6


def test_a_class_that_never_occurs_is_undefined():
    report = classification_report([0, 1], [0, 1])
    assert np.isnan(report.f1[2:]).all()
    assert report.macro_f1 == 1.0


@pytest.mark.filterwarnings("ignore")
def test_report_equals_scikit_learn():
    metrics = pytest.importorskip("sklearn.metrics")
    rng = np.random.default_rng(1)
    for _ in range(20):
        labels, guesses = rng.integers(0, 4, 60), rng.choice(4, 60, p=[0.5, 0.3, 0.2, 0])
        report = classification_report(labels, guesses)
        theirs = metrics.precision_recall_fscore_support(
            labels, guesses, labels=[0, 1, 2, 3], zero_division=np.nan
        )
        for ours, value in zip(
            (report.precision, report.recall, report.f1, report.support), theirs, strict=True
        ):
            np.testing.assert_allclose(ours, value)
        assert report.accuracy == pytest.approx(metrics.accuracy_score(labels, guesses))
        assert report.macro_f1 == pytest.approx(
            metrics.f1_score(labels, guesses, average="macro", zero_division=0)
        )
        np.testing.assert_array_equal(
            report.confusion, metrics.confusion_matrix(labels, guesses, labels=[0, 1, 2, 3])
        )


# ---- filling classes by rank -----------------------------------------------------------------


def test_ranks_fill_the_classes():
    labels = [[3, 0, 2, 1], [0, 0, 3]]
    sizes = class_sizes(labels)
    assert sizes.tolist() == [[1, 1, 1, 1], [2, 0, 0, 1]]
    got = classes_by_rank([[9, 1, 5, 3], [1, 9, 5]], sizes)
    assert got.argmax(axis=1).tolist() == [3, 0, 2, 1, 0, 3, 0]
    assert set(got.ravel()) == {0.0, 1.0}


def test_tied_products_share_their_classes():
    got = classes_by_rank([[2, 1, 1, 0]], [[1, 1, 1, 1]])
    assert got.tolist() == [[0, 0, 0, 1], [0, 0.5, 0.5, 0], [0, 0.5, 0.5, 0], [1, 0, 0, 0]]
    report = classification_report([3, 2, 1, 0], got)
    assert report.accuracy == pytest.approx(3 / 4)
    assert report.ordinal_error == pytest.approx(1 / 4)


def test_a_constant_scorer_gets_the_shares_of_the_classes():
    labels = [[0, 0, 1, 1, 2, 2, 3, 3]] * 3
    got = classes_by_rank(np.zeros((3, 8)), class_sizes(labels))
    assert (got == 0.25).all()
    report = classification_report(np.ravel(labels), got)
    assert report.accuracy == report.macro_f1 == pytest.approx(0.25)


def test_expectation_over_tie_orders_is_exact():
    """Accuracy, macro-F1 and ordinal error over every order of the ties of two pools."""
    scores, labels = [[2, 1, 1, 1, 0], [4, 4, 0]], [[3, 1, 2, 0, 1], [0, 3, 2]]
    sizes = class_sizes(labels)
    truth = np.concatenate(labels)
    values = []
    for first in itertools.permutations(range(5)):
        for second in itertools.permutations(range(3)):
            broken = [
                np.array(row) + 1e-3 * np.array(order)
                for row, order in zip(scores, (first, second), strict=True)
            ]
            report = classification_report(truth, classes_by_rank(broken, sizes).argmax(axis=1))
            values.append((report.accuracy, report.macro_f1, report.ordinal_error, *report.f1))
    exact = classification_report(truth, classes_by_rank(scores, sizes))
    np.testing.assert_allclose(
        np.mean(values, axis=0),
        [exact.accuracy, exact.macro_f1, exact.ordinal_error, *exact.f1],
        atol=1e-12,
    )


@relaxed
@given(st.data())
def test_probabilities_sum_to_the_sizes(data):
    pools = data.draw(
        st.lists(
            st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), min_size=1, max_size=9),
            min_size=1,
            max_size=4,
        )
    )
    scores = [[float(score) for score, _ in pool] for pool in pools]
    sizes = class_sizes([[label for _, label in pool] for pool in pools])
    got = classes_by_rank(scores, sizes)
    np.testing.assert_allclose(got.sum(axis=1), 1)
    assert ((got >= 0) & (got <= 1)).all()
    ends = np.cumsum([len(pool) for pool in pools])
    for pool, want in zip(np.split(got, ends[:-1]), sizes, strict=True):
        np.testing.assert_allclose(pool.sum(axis=0), want, atol=1e-12)


# ---- cut points ------------------------------------------------------------------------------


def _accuracy(scores, labels, cuts) -> float:
    return float((np.searchsorted(cuts, scores, side="right") == labels).mean())


@relaxed
@given(
    st.lists(st.tuples(st.integers(0, 6), st.integers(0, 3)), min_size=1, max_size=12),
)
def test_cuts_are_optimal(pairs):
    """No other three cuts, tried one by one, are right more often."""
    scores = np.array([score for score, _ in pairs], float)
    labels = np.array([label for _, label in pairs])
    candidates = [-np.inf, *(np.arange(0, 6) + 0.5), np.inf]
    best = max(
        _accuracy(scores, labels, cuts)
        for cuts in itertools.combinations_with_replacement(candidates, 3)
    )
    cuts = fit_cuts(scores, labels)
    assert (cuts[1:] >= cuts[:-1]).all()
    assert _accuracy(scores, labels, cuts) == pytest.approx(best)


def test_cuts_by_hand():
    assert fit_cuts([1.0, 2.0, 3.0, 4.0], [0, 1, 2, 3]).tolist() == [1.5, 2.5, 3.5]
    assert fit_cuts([1.0, 2.0], [3, 3]).tolist() == [-np.inf] * 3
    assert fit_cuts([1.0, 2.0], [0, 0]).tolist() == [np.inf] * 3
    neighbour = np.nextafter(1.0, 2.0)
    cuts = fit_cuts([1.0, neighbour], [0, 1], 2)
    assert np.searchsorted(cuts, [1.0, neighbour], side="right").tolist() == [0, 1]


def test_cuts_come_from_the_other_folds():
    scores, labels = [[0.1, 0.9]] * 2 + [[10.0, 90.0]] * 2, [[0, 3]] * 4
    got = classes_by_cuts(scores, labels, [0, 0, 1, 1])
    assert got.tolist() == [0, 0, 0, 0, 3, 3, 3, 3]


def test_folds_keep_clusters_together():
    clusters = np.random.default_rng(2).integers(0, 23, 300).tolist()
    folds = folds_of(clusters, 5)
    assert np.array_equal(folds, folds_of(clusters, 5))
    assert not np.array_equal(folds, folds_of(clusters, 5, seed=1))
    by_cluster = {}
    for cluster, fold in zip(clusters, folds.tolist(), strict=True):
        assert by_cluster.setdefault(cluster, fold) == fold
    counts = np.bincount(list(by_cluster.values()))
    assert counts.max() - counts.min() <= 1


# ---- refusals --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("labels", "predictions", "words"),
    [
        ([], [], "not empty"),
        ([0, 1], [0], "2 labels, 1 predictions"),
        ([0, 4], [0, 1], "labels must be whole numbers from 0 to 3; number 1"),
        ([0, 1], [0, -1], "predictions must be"),
        ([0, 1], [0, 0.5], "predictions must be"),
        ([0, float("nan")], [0, 1], "labels must be"),
        (["exact"], [3], "labels must be"),
        ([0], [[0.5, 0.5]], "4 columns"),
        ([0], [[0.5, 0.5, 0.5, 0]], "pair 0 must not be negative and sum to 1"),
        ([0], [[1.5, -0.5, 0, 0]], "pair 0"),
        ([0], [[np.nan, 1, 0, 0]], "pair 0"),
    ],
)
def test_report_refuses(labels, predictions, words):
    with pytest.raises(MetricInputError, match=words):
        classification_report(labels, predictions)


def test_rules_refuse():
    with pytest.raises(MetricInputError, match="sums to the length"):
        classes_by_rank([[1, 2]], [[1, 0, 0, 0]])
    with pytest.raises(MetricInputError, match="counts"):
        classes_by_rank([[1, 2]], [[0.5, 0.5, 0.5, 0.5]])
    with pytest.raises(MetricInputError, match="NaN"):
        classes_by_rank([[1, float("nan")]], [[2, 0, 0, 0]])
    with pytest.raises(MetricInputError, match="two different ones"):
        classes_by_cuts([[1, 2]], [[0, 1]], [0])
    with pytest.raises(MetricInputError, match="differ in length"):
        classes_by_cuts([[1, 2]], [[0]], [0])
    with pytest.raises(MetricInputError, match="at least 2"):
        folds_of([1, 2], 1)


def test_confusion_of_expected_counts():
    report = report_from_confusion(np.array([[1.5, 0.5], [0.5, 1.5]]))
    assert report.accuracy == report.macro_f1 == pytest.approx(0.75)
