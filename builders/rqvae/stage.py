"""The quantiser as a stage of the build (paper, section 3).

In:  the catalog and its embeddings. Out: semantic IDs, the model, diagnostics.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from fashion_rq_bench.builders.hierarchy.clusters import HierarchyConfig
from fashion_rq_bench.builders.rqvae.assignment import assign
from fashion_rq_bench.builders.rqvae.config import RQVAEConfig
from fashion_rq_bench.builders.rqvae.diagnostics import check_floors, diagnose
from fashion_rq_bench.builders.rqvae.labels import label_columns
from fashion_rq_bench.builders.rqvae.model import RQVAE
from fashion_rq_bench.builders.rqvae.train import deterministic, learn
from fashion_rq_bench.errors import BuildError, CatalogError
from fashion_rq_bench.schema.tables import SEMANTIC_IDS

__all__ = ["SemanticIds", "semantic_ids", "vectors_of"]


@dataclass(frozen=True)
class SemanticIds:
    """Result of the stage.

    Attributes:
        table: ``SEMANTIC_IDS``, in the catalog's order.
        model: the trained quantiser; ``model.config`` holds the settings in force.
        diagnostics: see :func:`diagnose`, plus ``training`` (per epoch), ``config``, ``labels``.
    """

    table: pa.Table
    model: RQVAE
    diagnostics: dict[str, Any]


def semantic_ids(
    catalog: pa.Table,
    embeddings: pa.Table,
    config: RQVAEConfig | None = None,
    *,
    checkpoint: Path | None = None,
    qualifying: HierarchyConfig | None = None,
) -> SemanticIds:
    """Learn a hierarchy on a catalog and give every product its semantic ID.

    Args:
        catalog: N products (``CATALOG``).
        embeddings: N rows of ``embeddings_schema(d)``, in the catalog's order.
        config: settings of model and training.
        checkpoint: folder of the training state, to go on after a kill.
        qualifying: which clusters count for coverage, in diagnostics and floors.

    Raises:
        BuildError: if the tables do not hold the same products in the same order.
        CatalogError: if no product has an article type.
        InputError: if there are too few products.
        QualityError: if perplexity or coverage is below the configuration's floor.
    """
    config = config or RQVAEConfig()
    if catalog["article_type"].null_count == len(catalog):
        raise CatalogError(
            "No product has an article type, so no cluster's purity can be measured.",
            fix="Map a column to article_type, e.g. --map article_type=category.",
        )
    vectors = vectors_of(embeddings, catalog)
    labels = label_columns(catalog, config.resolved().labels)
    model = learn(vectors, labels, config, checkpoint=checkpoint)
    with deterministic(config.threads):
        table = _table(catalog, assign(model, vectors))
    found = diagnose(table, catalog, qualifying)
    found["training"] = model.history
    found["config"] = model.config.as_dict()
    found["labels"] = _live(model.config, labels)
    check_floors(found, model.config)
    return SemanticIds(table, model, found)


def vectors_of(embeddings: pa.Table, catalog: pa.Table) -> npt.NDArray[np.float32]:
    """(N, d) float32 matrix of an embeddings table.

    Raises:
        BuildError: if rows and products do not match.
    """
    ours, theirs = embeddings["product_id"], catalog["product_id"]
    if len(ours) != len(theirs) or not pc.all(pc.equal(ours, theirs)).as_py():
        raise BuildError(
            "Embeddings and catalog do not hold the same products in the same order.",
            given=f"{len(ours)} embeddings, {len(theirs)} products",
            fix="Embed this catalog again.",
        )
    column = embeddings["vector"].combine_chunks()
    flat = column.flatten().to_numpy(zero_copy_only=False)
    return np.asarray(flat, dtype=np.float32).reshape(len(column), -1)


def _table(catalog: pa.Table, codes: npt.NDArray[np.uint16]) -> pa.Table:
    offsets = np.arange(len(codes) + 1, dtype=np.int32) * codes.shape[1]
    lists = pa.ListArray.from_arrays(offsets, codes.ravel())
    ids = catalog["product_id"].combine_chunks().cast(pa.string())
    return pa.table([ids, lists], schema=SEMANTIC_IDS)


def _live(config: RQVAEConfig, labels: list[list[npt.NDArray[np.int64]]]) -> list[dict[str, float]]:
    """Per level, each label column's share of products that have a value."""
    return [
        {name: float((y >= 0).mean()) for name, y in zip(names, columns, strict=True)}
        for names, columns in zip(config.labels, labels, strict=True)
    ]
