"""One run of the study: codes, held-out errors and figures, kept as files.

In:  a catalog, vectors, a setting and a seed.
Out: ``WORK/ENCODER-N/DIGEST.npz`` (codes, errors) and, from it, the figures of the tables.

The file's name holds a digest of the settings, so that a run is repeated exactly when they change.
"""

from __future__ import annotations

import json
import math
import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import torch
from torch import nn

from fashion_rq_bench.builders.catalog.text import product_text
from fashion_rq_bench.builders.embedding import core_text
from fashion_rq_bench.builders.rqvae import (
    RQVAE,
    RQVAEConfig,
    assign,
    diagnose,
    label_columns,
    learn,
)
from fashion_rq_bench.builders.rqvae.kmeans import residual_kmeans
from fashion_rq_bench.builders.rqvae.tree import close_small_leaves
from fashion_rq_bench.encoders.by_name import EncoderConfig, load_text_encoder
from fashion_rq_bench.schema.domain import domain
from fashion_rq_bench.schema.tables import SEMANTIC_IDS, embeddings_schema
from fashion_rq_bench.support.files import digest, to_json, write_json

from .downstream import downstream
from .settings import Setting

__all__ = ["ATTRIBUTES", "Material", "Result", "one_run", "same_groups"]

Vectors = npt.NDArray[np.float32]
Codes = npt.NDArray[np.uint16]

ATTRIBUTES = domain().set_of("tabled")
VERSION = "1"
"""Part of a run's key; raise it when training changes but its settings do not."""


@dataclass(frozen=True)
class Material:
    """What every run starts from.

    Attributes:
        catalog: N products.
        encoder: the embedding's name.
        work: folder of everything that is kept.
    """

    catalog: pa.Table
    encoder: str
    work: Path

    @property
    def folder(self) -> Path:
        """Where the runs on these vectors are kept."""
        return self.work / f"{self.encoder}-{len(self.catalog)}"

    def vectors(self) -> Vectors:
        """(N, d) vectors of the products' core text, float16 as between stages; kept."""
        path = self.folder / "vectors.npy"
        if not path.exists():
            path.parent.mkdir(parents=True, exist_ok=True)
            text = product_text(self.catalog, core_text()).to_pylist()
            unique = sorted(set(text))
            model = load_text_encoder(self.encoder, EncoderConfig(), corpus=unique)
            order = np.searchsorted(unique, text)
            np.save(path, model.encode(unique)[order].astype(np.float16))
        return np.asarray(np.load(path), dtype=np.float32)

    def embeddings(self) -> pa.Table:
        """The vectors as a table of the pipeline's schema."""
        vectors = self.vectors().astype(np.float16)
        lists = pa.FixedSizeListArray.from_arrays(pa.array(vectors.ravel()), vectors.shape[1])
        ids = self.catalog["product_id"].combine_chunks()
        return pa.table([ids, lists], schema=embeddings_schema(vectors.shape[1]))


@dataclass(frozen=True)
class Result:
    """Figures and codes of a run."""

    figures: dict[str, float]
    codes: Codes


def one_run(material: Material, setting: Setting, seed: int, *, pools: bool = True) -> Result:
    """The kept result, or a new one. Settings that differ in small leaves only share a training.

    Args:
        material: catalog and embedding.
        setting: what to run.
        seed: of everything random.
        pools: False leaves out what is measured on pools, where it is not there yet.
    """
    config = replace(setting.config, seed=seed)
    key = digest(to_json(config.as_dict()), str(setting.network), VERSION)[:16]
    path = material.folder / f"{key}.npz"
    if not path.exists():
        train, start = _network if setting.network else _kmeans, time.process_time()
        codes = train(material.catalog, material.vectors(), config)
        np.savez(path, **codes, seconds=time.process_time() - start)
    leaves = "open" if setting.open_leaves else "closed"
    with np.load(path) as kept:
        codes, errors, seconds = kept[leaves], kept["errors"], float(kept["seconds"])
    stem = path.with_suffix("").as_posix() + f"-{leaves}"
    figures = _kept(
        Path(f"{stem}.json"), lambda: _figures(material.catalog, codes, errors, seconds)
    )
    of_pools = Path(f"{stem}-pools.json")
    if setting.downstream and (pools or of_pools.exists()):
        ids, strings = _ids(material.catalog, codes), material.work / "strings"
        figures |= _kept(
            of_pools,
            lambda: downstream(material.catalog, material.embeddings(), ids, strings),
        )
    return Result(figures, codes)


