"""Our metrics against independent libraries: pytrec_eval (trec_eval's C code) and scikit-learn."""

from __future__ import annotations

import numpy as np
import pytest

from fashion_rq_bench.measures import ranking

pytrec_eval = pytest.importorskip("pytrec_eval", reason="pytrec_eval-terrier is not installed")

QUERIES = 1000
NAMES = {
    "ndcg_cut_5": "ndcg@5",
    "ndcg_cut_10": "ndcg@10",
    "recall_5": "recall@5",
    "recall_10": "recall@10",
    "P_5": "precision@5",
    "success_10": "hit_rate@10",
    "map": "average_precision",
    "map_cut_10": "average_precision@10",
    "recip_rank": "reciprocal_rank",
}
MEASURES = {
    "ndcg_cut.5,10",
    "recall.5,10",
    "P.5",
    "success.10",
    "map",
    "map_cut.10",
    "recip_rank",
}


def _pools(kind: str) -> tuple[list[np.ndarray], list[np.ndarray], list[list[str]]]:
    """1,000 queries; the ids' order as strings is not their order by position."""
    rng = np.random.default_rng(7)
    lengths = rng.integers(12, 16, QUERIES) if kind != "long" else rng.integers(65, 200, QUERIES)
    scores = [rng.standard_normal(n) for n in lengths]
    if kind != "untied":
        scores = [np.round(row, 1) for row in scores]
    grades = [rng.choice(4, n, p=[0.55, 0.2, 0.15, 0.1]) for n in lengths]
    for row in grades:
        row[rng.integers(len(row))] = 3
    ids = [[f"p{i}" for i in rng.permutation(2000)[:n]] for n in lengths]
    return scores, grades, ids


def _trec(scores, grades, ids) -> dict[str, np.ndarray]:
    run, qrels = {}, {}
    for i, (score, grade, names) in enumerate(zip(scores, grades, ids, strict=True)):
        run[f"q{i}"] = dict(zip(names, score.tolist(), strict=True))
        qrels[f"q{i}"] = dict(zip(names, grade.tolist(), strict=True))
    found = pytrec_eval.RelevanceEvaluator(qrels, MEASURES).evaluate(run)
    return {name: np.array([found[f"q{i}"][name] for i in range(len(scores))]) for name in NAMES}


@pytest.mark.parametrize("kind", ["untied", "tied", "long"])
def test_trec_ties_equal_pytrec_eval(kind):
    scores, grades, ids = _pools(kind)
    theirs = _trec(scores, grades, ids)
    ours = ranking.score(scores, grades, list(NAMES.values()), ties="trec", ids=ids)
    for their_name, our_name in NAMES.items():
        np.testing.assert_allclose(ours[our_name], theirs[their_name], atol=1e-9, rtol=0)


def test_trec_compares_in_single_precision():
    rng = np.random.default_rng(8)
    scores = [1.0 + rng.integers(0, 4, 30) * 1e-9 for _ in range(50)]
    grades = [rng.integers(0, 2, 30) for _ in range(50)]
    ids = [[f"p{i:02d}" for i in rng.permutation(30)] for _ in range(50)]
    theirs = _trec(scores, grades, ids)
    ours = ranking.score(scores, grades, list(NAMES.values()), ties="trec", ids=ids)
    for their_name, our_name in NAMES.items():
        np.testing.assert_allclose(ours[our_name], theirs[their_name], atol=1e-9, rtol=0)


def test_positions_stand_in_for_ids():
    scores, grades, _ = _pools("tied")
    ids = [[f"p{i:03d}" for i in range(len(row))] for row in scores]
    theirs = _trec(scores, grades, ids)
    ours = ranking.score(scores, grades, list(NAMES.values()), ties="trec")
    for their_name, our_name in NAMES.items():
        np.testing.assert_allclose(ours[our_name], theirs[their_name], atol=1e-9, rtol=0)


def test_runs_with_unretrieved_and_unjudged_products_equal_pytrec_eval():
    scores, grades, ids = _pools("tied")
    rng = np.random.default_rng(9)
    run, qrels = {}, {}
    for i, (score, grade, names) in enumerate(zip(scores, grades, ids, strict=True)):
        keep, judge = rng.random(len(names)) < 0.7, rng.random(len(names)) < 0.7
        keep[0] = judge[0] = True
        run[f"q{i}"] = {n: float(s) for n, s, k in zip(names, score, keep, strict=True) if k}
        qrels[f"q{i}"] = {n: int(g) for n, g, j in zip(names, grade, judge, strict=True) if j}
    qrels = {query: row for query, row in qrels.items() if max(row.values()) > 0}
    found = pytrec_eval.RelevanceEvaluator(qrels, MEASURES).evaluate(run)
    arrays = ranking.from_run(run, qrels)
    ours = ranking.score(
        arrays.scores,
        arrays.grades,
        list(NAMES.values()),
        ties="trec",
        ids=arrays.ids,
        ideal=arrays.ideal,
    )
    assert arrays.unjudged == QUERIES - len(qrels)
    for their_name, our_name in NAMES.items():
        theirs = [found[query][their_name] for query in arrays.query_ids.to_pylist()]
        np.testing.assert_allclose(ours[our_name], theirs, atol=1e-9, rtol=0)


@pytest.mark.parametrize("width", [15, 120])
def test_expected_ties_equal_scikit_learn(width):
    metrics = pytest.importorskip("sklearn.metrics")
    rng = np.random.default_rng(10)
    scores = rng.integers(0, 5, (QUERIES, width)).astype(float)
    grades = rng.choice(4, (QUERIES, width), p=[0.55, 0.2, 0.15, 0.1])
    grades[:, 0] = 1
    for k in (1, 5, 10, width):
        ours = ranking.ndcg(scores, grades, k=k)
        theirs = metrics.ndcg_score(grades, scores, k=k)
        assert ours.mean() == pytest.approx(theirs, abs=1e-9)
    few = slice(0, 50)
    each = [
        metrics.ndcg_score(grades[i : i + 1], scores[i : i + 1], k=10) for i in range(QUERIES)[few]
    ]
    np.testing.assert_allclose(ranking.ndcg(scores[few], grades[few]), each, atol=1e-9, rtol=0)


def test_untied_binary_metrics_equal_scikit_learn():
    metrics = pytest.importorskip("sklearn.metrics")
    rng = np.random.default_rng(11)
    scores, grades = rng.random((200, 40)), rng.integers(0, 2, (200, 40))
    grades[:, 0] = 1
    each = [metrics.average_precision_score(g, s) for g, s in zip(grades, scores, strict=True)]
    np.testing.assert_allclose(ranking.average_precision(scores, grades), each, atol=1e-9, rtol=0)
