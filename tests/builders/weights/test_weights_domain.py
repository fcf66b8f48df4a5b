"""Weights of a shop that sells shoes: attributes of its own, none of person, price or occasion."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from fashion_rq_bench.builders.weights import esci, text_oracle
from fashion_rq_bench.builders.weights.ablation import AblationConfig
from fashion_rq_bench.builders.weights.fit import WeightsConfig, fit_weights
from fashion_rq_bench.builders.weights.match_codes import match_codes
from fashion_rq_bench.builders.weights.ridge import RidgeConfig
from fashion_rq_bench.builders.weights.sanity import read_sanity
from fashion_rq_bench.builders.weights.synthetic import (
    SyntheticConfig,
    draw_pairs,
    draw_queries,
    product_texts,
)
from fashion_rq_bench.errors import ConfigError, InputError
from fashion_rq_bench.schema.domain import domain, load_domain, using

SHOES = Path(__file__).parents[2] / "helpers" / "domains" / "shoes.toml"


@pytest.fixture(autouse=True)
def _shoes() -> Iterator[None]:
    with using(load_domain(SHOES)):
        yield


def shelf(n: int = 600) -> pa.Table:
    rng = np.random.default_rng(5)
    own = {
        "article_type": ["Pumps", "Boots"],
        "heel": ["flat", "low", "high"],
        "color": ["Black", "Red"],
        "brand": ["Ardo", "Belluna", None],
    }
    lists = {"closure": ["buckle", "zip"], "material": ["wool", "leather"]}
    columns = {name: rng.choice(values, n).tolist() for name, values in own.items()}
    columns |= {name: [[one] for one in rng.choice(values, n)] for name, values in lists.items()}
    everyone = [*range(n)]
    texts = {
        "product_id": [f"p{row}" for row in everyone],
        "title": [f"{columns['color'][row]} {columns['article_type'][row]}" for row in everyone],
        "description": ["made by hand"] * n,
        "master_category": ["Footwear"] * n,
        "sub_category": ["Shoes"] * n,
        "price": [500.0] * n,
        "price_tier": ["budget"] * n,
    }
    return pa.table(texts | columns)


def test_weights_are_drawn_and_fitted_in_another_domain() -> None:
    products, config = shelf(), SyntheticConfig(n_queries=400, wishes=3, seed=2)
    assert config.attributes == domain().names
    drawn = draw_queries(products, config)
    texts = product_texts(products, description=True)
    assert "made by hand" in texts[0]
    assert any("| flat |" in text for text in texts)
    pairs = draw_pairs(drawn, products, texts, config)
    assert 0.2 < np.mean(pairs["relevant"].to_pylist()) < 0.8

    def oracle(query: np.ndarray, product: np.ndarray) -> np.ndarray:
        codes = match_codes(drawn.intents, products, query, product)
        assert codes.shape[1] == 6
        return codes @ np.array([3.0, 2.0, 0.5, 0.5, 0.5, 0.5])

    settings = WeightsConfig(AblationConfig(bootstrap=50), RidgeConfig(n_pairs=500))
    weights = fit_weights(oracle, drawn.intents, products, settings).blend.weights
    assert list(weights) == list(domain().names)
    assert sorted(weights, key=lambda name: -weights[name])[:2] == ["product_type", "heel"]


def test_esci_and_the_sanity_set_ask_the_domain(tmp_path: Path) -> None:
    products = pa.table(
        {
            "product_id": ["1"],
            "product_title": ["Low heel pumps with laces"],
            "product_description": [""],
            "product_brand": ["Ardo"],
            "product_color": ["Red"],
            "product_locale": ["us"],
        }
    )
    found = esci._of_domain(products, esci.ESCIConfig(words=("pumps",)))
    line = "Low heel pumps with laces | low | lace up | Red | Ardo"
    assert found["text"].to_pylist() == [line]
    with pytest.raises(ConfigError, match="at least one split"):
        esci.ESCIConfig()  # no word list says what a shoe is
    with pytest.raises(InputError, match="cannot be read"):
        read_sanity()
    home = replace(domain(), folder=tmp_path)
    text = "query,attribute,text,relevant\nq,heel,a,1\nq,heel,b,0\n"
    (tmp_path / "sanity.csv").write_text(text, encoding="utf-8")
    with using(home):
        assert len(read_sanity()) == 2


def test_old_names_still_work_for_a_version() -> None:
    with pytest.warns(DeprecationWarning, match=r"training_pairs\.read_pairs"):
        assert callable(esci.read_pairs)
    assert text_oracle.TRAINING == "training.json"
