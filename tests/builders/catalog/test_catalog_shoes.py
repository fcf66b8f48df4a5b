"""The builders' first stages under another domain than fashion."""

from __future__ import annotations

from pathlib import Path

import pytest
from helpers.shoes import COLORS, HEELS, shoes, write_shoes

from fashion_rq_bench.builders.catalog import read_catalog
from fashion_rq_bench.builders.catalog.text import product_text
from fashion_rq_bench.builders.context.stage import context
from fashion_rq_bench.builders.embedding import EmbeddingConfig, embed
from fashion_rq_bench.builders.hierarchy.clusters import hierarchy
from fashion_rq_bench.builders.tasks.twin_products import twins
from fashion_rq_bench.schema.domain import using


def test_terms_are_found_in_titles_where_columns_lack_them(tmp_path: Path) -> None:
    with using(shoes()):
        found = read_catalog(write_shoes(tmp_path / "shoes.csv", 300)).table
        texts = product_text(found)
        assert len(twins(found, texts)) == 300
    assert set(found["heel"].to_pylist()) == set(HEELS)
    assert {len(one) for one in found["closure"].to_pylist()} == {1}
    assert set(found["color"].to_pylist()) == set(COLORS)
    assert all(found["material"].to_pylist())
    assert found["article_type"].null_count == found["brand"].null_count == 0
    assert "gender" not in found.column_names
    assert "boots" in " ".join(texts.to_pylist())


def test_shoes_go_through_to_the_context(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    from fashion_rq_bench.builders.rqvae import RQVAEConfig, semantic_ids

    with using(shoes()):
        products = read_catalog(write_shoes(tmp_path / "shoes.csv", 1500)).table
        vectors = embed(products, EmbeddingConfig(dim=32), cache=tmp_path / "cache")
        settings = RQVAEConfig(min_steps=150, epochs=5, min_perplexity=0.0, min_coverage=0.0)
        assert settings.labels[1] == ("article_type+color",)
        codes = semantic_ids(products, vectors, settings).table
        evidence = context(products, codes, hierarchy(codes, products).clusters, vectors)
    found = {
        item["attribute"]
        for one in evidence["evidence"].to_pylist()
        for item in one["distribution"]
    }
    assert {"article_type", "heel", "closure", "color", "material"} <= found