def _kept(path: Path, make: Any) -> dict[str, float]:
    if not path.exists():
        write_json(make(), path)
    found = json.loads(path.read_text(encoding="utf-8"))
    return {name: math.nan if value is None else float(value) for name, value in found.items()}


def _network(catalog: pa.Table, vectors: Vectors, config: RQVAEConfig) -> dict[str, Any]:
    model = learn(vectors, label_columns(catalog, config.resolved().labels), config)
    last = model.history[-1]
    errors = [last[f"held_out_error_{level + 1}"] for level in range(config.levels)]
    return {"errors": errors, **_assigned(model, vectors)}


def _kmeans(catalog: pa.Table, vectors: Vectors, config: RQVAEConfig) -> dict[str, Any]:
    """Residual k-means on the embedding, as a model whose encoder changes nothing."""
    held = np.random.default_rng(config.seed).random(len(vectors)) < config.held_out
    data = torch.from_numpy(vectors)
    model = RQVAE(vectors.shape[1], replace(config, hidden=(), latent=vectors.shape[1]))
    model.encoder = nn.Sequential(nn.Identity())
    books = residual_kmeans(data[~held], config.levels, config.codebook_size, config.seed)
    with torch.no_grad():
        for book, found in zip(model.codebooks, books, strict=True):
            book.copy_(found)
        seen = model.quantise(data[held])
    left = [r - v for r, v in zip(seen.residuals, seen.vectors, strict=True)]
    close_small_leaves(model, vectors, config.min_leaf)
    errors = [float(r.square().sum(1).mean()) for r in left]
    return {"errors": errors, **_assigned(model, vectors)}


def _assigned(model: RQVAE, vectors: Vectors) -> dict[str, Codes]:
    """Codes with small leaves closed, as trained, and open."""
    closed = assign(model, vectors)
    model.tree = []
    return {"closed": closed, "open": assign(model, vectors)}


def _ids(catalog: pa.Table, codes: Codes) -> pa.Table:
    offsets = np.arange(len(codes) + 1, dtype=np.int32) * codes.shape[1]
    lists = pa.ListArray.from_arrays(offsets, codes.ravel())
    return pa.table([catalog["product_id"].combine_chunks(), lists], schema=SEMANTIC_IDS)


def _figures(
    catalog: pa.Table, codes: Codes, errors: npt.NDArray[np.float64], seconds: float
) -> dict[str, float]:
    """The numbers that the tables show."""
    found = diagnose(_ids(catalog, codes), catalog)
    out: dict[str, float] = {"seconds": seconds, "collisions": found["collisions"]}
    for level, error in zip(found["levels"], errors, strict=True):
        here = {
            "error": error,
            "clusters": level["all"]["clusters"],
            "mean_size": level["all"]["mean_size"],
            "smallest": level["all"]["smallest"],
            "largest": level["all"]["largest"],
            "qualifying": level["qualifying"]["clusters"],
            "qualifying_size": level["qualifying"]["mean_size"],
            "coverage": level["coverage"],
            "codes": level["codes_used"],
            "perplexity": level["perplexity"],
            "split": level["split"]["split"],
            "prefixes_per_combination": level["split"]["prefixes_per_combination"],
        }
        for name in ATTRIBUTES:
            attribute = level["attributes"][name]
            here |= {
                name: attribute["qualifying"]["purity"],
                f"{name}_all": attribute["all"]["purity"],
                f"{name}_nmi": attribute["nmi"],
            }
        out |= {f"{name}_{level['level']}": value for name, value in here.items()}
    return out


def same_groups(one: Codes, other: Codes) -> list[float]:
    """Adjusted Rand index of two runs' prefixes, per level."""
    from sklearn.metrics import adjusted_rand_score

    def groups(codes: Codes, level: int) -> npt.NDArray[np.int64]:
        return np.unique(codes[:, :level], axis=0, return_inverse=True)[1].ravel()

    levels = range(1, one.shape[1] + 1)
    return [float(adjusted_rand_score(groups(one, n), groups(other, n))) for n in levels]
