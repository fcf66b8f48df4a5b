"""Product embeddings: text, image, or both fused.

In:  a catalog table, and for images the folder they lie in.
Out: one float16 vector per product (``embeddings_schema``), in the catalog's order.

Implements the paper's "hierarchical semantic representation" (section 3): fused is the sum of the
two L2-normalised halves. Each distinct text or image is encoded once. Finished shards are kept in
a cache keyed by content, model and revision, so an interrupted run goes on where it stopped.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np
import pyarrow as pa

from fashion_rq_bench._io import digest, file_sha256, read_parquet, write_parquet
from fashion_rq_bench._optional import require
from fashion_rq_bench._progress import track
from fashion_rq_bench.builders.catalog.text import product_text
from fashion_rq_bench.errors import CatalogError, ConfigError
from fashion_rq_bench.retrievers.encoders import (
    EncoderConfig,
    SentenceEncoder,
    TextEncoder,
    Vectors,
    check_vectors,
    load_text_encoder,
    unit_rows,
)
from fashion_rq_bench.schema import embeddings_schema

__all__ = ["EmbeddingConfig", "embed", "vectors_of"]


@dataclass(frozen=True)
class EmbeddingConfig:
    """How products become vectors.

    Attributes:
        encoder: "lsa", "minilm", a Hub id or a local folder; one with an image tower for images.
        modality: "text", "image", or "fused" (sum of L2-normalised halves).
        revision: the model's revision on the Hub; None takes the encoder's pinned default.
        batch_size: texts or images per forward pass.
        shard_rows: distinct items per cached shard.
        missing_image: "error", or "text" to use a product's text alone where its image is absent.
        trust_remote_code: run code that the model's repository ships. Off unless asked for.
        dim: dimensions of the LSA projection; other encoders have their own.
        seed: seed of the LSA projection.
    """

    encoder: str = "lsa"
    modality: Literal["text", "image", "fused"] = "text"
    revision: str | None = None
    batch_size: int = 64
    shard_rows: int = 2048
    missing_image: Literal["error", "text"] = "error"
    trust_remote_code: bool = False
    dim: int = 256
    seed: int = 0

    def __post_init__(self) -> None:
        if self.batch_size < 1 or self.shard_rows < 1:
            raise ConfigError(
                "embedding.batch_size and embedding.shard_rows must be at least 1.",
                given=(self.batch_size, self.shard_rows),
            )
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
        ModelError: if the encoder returns non-finite numbers or too few vectors.
    """
    texts = product_text(catalog).to_pylist() if config.modality != "image" else []
    encoder = load_text_encoder(config.encoder, corpus=texts, config=_encoder_config(config))
    if config.modality == "text":
        vectors = _text_vectors(texts, encoder, config, cache)
    else:
        vectors = _image_vectors(catalog, encoder, config, cache, images)
        if config.modality == "fused":
            vectors = unit_rows(vectors) + unit_rows(_text_vectors(texts, encoder, config, cache))
    return _table(catalog["product_id"], unit_rows(vectors))


def vectors_of(embeddings: pa.Table) -> Vectors:
    """The (N, d) float32 matrix of an embeddings (or strings) table."""
    column = embeddings["vector"].combine_chunks()
    width = column.type.list_size
    return column.flatten().to_numpy(zero_copy_only=False).reshape(-1, width).astype(np.float32)


def _encoder_config(config: EmbeddingConfig) -> EncoderConfig:
    return EncoderConfig(
        revision=config.revision,
        batch_size=config.batch_size,
        dim=config.dim,
        seed=config.seed,
        trust_remote_code=config.trust_remote_code,
    )


def _text_vectors(
    texts: Sequence[str], encoder: TextEncoder, config: EmbeddingConfig, cache: Path
) -> Vectors:
    unique, inverse = np.unique(np.asarray(texts, dtype=object), return_inverse=True)
    keys = [str(text) for text in unique]
    folder = cache / digest("text", encoder.identity)[:16]
    rows = _in_shards(keys, keys, encoder.encode, config.shard_rows, folder, "embedding texts")
    return rows[inverse]


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
            fix="Complete the images, or use --modality fused with embedding.missing_image=text.",
        )
    paths = sorted({names[row] for row in np.flatnonzero(present)})
    hashes = [file_sha256(images / path) for path in paths]
    folder = cache / digest("image", encoder.identity)[:16]
    if not isinstance(encoder, SentenceEncoder):
        raise ConfigError("This encoder reads text only.", given=encoder.name)

    def encode(batch: Sequence[str]) -> Vectors:
        opened = [_open_image(images / path) for path in batch]
        found = encoder.model.encode(
            opened, batch_size=config.batch_size, show_progress_bar=False, convert_to_numpy=True
        )
        return np.asarray(found, dtype=np.float32)

    rows = _in_shards(paths, hashes, encode, config.shard_rows, folder, "embedding images")
    position = {path: row for row, path in enumerate(paths)}
    vectors = np.zeros((len(names), rows.shape[1]), dtype=np.float32)
    where = np.flatnonzero(present)
    vectors[where] = rows[[position[names[row]] for row in where]]
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


def _in_shards(
    items: Sequence[str],
    keys: Sequence[str],
    encode: Callable[[Sequence[str]], Vectors],
    shard_rows: int,
    folder: Path,
    what: str,
) -> Vectors:
    """Encode ``items`` shard by shard, reading those whose keys were encoded before."""
    starts = range(0, len(items), shard_rows)
    shards = []
    for start in track(starts, what, total=len(items), unit=shard_rows):
        part = slice(start, start + shard_rows)
        path = folder / f"{digest(*keys[part])[:32]}.parquet"
        if not path.is_file():
            vectors = np.asarray(encode(items[part]), dtype=np.float32)
            check_vectors(vectors, len(items[part]), vectors.shape[-1], what)
            write_parquet(_table(pa.array(keys[part], pa.string()), vectors), path)
        shards.append(vectors_of(read_parquet(path)))
    return np.concatenate(shards)


def _table(ids: pa.Array | pa.ChunkedArray, vectors: Vectors) -> pa.Table:
    width = vectors.shape[1]
    flat = pa.array(np.ascontiguousarray(vectors, dtype=np.float16).ravel())
    column = pa.FixedSizeListArray.from_arrays(flat, width)
    return pa.table([ids, column], schema=embeddings_schema(width))
