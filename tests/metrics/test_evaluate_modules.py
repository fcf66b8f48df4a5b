"""The `evaluate` modules: loaded by path, combined, checked before Arrow, offline; their pages."""

from __future__ import annotations

import ast
import doctest
import importlib
import json
import math
import sys
import types
from pathlib import Path

import numpy as np
import pytest
import yaml
from helpers.offline import run_offline
from helpers.paths import ROOT

import fashion_rq_bench
from fashion_rq_bench.editions.edition import Edition
from fashion_rq_bench.errors import ConfigError, EditionError, FashionRQError, MetricInputError
from fashion_rq_bench.measures import ranking
from fashion_rq_bench.relevance.similarity import LexicalSimilarity
from fashion_rq_bench.schema.domain import load_domain, using

evaluate = pytest.importorskip("evaluate")

METRICS = Path(fashion_rq_bench.__file__).parent.parent / "metrics"
NAMES = [
    "attr_relevance",
    "consistency_at_k",
    "mean_average_precision",
    "ndcg",
    "recall_at_k",
    "relevance_classification",
]
RANKED = ["ndcg", "recall_at_k", "mean_average_precision"]
SCORES, GRADES = [[0.9, 0.8, 0.7], [0.5, 0.5, 0.1], [1.0, 2.0]], [[3, 0, 1], [0, 2, 1], [0, 0]]
SHIRT = {
    "product_id": "1163",
    "article_type": "Shirts",
    "sub_category": "Topwear",
    "master_category": "Apparel",
    "gender": "Men",
    "base_color": "Blue",
    "price_tier": "budget",
}


