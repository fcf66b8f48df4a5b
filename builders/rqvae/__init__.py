"""The residual-quantised autoencoder that turns embeddings into semantic IDs (paper, section 3).

In:  product embeddings (N, d) and label columns per level.
Out: a trained :class:`RQVAE`, semantic IDs (N, L), diagnostics.

Names are imported on first use, so that reading a configuration does not import torch.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from fashion_rq_bench.builders.rqvae.assignment import assign
    from fashion_rq_bench.builders.rqvae.config import RQVAEConfig
    from fashion_rq_bench.builders.rqvae.diagnostics import diagnose
    from fashion_rq_bench.builders.rqvae.exclusivity import exclusivity_loss
    from fashion_rq_bench.builders.rqvae.labels import label_columns
    from fashion_rq_bench.builders.rqvae.model import RQVAE
    from fashion_rq_bench.builders.rqvae.stage import SemanticIds, semantic_ids
    from fashion_rq_bench.builders.rqvae.train import learn

__all__ = [
    "RQVAE",
    "RQVAEConfig",
    "SemanticIds",
    "assign",
    "diagnose",
    "exclusivity_loss",
    "label_columns",
    "learn",
    "semantic_ids",
]

_HOMES = {
    "RQVAE": "model",
    "RQVAEConfig": "config",
    "SemanticIds": "stage",
    "assign": "assignment",
    "diagnose": "diagnostics",
    "exclusivity_loss": "exclusivity",
    "label_columns": "labels",
    "learn": "train",
    "semantic_ids": "stage",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(importlib.import_module(f"{__name__}.{_HOMES[name]}"), name)
    globals()[name] = value
    return value
