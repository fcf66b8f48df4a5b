"""Product embeddings: text, image, or both fused.

In:  a catalog table, and for images the folder they lie in.
Out: one float16 vector per product (``embeddings_schema``), in the catalog's order.

Implements the paper's "hierarchical semantic representation" (section 3): fused is the sum of the
two L2-normalised halves. Each distinct text or image is encoded once. Finished shards are kept in
a cache keyed by content, model and revision, so an interrupted run goes on where it stopped.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

import numpy as np
import pyarrow as pa

from fashion_rq_bench.builders.catalog.text import TextConfig, product_text
from fashion_rq_bench.encoders.by_name import (
    EncoderConfig,
    Role,
    TextEncoder,
    Vectors,
    load_text_encoder,
    unit_rows,
)
from fashion_rq_bench.encoders.vectors import encode_texts
from fashion_rq_bench.errors import CatalogError, ConfigError
from fashion_rq_bench.schema.domain import domain
from fashion_rq_bench.schema.tables import embeddings_schema
from fashion_rq_bench.support.files import file_sha256
from fashion_rq_bench.support.optional import require

__all__ = ["EmbeddingConfig", "core_text", "embed"]


def core_text() -> TextConfig:
    """What the hierarchy is learnt on: title and the domain's set ``core_text``.

    Descriptions, which only some products have, pull products of different kinds together
    (docs/design/0004-quantiser.md has the figures).
    """
    return TextConfig(facts=domain().set_of("core_text"), description=False)


@dataclass(frozen=True)
class EmbeddingConfig:
    """How products become vectors.

    Attributes:
        encoder: "lsa", "minilm", a Hub id or a local folder; one with an image tower for images.
        modality: "text", "image", or "fused" (sum of L2-normalised halves).
        revision: the model's revision on the Hub; None takes the encoder's pinned default.
        batch_size: texts or images per forward pass.
        missing_image: "error", or "text" to use a product's text alone where its image is absent.
        trust_remote_code: run code that the model's repository ships. Off unless asked for.
        dim: dimensions of the LSA projection; other encoders have their own.
        seed: seed of the LSA projection.
        text: what the encoder reads of a product.
    """

    encoder: str = "lsa"
    modality: Literal["text", "image", "fused"] = "text"
    revision: str | None = None
    batch_size: int = 64
    missing_image: Literal["error", "text"] = "error"
    trust_remote_code: bool = False
    dim: int = 256
    seed: int = 0
    text: TextConfig = field(default_factory=core_text)

    def __post_init__(self) -> None:
        if self.batch_size < 1:
            raise ConfigError("embedding.batch_size must be at least 1.", given=self.batch_size)
        if self.modality != "text" and self.encoder in ("lsa", "minilm"):
            raise ConfigError(
                f"The encoder {self.encoder!r} reads text only.",
                given=self.modality,
                allowed=["text"],
                fix="For images name a CLIP-like model, see docs/embedders.md.",
            )


def embed(
    catalog: pa.Table, config: EmbeddingConfig, *, cache: Path, images: Path | None = None
) -> pa.Table:
    """Embed every product (paper, section 3).

    Args:
        catalog: N products (``CATALOG``).
        config: which encoder, which modality.
        cache: folder of finished shards; made if absent.
        images: folder that the catalog's ``image`` paths are relative to.

    Returns:
        ``embeddings_schema(d)``, N rows in the catalog's order, finite, each vector of length 1.

    Raises:
        CatalogError: if images are asked for and are missing or unreadable.
        ConfigError: if images are asked of an encoder that reads text only.
        ModelError: if the encoder returns non-finite numbers or too few vectors.
    """
    texts = product_text(catalog, config.text).to_pylist() if config.modality != "image" else []
    distinct = sorted(set(texts))
    encoder = load_text_encoder(config.encoder, corpus=distinct, config=_encoder_config(config))
    if config.modality == "text":
        vectors = encode_texts(encoder, texts, "document", cache=cache)
    else:
        vectors = _image_vectors(catalog, encoder, config, cache, images)
        if config.modality == "fused":
            vectors = unit_rows(vectors) + unit_rows(
                encode_texts(encoder, texts, "document", cache=cache)
            )
    return _table(catalog["product_id"], unit_rows(vectors))


def _encoder_config(config: EmbeddingConfig) -> EncoderConfig:
    return EncoderConfig(
        revision=config.revision,
        batch_size=config.batch_size,
        dim=config.dim,
        seed=config.seed,
        trust_remote_code=config.trust_remote_code,
    )


@dataclass(frozen=True)
class _ImageTower:
    """Encodes items written "SHA-256 path"; the hash makes a changed photo another item."""

    encoder: TextEncoder
    folder: Path

    @property
    def identity(self) -> str:
        return f"image of {self.encoder.identity}"

    def encode(self, texts: Sequence[str], role: Role = "document") -> Vectors:
        opened = [_open_image(self.folder / item.partition(" ")[2]) for item in texts]
        return self.encoder.encode_images(opened)


def _image_vectors(
    catalog: pa.Table,
    encoder: TextEncoder,
    config: EmbeddingConfig,
    cache: Path,
    images: Path | None,
) -> Vectors:
    """(N, d) image vectors; a missing image is zeros where the text may stand in for it."""
    if images is None:
        raise CatalogError(
            "Image embeddings need the folder the images lie in.",
            fix="Give a catalog folder with images/, or use --modality text.",
        )
    names = catalog["image"].to_pylist()
    present = np.array([bool(name) and (images / name).is_file() for name in names])
    missing = int((~present).sum())
    if missing and (config.missing_image == "error" or config.modality == "image"):
        raise CatalogError(
            f"{missing:,} of {len(names):,} products have no image in {images}.",
            fix="Complete the images, or use --modality fused with "
            "--set embedding.missing_image=text.",
        )
    where = np.flatnonzero(present)
    items = [f"{file_sha256(images / names[row])} {names[row]}" for row in where]
    tower = _ImageTower(encoder, images)
    rows = encode_texts(tower, items, "document", cache=cache)
    vectors = np.zeros((len(names), rows.shape[1]), dtype=np.float32)
    vectors[where] = rows
    return vectors


def _open_image(path: Path) -> object:
    image = require("PIL.Image", "build")
    try:
        with image.open(path) as opened:
            return opened.convert("RGB")
    except OSError as error:
        raise CatalogError(
            f"This image cannot be read: {error}.",
            given=str(path),
            fix="Replace or delete the file; a deleted one counts as missing.",
        ) from error


def _table(ids: pa.Array | pa.ChunkedArray, vectors: Vectors) -> pa.Table:
    width = vectors.shape[1]
    flat = pa.array(np.ascontiguousarray(vectors, dtype=np.float16).ravel())
    column = pa.FixedSizeListArray.from_arrays(flat, width)
    return pa.table([ids, column], schema=embeddings_schema(width))