@pytest.fixture(autouse=True)
def _away(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A working directory in which no folder has a metric's name."""
    monkeypatch.chdir(tmp_path)


def load(name: str):
    return evaluate.load(str(METRICS / name))


def test_each_folder_follows_the_convention():
    assert sorted(path.parent.name for path in METRICS.glob("*/README.md")) == NAMES
    for name in NAMES:
        folder = METRICS / name
        assert (folder / f"{name}.py").is_file()
        assert "fashion-rq-bench" in (folder / "requirements.txt").read_text(encoding="utf-8")
        header = (folder / "README.md").read_text(encoding="utf-8").split("---")[1]
        card = yaml.safe_load(header)
        assert card["sdk"] == "gradio"
        assert card["app_file"] == "app.py"
        assert {"evaluate", "metric"} <= set(card["tags"])
        assert len(card["short_description"]) <= 60


@pytest.mark.parametrize("name", NAMES)
def test_imports_stand_one_per_line(name):
    """evaluate reads imports by a regular expression that takes `import a, b` for one package."""
    source = (METRICS / name / f"{name}.py").read_text(encoding="utf-8")
    for node in ast.walk(ast.parse(source)):
        assert not isinstance(node, ast.Import) or len(node.names) == 1


@pytest.mark.parametrize("name", NAMES)
def test_worked_examples(name):
    """The examples of the README and of the module's own description give what they say."""
    metric = load(name)
    assert metric.name == name
    options = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
    readme = (METRICS / name / "README.md").read_text(encoding="utf-8")
    texts = [readme.split("```python\n")[1].split("```")[0]]
    if name != "attr_relevance":  # whose description needs the embedded edition
        texts.append(metric.inputs_description.split("Examples:")[1])
    for text in texts:
        names = {"evaluate": evaluate, "metric": metric}
        test = doctest.DocTestParser().get_doctest(text, names, name, None, 0)
        assert test.examples
        report: list[str] = []
        doctest.DocTestRunner(optionflags=options).run(test, out=report.append)
        assert not report, "".join(report)


def test_ranking_modules_give_what_the_library_gives():
    got = load("ndcg").compute(
        predictions=SCORES, references=GRADES, k=[1, 3], gains="exponential", return_per_query=True
    )
    for position, k in enumerate((1, 3)):
        values = ranking.ndcg(SCORES, GRADES, k=[1, 3], gains="exponential")[:, position]
        assert got[f"ndcg@{k}"] == pytest.approx(np.nanmean(values))
        np.testing.assert_array_equal(got["per_query"][f"ndcg@{k}"], values)
    assert (got["n"], got["undefined"]) == (2, 1)
    recall = load("recall_at_k").compute(
        predictions=SCORES,
        references=GRADES,
        k=1,
        ties="trec",
        ids=[list("abc"), list("abc"), list("ab")],
    )
    assert recall["recall@1"] == pytest.approx((1 / 2 + 1 / 2) / 2)
    average = load("mean_average_precision").compute(
        predictions=np.array([[3.0, 2.0]]), references=np.array([[0, 1]]), ideal=[[1, 1]]
    )
    assert average["map"] == pytest.approx(1 / 4)


def test_combined_by_path():
    combined = evaluate.combine([str(METRICS / name) for name in RANKED])
    got = combined.compute(predictions=SCORES, references=GRADES, k=2)
    assert {"ndcg@2", "recall@2", "map@2", "ndcg_undefined"} <= set(got)
    assert got["ndcg@2"] == pytest.approx(np.nanmean(ranking.ndcg(SCORES, GRADES, k=2)))


@pytest.mark.parametrize("name", RANKED)
def test_add_and_add_batch_equal_compute_and_nothing_is_kept(name):
    metric = load(name)
    whole = metric.compute(predictions=SCORES, references=GRADES)
    metric.add(prediction=SCORES[0], reference=GRADES[0])
    metric.add_batch(predictions=SCORES[1:], references=GRADES[1:])
    assert metric.compute() == whole
    assert metric.compute(predictions=SCORES, references=GRADES) == whole


def test_numbers_pass_arrow_exactly():
    big = 16777217.0
    scores, grades = [[big, big + 1, 1 / 3]], [[1, 0, 0]]
    got = load("mean_average_precision").compute(predictions=scores, references=grades)
    assert got["map"] == pytest.approx(1 / 2)
    ids = [[2**53 + 1, 1], [2**53, 1]]
    got = load("consistency_at_k").compute(predictions=ids, references=[7, 7], k=1)
    assert got["consistency@1"] == 0.0


@pytest.mark.parametrize(
    ("predictions", "references", "words"),
    [
        ([[1.0, None]], [[1, 0]], "predictions .*query 0, position 1, holds None"),
        ([[1.0], [float("nan")]], [[1], [1]], "predictions of query 1, position 0, is NaN"),
        ([[1.0]], [[-1]], "references of query 0, position 0, is below 0"),
        ([[1.0]], [["3"]], "references .*holds '3'"),
        ([[1.0, 2.0]], [[1]], "query 0 differ in length"),
        ([[1.0]], [[1], [1]], "one row per query"),
        ([1.0], [1], "row 0 is not a list"),
        ([], [], "empty"),
        ([[1.0]], None, "references are missing"),
        (None, None, "nothing to compute"),
    ],
)
@pytest.mark.parametrize("name", RANKED)
def test_ranking_modules_refuse(name, predictions, references, words):
    metric = load(name)
    with pytest.raises(MetricInputError, match=words):
        metric.compute(predictions=predictions, references=references)
    assert metric.compute(predictions=[[1.0]], references=[[1]])["n"] == 1


def test_an_error_in_an_option_leaves_the_module_usable():
    metric = load("ndcg")
    with pytest.raises(MetricInputError, match="at least 1"):
        metric.compute(predictions=SCORES, references=GRADES, k=0)
    assert metric.compute(predictions=SCORES, references=GRADES)["n"] == 2


# ---- consistency -----------------------------------------------------------------------------


def test_consistency_takes_ids_mappings_and_pairs():
    metric = load("consistency_at_k")
    forms = [
        [["a", "b"], ["b", "c"]],
        [{"a": 2.0, "b": 1.0}, {"c": 1, "b": 2}],
        [
            [{"product_id": p, "score": s} for p, s in row]
            for row in ([("a", 2), ("b", 1)], [("b", 1.0), ("c", 0.5)])
        ],
    ]
    for predictions in forms:
        got = metric.compute(predictions=predictions, references=["g", "g"], k=[1, 2])
        assert got["consistency@2"] == pytest.approx(1 / 3)
        assert got["consistency@1"] == 0.0
    tied = [{str(i): 0.0 for i in range(15)} for _ in range(200)]
    assert metric.compute(predictions=tied, references=["g"] * 200)["consistency@10"] < 0.6


def test_consistency_by_intent_and_group():
    got = load("consistency_at_k").compute(
        predictions=[["a"], ["a"], ["b"], ["c"]],
        references=["g", "g", "g", "h"],
        k=1,
        intents=[{"color": "blue"}, {"color": ["Blue"]}, {"color": "red"}, None],
        return_per_group=True,
    )
    assert got["consistency@1_same_intent"] == 1.0
    assert got["consistency@1_other_intent"] == 0.0
    assert got["per_group"]["consistency@1"] == {"g": pytest.approx(1 / 3)}
    assert (got["groups"], got["left_out"]) == (1, 1)


@pytest.mark.parametrize(
    ("predictions", "references", "words"),
    [
        ([["a", None]], ["g"], "product_id in predictions of row 0 .*NoneType"),
        ([[1.5]], ["g"], "product_id in predictions of row 0 .*float"),
        ([["a"]], [None], "references of row 0"),
        ([{"a": float("nan")}], ["g"], "score in predictions of row 0"),
        ([[{"product_id": "a"}]], ["g"], "score in predictions of row 0"),
        (["ab"], ["g"], "row 0 must be a list"),
        ([["a"]], ["g", "h"], "equally long"),
        ([["a", "a"]], ["g"], "repeat"),
    ],
)
def test_consistency_refuses(predictions, references, words):
    with pytest.raises(MetricInputError, match=words):
        load("consistency_at_k").compute(predictions=predictions, references=references)


# ---- classification --------------------------------------------------------------------------


def test_classification_by_number_name_and_score():
    metric = load("relevance_classification")
    by_number = metric.compute(predictions=[3, 2, 0, 0], references=[3, 2, 1, 0])
    by_name = metric.compute(
        predictions=["exact", "sibling", "irrelevant", "irrelevant"],
        references=[3, 2, 1, "irrelevant"],
    )
    assert json.dumps(by_number) == json.dumps(by_name)
    assert by_number["accuracy"] == 0.75
    assert math.isnan(by_number["precision"]["related"])
    scores, labels = [[0.9, 0.2, 0.5, 0.1]] * 6, [[3, 1, 2, 0]] * 6
    for options in ({}, {"rule": "cuts", "clusters": list("aabbcc"), "n_folds": 3}):
        assert metric.compute(predictions=scores, references=labels, **options)["accuracy"] == 1.0


@pytest.mark.parametrize(
    ("predictions", "references", "options", "words"),
    [
        ([3, 4], [3, 3], {}, "predictions of row 1 must be a class.*Given: 4"),
        ([3, "exakt"], [3, 3], {}, "Did you mean 'exact'"),
        ([3, 3], [3, None], {}, "references of row 1"),
        ([[0.1, None]], [[1, 2]], {}, "predictions of row 0 must be finite"),
        ([[0.1]], [[1, 2]], {}, "Row 0 must hold as many"),
        ([[0.1], 3], [[1], 3], {}, "Row 1 must hold"),
        ([], [], {}, "not empty"),
        ([[0.1]], [[1]], {"rule": "best"}, "no such rule"),
    ],
)
def test_classification_refuses(predictions, references, options, words):
    with pytest.raises(MetricInputError, match=words):
        load("relevance_classification").compute(
            predictions=predictions, references=references, **options
        )


# ---- attribute relevance ---------------------------------------------------------------------


def test_attr_relevance_by_hand():
    got = load("attr_relevance").compute(
        predictions=[[SHIRT], [], [SHIRT]],
        references=[
            [{"gender": "women"}, {"gender": "men", "brand": "Wrangler"}],
            {"gender": "men"},
            None,
        ],
        similarity=LexicalSimilarity(),
        return_per_query=True,
    )
    best = (0.127 * 1.0 + 0.211 * 0.5) / (0.127 + 0.211)
    np.testing.assert_allclose(got["per_query"]["rel"], [best, 0.0, np.nan])
    assert got["rel"] == pytest.approx(best / 2)
    assert (got["n_queries"], got["n_undefined"]) == (2, 1)
    assert (got["n"]["gender"], got["n"]["brand"], got["n"]["color"]) == (2, 1, 0)
    assert got["n_missing"]["brand"] == 1
    assert got["attr_score"]["gender"] == pytest.approx(1 / 2)
    assert math.isnan(got["attr_score"]["color"])
    assert got["similarity"] == LexicalSimilarity().name


def test_attr_relevance_of_another_domain():
    boot = {"product_id": "1", "article_type": "Boots", "heel": "High heels", "color": "Navy"}
    intent = {"heel": "mid heel", "color": ["navy"]}
    with using(load_domain(ROOT / "tests/helpers/domains/shoes.toml")):
        metric = load("attr_relevance")
        options = {"predictions": [[boot]], "references": [intent]}
        found = metric.compute(**options, similarity=LexicalSimilarity())
        with pytest.raises(MetricInputError, match="gender"):
            metric.compute(
                predictions=[[SHIRT]], references=[intent], similarity=LexicalSimilarity()
            )
    assert found["rel"] == pytest.approx((0.2 * 0.6 + 0.2 * 1.0) / 0.4)
    assert list(found["attr_score"]) == [
        "product_type", "heel", "closure", "color", "brand", "lining",
    ]  # fmt: skip


def test_attr_relevance_by_ids_equals_by_products():
    metric, intents = (
        load("attr_relevance"),
        [{"gender": "women", "color": "red"}, {"gender": "men"}],
    )
    shoe = SHIRT | {"product_id": "2", "base_color": "Red", "gender": "Women"}
    options = {"references": intents, "similarity": LexicalSimilarity(), "k": 2}
    by_products = metric.compute(predictions=[[shoe, SHIRT], [SHIRT]], **options)
    import datasets

    for corpus in ([SHIRT, shoe], datasets.Dataset.from_list([SHIRT, shoe])):
        by_ids = metric.compute(predictions=[["2", "1163"], [1163]], corpus=corpus, **options)
        assert json.dumps(by_ids) == json.dumps(by_products)
    only_color = metric.compute(predictions=[[shoe], [shoe]], weights={"color": 1.0}, **options)
    assert (only_color["rel"], only_color["n_undefined"]) == (1.0, 1)


def test_attr_relevance_by_an_edition():
    try:
        edition = Edition.open("mini")
    except EditionError as error:
        pytest.skip(f"there is no embedded edition: {error}")
    queries = edition.table("ranking", ["intents", "candidates"]).slice(0, 20).to_pylist()
    got = load("attr_relevance").compute(
        predictions=[
            [max(row["candidates"], key=lambda item: item["match"] or 0)["product_id"]]
            for row in queries
        ],
        references=[row["intents"] for row in queries],
        edition="mini",
        return_per_query=True,
    )
    best = [max(item["match"] or 0 for item in row["candidates"]) for row in queries]
    np.testing.assert_allclose(got["per_query"]["rel"], best, atol=1e-4)


@pytest.mark.parametrize(
    ("predictions", "references", "options", "words"),
    [
        ([[SHIRT | {"colour": "x"}]], [{}], {}, "row 0 has an unknown field.*'colour'"),
        ([[SHIRT | {"price": "12"}]], [{}], {}, "price of a product in predictions of row 0"),
        ([[SHIRT | {"title": 3}]], [{}], {}, "title of a product in predictions of row 0"),
        ([[SHIRT | {"title": float("nan")}]], [{}], {}, "title of a product"),
        ([[SHIRT | {"year": 2012.5}]], [{}], {}, "year of a product"),
        ([[None]], [{}], {}, "row 0 .*NoneType"),
        ([[SHIRT, "1163"]], [{}], {}, "row 0 mix products and ids"),
        ([SHIRT], [{}], {}, "row 0 must be a list of products"),
        ([["9"]], [{}], {"corpus": [SHIRT]}, "not in the corpus.*'9'"),
        ([["9"]], [{}], {"corpus": [{"title": "x"}]}, "corpus"),
        ([[SHIRT]], [{"colour": "x"}], {}, "Query 0.*no such attribute.*'color'"),
        ([[SHIRT]], [{"gender": 3}], {}, "Query 0: gender"),
        ([[SHIRT]], [{}, {}], {}, "equally long"),
        ([], [], {}, "not empty"),
    ],
)
def test_attr_relevance_refuses(predictions, references, options, words):
    with pytest.raises(MetricInputError, match=words):
        load("attr_relevance").compute(
            predictions=predictions,
            references=references,
            similarity=LexicalSimilarity(),
            **options,
        )


def test_attr_relevance_refuses_settings():
    metric = load("attr_relevance")
    case = {"predictions": [[SHIRT]], "references": [{"gender": "men"}]}
    with pytest.raises(ConfigError, match="unknown attribute"):
        metric.compute(**case, similarity=LexicalSimilarity(), weights={"colour": 1.0})
    with pytest.raises(EditionError, match="no edition of this name"):
        metric.compute(**case, edition="nowhere")


# ---- offline, several processes, pages -------------------------------------------------------

CODE = """
import evaluate
metrics = {metrics!r}
ranked = evaluate.combine([f"{{metrics}}/{{name}}" for name in {ranked!r}])
for _ in range(3):
    got = ranked.compute(predictions=[[0.9, 0.8, 0.7]], references=[[3, 0, 1]], k=2)
print(got["ndcg@2"], got["recall@2"], got["map@2"])
"""


@pytest.mark.slow
def test_offline_without_a_cache(tmp_path):
    code = CODE.format(metrics=str(METRICS), ranked=RANKED)
    printed = run_offline(code, tmp_path / "empty", HF_EVALUATE_OFFLINE="1")
    assert [float(one) for one in printed.split()] == pytest.approx([0.826234657, 0.5, 0.5])
    cached = list((tmp_path / "hf").rglob("*.arrow*"))
    assert not cached, "inputs must stay in memory"


class _Interface:
    def __init__(self, **arguments) -> None:
        self.arguments = arguments


@pytest.mark.parametrize("name", NAMES)
def test_pages_compute_and_show_errors_as_text(name, monkeypatch):
    """Against a stand-in for gradio, which is no dependency of the tests."""
    fake = types.ModuleType("gradio")
    fake.Code = lambda **options: options.get("value")
    fake.Interface = _Interface
    fake.Error = type(
        "Error", (Exception,), {"__init__": lambda self, m, **_: Exception.__init__(self, m)}
    )
    monkeypatch.setitem(sys.modules, "gradio", fake)
    monkeypatch.delitem(sys.modules, "fashion_rq_bench.metrics._app", raising=False)
    spec = importlib.util.spec_from_file_location(f"app_of_{name}", METRICS / name / "app.py")
    app = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(app)
    sys.modules.pop("fashion_rq_bench.metrics._app")
    answer, shown = app.demo.arguments["fn"], app.demo.arguments["inputs"]
    if name != "attr_relevance":  # whose page needs the embedded edition
        assert isinstance(json.loads(answer(*shown)), dict)
    with pytest.raises(fake.Error, match=r"no such option.*&lt;b&gt;"):
        answer(shown[0], shown[1], '{"<b>": 1}')
    with pytest.raises(fake.Error):
        answer("not JSON", shown[1], "{}")
    assert issubclass(MetricInputError, FashionRQError)
