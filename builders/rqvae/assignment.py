"""Codes for any number of products in bounded memory (paper, equation 2 at inference).

In:  a trained model and vectors (N, d), float16 or float32.
Out: codes (N, L) uint16, the same whatever the chunking.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import torch

from fashion_rq_bench.builders.rqvae.model import RQVAE
from fashion_rq_bench.errors import InputError

__all__ = ["BLOCK", "assign"]

BLOCK = 4096
"""Rows per matrix product. Short blocks are padded to it, so that a product's sums are formed by
the same kernel wherever it stands and however the caller cuts the catalog."""


@torch.inference_mode()
def assign(model: RQVAE, vectors: npt.NDArray[np.floating]) -> npt.NDArray[np.uint16]:
    """Semantic IDs of products (equation 2).

    Args:
        model: a trained quantiser.
        vectors: (N, d) embeddings, float16 to float64; a memory map is read block by block.

    Returns:
        (N, L) codes. Computed in float32: bfloat16 would change about 9% of them.

    Raises:
        InputError: if d is not the model's.
    """
    if vectors.ndim != 2 or vectors.shape[1] != model.dim:
        raise InputError(
            f"The quantiser was trained on vectors of {model.dim} numbers.",
            given=vectors.shape,
            fix="Embed the catalog with the same model, or train again.",
        )
    codes = np.empty((len(vectors), model.config.levels), dtype=np.uint16)
    block = np.zeros((BLOCK, model.dim), dtype=np.float32)
    for start in range(0, len(vectors), BLOCK):
        rows = min(BLOCK, len(vectors) - start)
        block[:rows] = vectors[start : start + rows]
        found = model.codes(model.encoder(torch.from_numpy(block)))
        codes[start : start + rows] = found[:rows].numpy()
    return codes
