"""Whole-corpus retrieval: exact search, grades from the hierarchy, figures by hand, all doors."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from helpers.scored import write_scored
from helpers.tiny import tiny_tables
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from fashion_rq_bench.editions.edition import Edition
from fashion_rq_bench.editions.pools import Collection
from fashion_rq_bench.errors import ConfigError, EditionError, ModelError
from fashion_rq_bench.evaluation.floor import catalog_floor
from fashion_rq_bench.evaluation.run import evaluate, search_catalog
from fashion_rq_bench.evaluation.whole_catalog import (
    RETRIEVAL,
    catalog_rankings,
    grades_of,
    queries_of,
    relevant_counts,
    score_catalog,
)
from fashion_rq_bench.retrievers.base import Found
from fashion_rq_bench.retrievers.dot_search import DEPTH, checked, top_k_dot
from fashion_rq_bench.retrievers.registry import resolve


@pytest.fixture(scope="module")
def edition(tmp_path_factory: pytest.TempPathFactory) -> Edition:
    return write_scored(tmp_path_factory.mktemp("tiny") / "edition")


@pytest.fixture(scope="module")
def collection(edition: Edition) -> Collection:
    return Collection.read(edition)


@pytest.fixture(scope="module")
def mini() -> Collection:
    try:
        return Collection.read(Edition.open("mini"))
    except EditionError:
        pytest.skip("the embedded edition is not built yet")


# search


def brute(queries: Any, products: Any, k: int) -> tuple[np.ndarray, np.ndarray]:
    """Every dot product in float64, equal rows scored equally; ties by position."""
    left, right = (np.asarray(one, dtype=np.float64) for one in (queries, products))
    scores = np.stack([np.einsum("d,nd->n", row, right) for row in left])
    places = np.stack([np.lexsort((np.arange(len(right)), -row))[:k] for row in scores])
    return places, np.take_along_axis(scores, places, axis=1)


shapes = st.tuples(st.integers(1, 9), st.integers(1, 60), st.integers(1, 6), st.integers(1, 70))


@settings(max_examples=60, deadline=None)
@given(shapes, st.integers(0, 2**32 - 1))
def test_dense_search_is_exact_under_ties(shape: tuple[int, int, int, int], seed: int) -> None:
    count, size, dim, k = shape
    rng = np.random.default_rng(seed)
    products = rng.integers(-2, 3, (size, dim)).astype(np.float32)  # many equal rows and scores
    queries = rng.integers(-2, 3, (count, dim)).astype(np.float32)
    found = top_k_dot(queries, products, k)
    places, scores = brute(queries, products, k)
    assert np.array_equal(found.product_index, places)
    assert np.array_equal(found.scores, scores)


@settings(max_examples=60, deadline=None)
@given(shapes, st.integers(0, 2**32 - 1), st.booleans())
def test_sparse_search_equals_dense(
    shape: tuple[int, int, int, int], seed: int, negative: bool
) -> None:
    count, size, dim, k = shape
    rng = np.random.default_rng(seed)
    low = -2 if negative else 0
    keep = rng.random((size, dim)) < rng.random()
    products = rng.integers(low, 3, (size, dim)) * keep
    queries = rng.integers(low, 3, (count, dim)).astype(float)
    found = top_k_dot(sparse.csr_array(queries), sparse.csr_array(products.astype(float)), k)
    places, scores = brute(queries, products, k)
    assert np.array_equal(found.product_index, places)
    assert np.array_equal(found.scores, scores)


def test_scores_closer_than_float32_tells_apart_are_ordered_in_float64() -> None:
    rng = np.random.default_rng(1)
    products = np.ones((2000, 64), dtype=np.float32) * 1000
    products += rng.normal(size=products.shape).astype(np.float32) * np.float32(1e-3)
    queries = rng.normal(size=(20, 64)).astype(np.float32)
    places = brute(queries, products, 5)[0]
    assert np.array_equal(top_k_dot(queries, products, 5).product_index, places)
    in_float32 = np.argsort(-(queries @ products.T), axis=1, kind="stable")[:, :5]
    assert not np.array_equal(np.sort(in_float32), np.sort(places))  # or the test shows nothing


def test_blocks_do_not_matter(monkeypatch: pytest.MonkeyPatch) -> None:
    from fashion_rq_bench.retrievers import dot_search as retrieval

    rng = np.random.default_rng(0)
    queries, products = rng.normal(size=(37, 8)), rng.normal(size=(101, 8))
    whole = top_k_dot(queries, products, 10)
    monkeypatch.setattr(retrieval, "_NUMBERS", 300)
    parts = top_k_dot(queries, products, 10)
    assert np.array_equal(whole.product_index, parts.product_index)
    assert np.array_equal(whole.scores, parts.scores)


def test_what_cannot_be_searched_is_refused() -> None:
    good = np.ones((3, 4), dtype=np.float32)
    with pytest.raises(ModelError, match="different lengths"):
        top_k_dot(good, np.ones((3, 5), dtype=np.float32))
    with pytest.raises(ModelError, match="not finite"):
        top_k_dot(good, np.full((3, 4), np.nan, dtype=np.float32))
    with pytest.raises(ModelError, match="not finite"):
        top_k_dot(np.full((1, 4), np.inf, dtype=np.float32), good)
    with pytest.raises(ConfigError, match="at least one"):
        top_k_dot(good, good, 0)
    assert top_k_dot(np.empty((0, 4)), good, 2).product_index.shape == (0, 2)


@pytest.mark.parametrize(
    ("places", "scores", "words"),
    [
        ([[0, 1]], [[2.0, 1.0]], "every query"),
        ([[0, 1], [0, 9]], [[2.0, 1.0]] * 2, "lacks"),
        ([[0, 1], [0, 0]], [[2.0, 1.0]] * 2, "twice"),
        ([[0, 1], [0, 1]], [[2.0, 1.0], [1.0, 2.0]], "best first"),
        ([[0, 1], [0, 1]], [[2.0, 1.0], [np.nan, 1.0]], "not finite"),
    ],
)
def test_findings_that_cannot_be_used_are_refused(places: Any, scores: Any, words: str) -> None:
    with pytest.raises(ModelError, match=words):
        checked(Found(np.array(scores), np.array(places)), 2, 5, "model")
    short = Found(np.array([[1.0, -np.inf]]), np.array([[3, -1]]))
    assert checked(short, 1, 5, "model") is short


# grades


def test_grades_are_those_of_the_pools(mini: Collection) -> None:
    pools = mini.task("ranking")
    found = grades_of(mini, pools.query_index, pools.product_index)
    assert np.array_equal(found, pools.grades)


def test_relevant_products_are_counted_over_the_corpus(mini: Collection) -> None:
    every = np.arange(len(mini.product_ids))
    for query in (0, 7, 100):
        grades = grades_of(mini, np.full(len(every), query), every)
        counts = [(grades == grade).sum() for grade in (3, 2, 1)]
        assert relevant_counts(mini)[query].tolist() == counts


# figures


def found_of(collection: Collection, order: np.ndarray) -> Found:
    """The same products, in the order of rising ``order`` (Q, N), for every query."""
    places = np.argsort(order, axis=1, kind="stable")[:, :DEPTH]
    falling = -np.arange(places.shape[1], dtype=np.float64)
    return Found(np.tile(falling, (len(places), 1)), places)


def all_grades(collection: Collection) -> np.ndarray:
    queries, size = len(collection.task("ranking").query_ids), len(collection.product_ids)
    query, product = np.divmod(np.arange(queries * size), size)
    return grades_of(collection, query, product).reshape(queries, size)


def test_the_best_order_reaches_everything_and_the_worst_nothing(collection: Collection) -> None:
    grades = all_grades(collection)
    best = score_catalog(collection, found_of(collection, -grades)).means()
    assert best["ndcg@10"].value == pytest.approx(1.0)
    assert best["recall@20"].value == pytest.approx(1.0)
    assert best["rel"].value == pytest.approx(1.0)
    worst = score_catalog(collection, found_of(collection, grades)).means()
    assert worst["recall@10"].value == pytest.approx(0.0)


def test_figures_of_one_query_by_hand(collection: Collection) -> None:
    """First a Sibling, then an Exact product, then the irrelevant ones."""
    grades = all_grades(collection)
    order = np.where(grades == 0, 5.0, 9.0)
    for row, one in enumerate(grades):
        order[row, np.flatnonzero(one == 2)[0]] = 1.0
        order[row, np.flatnonzero(one == 3)[0]] = 2.0
    found = score_catalog(collection, found_of(collection, order))
    exact, sibling, related = relevant_counts(collection)[0]
    ideal = [3] * exact + [2] * sibling + [1] * related
    best = sum(gain / math.log2(rank + 2) for rank, gain in enumerate(ideal[:5]))
    dcg = 2 + 3 / math.log2(3)
    values = found.queries.values
    assert values["ndcg@5"][0] == pytest.approx(dcg / best)
    assert values["recall@10"][0] == pytest.approx(1 / exact)
    assert values["recall_sibling@10"][0] == pytest.approx(2 / (exact + sibling))


def test_consistent_form_takes_out_lower_tiers_that_satisfy_every_wish(tmp_path: Path) -> None:
    """With colour unsaid, Siblings satisfy as much as Exact products do, and are found first."""
    tables = tiny_tables()
    for config in ("queries", "ranking"):
        rows = tables[config].to_pylist()
        for row in rows:
            row["intents"][0]["color"] = None
        tables[config] = pa.Table.from_pylist(rows, schema=tables[config].schema)
    collection = Collection.read(write_scored(tmp_path, tables))
    grades = all_grades(collection)
    siblings_first = np.array([9.0, 3.0, 1.0, 2.0])[grades]
    found = score_catalog(collection, found_of(collection, siblings_first)).means()
    assert found["ndcg@10"].value < 1.0
    assert found["consistent_ndcg@10"].value == pytest.approx(1.0)
    assert found["consistent_recall@10"].value == pytest.approx(1.0)


def test_the_floor_is_what_random_orders_average_to(collection: Collection) -> None:
    rng = np.random.default_rng(0)
    shape = (len(collection.task("ranking").query_ids), len(collection.product_ids))
    runs = [
        score_catalog(collection, found_of(collection, rng.random(shape))).means()
        for _ in range(40)
    ]
    floor = catalog_floor(collection).means()
    for metric in ("ndcg@5", "ndcg@10", "recall@10", "recall@20", "recall_sibling@10"):
        drawn = [one[metric].value for one in runs]
        margin = 4 * np.std(drawn) / math.sqrt(len(drawn)) + 1e-12
        assert floor[metric].value == pytest.approx(np.mean(drawn), abs=margin), metric


# doors


class Crossed:
    """Scores given pairs, and nothing else."""

    name = "crossed"
    identity = "crossed"
    no_search = "it reads pairs"

    def score(self, collection: Collection) -> np.ndarray:
        return np.arange(len(collection.pairs.query_index), dtype=float)


def test_evaluate_keeps_the_whole_corpus_apart(
    edition: Edition, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from fashion_rq_bench.evaluation import run as evaluation

    known = {"crossed": Crossed()}
    monkeypatch.setattr(
        evaluation, "resolve", lambda name, **settings: known.get(name) or resolve(name, **settings)
    )
    result = evaluate(["bm25", "crossed"], edition, out=tmp_path, full_catalog=True)
    bm25, crossed, floor, oracle = result.runs
    assert bm25.means[RETRIEVAL]["ndcg@10"].n == 24
    assert RETRIEVAL not in crossed.means
    assert "crossed skips the whole corpus: it reads pairs" in crossed.skipped
    assert oracle.skipped
    assert floor.means[RETRIEVAL]["recall@20"].value == pytest.approx(20 / 48)
    names = {path.name.split("-")[0] for path in (tmp_path / "full-catalog/results").iterdir()}
    assert names == {"bm25", "random"}
    assert len(list((tmp_path / "results").iterdir())) == 4
    monkeypatch.setattr(evaluation, "search_catalog", None)
    again = evaluate(["bm25"], edition, out=tmp_path, full_catalog=True)
    assert again.runs[0].reused
    assert again.runs[0].means[RETRIEVAL]["ndcg@10"] == bm25.means[RETRIEVAL]["ndcg@10"]
    assert RETRIEVAL in result.to_dict()["models"][0]["scores"]
    assert result.catalog_table().row_count == 2


def test_rankings_are_as_deep_as_asked_for(collection: Collection) -> None:
    found = search_catalog(resolve("bm25"), collection)
    table = catalog_rankings(collection, found)
    assert len(table) == 24 * min(DEPTH, len(collection.product_ids))
    assert len(queries_of(collection)) == 24
