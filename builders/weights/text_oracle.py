"""A trained cross-encoder as an oracle: read from its folder, asked for logits (paper 8.0.5).

In:  a model's folder; texts of queries and products.
Out: logits of any pairs. Only safetensors are read, and no code from a model's folder is run.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fashion_rq_bench.errors import ModelError
from fashion_rq_bench.support.optional import require
from fashion_rq_bench.support.progress import track, without_loading_bars

__all__ = ["TRAINING", "TextOracle", "load_cross_encoder", "predict_logits"]

TRAINING = "training.json"
"""What a model's folder tells of its training: settings, data, losses, quality."""

_BLOCK = 1_024
"""Pairs between two moves of the progress bar; each block is sorted by length inside."""

_PICKLED = (".bin", ".pt", ".pth", ".ckpt", ".pkl")


def load_cross_encoder(path: Path) -> Any:
    """Load a model that :func:`train_cross_encoder` wrote.

    Raises:
        ModelError: if there is no model, or pickled weights lie beside it.
    """
    pickled = [one.name for one in path.rglob("*") if one.suffix in _PICKLED]
    if pickled or not (path / "modules.json").is_file():
        raise ModelError(
            "This folder is not a cross-encoder of safetensors.",
            given=pickled or str(path),
            fix="Train one with: fashion-rq weights train --out MODEL",
        )
    with without_loading_bars():
        return require("sentence_transformers", "weights").CrossEncoder(
            str(path), model_kwargs={"use_safetensors": True}, local_files_only=True
        )


def predict_logits(
    model: Any, queries: Sequence[str], texts: Sequence[str], *, batch_size: int = 64
) -> NDArray[np.float64]:
    """Raw logits of pairs, shape (P,)."""
    identity = require("torch", "weights").nn.Identity()
    logits = model.predict(
        list(zip(queries, texts, strict=True)),
        activation_fn=identity,
        batch_size=batch_size,
        show_progress_bar=False,
    )
    return np.asarray(logits, dtype=np.float64).reshape(-1)


class TextOracle:
    """A cross-encoder as an :data:`~.ablation.Oracle` of positions.

    Args:
        model: from :func:`load_cross_encoder`.
        queries: text of each query.
        texts: text of each product, see :func:`~.esci.product_lines`.
        batch_size: pairs per forward pass.
    """

    def __init__(
        self, model: Any, queries: Sequence[str], texts: Sequence[str], *, batch_size: int = 64
    ) -> None:
        self._model, self._batch_size = model, batch_size
        self._queries, self._texts = list(queries), list(texts)

    def __call__(
        self, query_index: NDArray[np.int64], product_index: NDArray[np.int64]
    ) -> NDArray[np.float64]:
        """Logits of the pairs, shape (P,)."""
        queries = [self._queries[row] for row in query_index.tolist()]
        texts = [self._texts[row] for row in product_index.tolist()]
        starts = range(0, len(queries), _BLOCK)
        found = [np.zeros(0)]
        for start in track(starts, "scoring pairs", len(queries), _BLOCK):
            block = slice(start, start + _BLOCK)
            found.append(
                predict_logits(
                    self._model, queries[block], texts[block], batch_size=self._batch_size
                )
            )
        return np.concatenate(found)
