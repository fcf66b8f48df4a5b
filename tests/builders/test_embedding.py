"""Product embeddings: order, cache, images, refusals."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from fashion_rq_bench.builders import embedding
from fashion_rq_bench.builders.catalog import read_catalog
from fashion_rq_bench.builders.embedding import EmbeddingConfig, embed
from fashion_rq_bench.encoders.by_name import unit_rows
from fashion_rq_bench.errors import CatalogError, ConfigError


@pytest.fixture(scope="module")
def catalog() -> pa.Table:
    return read_catalog("synthetic:500").table


def matrix(table: pa.Table) -> np.ndarray:
    return np.array(table["vector"].to_pylist(), dtype=np.float64)


def test_one_unit_vector_per_product_in_order(catalog, tmp_path):
    made = embed(catalog, EmbeddingConfig(dim=32), cache=tmp_path)
    assert made["product_id"].equals(catalog["product_id"])
    assert np.allclose(np.linalg.norm(matrix(made), axis=1), 1, atol=2e-3)
    again = embed(catalog, EmbeddingConfig(dim=32), cache=tmp_path / "other")
    assert made.equals(again)


def test_a_finished_shard_is_not_encoded_again(catalog, tmp_path, monkeypatch):
    embed(catalog, EmbeddingConfig(dim=32), cache=tmp_path)
    files = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*.parquet")}
    assert files
    embed(catalog, EmbeddingConfig(dim=32), cache=tmp_path)
    assert {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*.parquet")} == files


class Tower:
    """An encoder of texts and pictures: a picture is its mean colour."""

    name, revision, dim, identity = "tower", "1", 3, "tower@1"

    def encode(self, texts, role="document"):
        return unit_rows(np.tile([0.0, 0.0, 1.0], (len(texts), 1)))

    def encode_images(self, images):
        means = [np.asarray(image, dtype=float).mean((0, 1)) for image in images]
        return unit_rows(np.array(means))


@pytest.fixture
def pictured(catalog, tmp_path, monkeypatch) -> tuple[pa.Table, Path]:
    image = pytest.importorskip("PIL.Image", reason="Pillow comes with the build extra")
    monkeypatch.setattr(embedding, "load_text_encoder", lambda *a, **k: Tower())
    folder = tmp_path / "photos"
    folder.mkdir()
    image.new("RGB", (8, 8), (255, 0, 0)).save(folder / "red.png")
    image.new("RGB", (8, 8), (0, 255, 0)).save(folder / "green.png")
    three = catalog.slice(0, 3)
    names = pa.array(["red.png", "green.png", "absent.png"])
    return three.set_column(three.column_names.index("image"), "image", names), folder


def test_fused_is_the_sum_of_the_two_unit_halves(pictured, tmp_path):
    catalog, folder = pictured
    config = EmbeddingConfig(encoder="x/y", modality="fused", missing_image="text")
    made = matrix(embed(catalog, config, cache=tmp_path / "c", images=folder))
    half = np.sqrt(0.5)
    assert np.allclose(made, [[half, 0, half], [0, half, half], [0, 0, 1]], atol=1e-3)


def test_a_missing_image_is_an_error_that_says_how_many(pictured, tmp_path):
    catalog, folder = pictured
    config = EmbeddingConfig(encoder="x/y", modality="image")
    with pytest.raises(CatalogError, match="1 of 3 products have no image"):
        embed(catalog, config, cache=tmp_path / "c", images=folder)


def test_a_corrupt_image_is_named(pictured, tmp_path):
    catalog, folder = pictured
    (folder / "green.png").write_bytes(b"not a picture")
    config = EmbeddingConfig(encoder="x/y", modality="image")
    with pytest.raises(CatalogError, match=r"green\.png"):
        embed(catalog.slice(0, 2), config, cache=tmp_path / "c", images=folder)


def test_a_changed_photo_is_embedded_anew(pictured, tmp_path):
    catalog, folder = pictured
    config = EmbeddingConfig(encoder="x/y", modality="image")
    two = catalog.slice(0, 2)
    before = matrix(embed(two, config, cache=tmp_path / "c", images=folder))
    (folder / "green.png").write_bytes((folder / "red.png").read_bytes())
    after = matrix(embed(two, config, cache=tmp_path / "c", images=folder))
    assert not np.allclose(before[1], after[1])


def test_refusals_of_the_configuration():
    with pytest.raises(ConfigError, match="reads text only"):
        EmbeddingConfig(encoder="lsa", modality="fused")
    with pytest.raises(ConfigError, match="batch_size"):
        EmbeddingConfig(batch_size=0)
