"""Residual k-means: the start of the codebooks, and the baseline without a network.

In:  vectors (N, m), L and K.
Out: L codebooks (K, m), fitted one after the other on what the last one left.
"""

from __future__ import annotations

import torch
from torch import Tensor

from fashion_rq_bench.builders.rqvae.model import nearest_codes

__all__ = ["kmeans", "residual_kmeans"]


def _plus_plus(vectors: Tensor, k: int, generator: torch.Generator) -> Tensor:
    """k-means++ seeds: each next one drawn with probability ∝ squared distance to the nearest."""
    chosen = [int(torch.randint(len(vectors), (1,), generator=generator))]
    distance = (vectors - vectors[chosen[0]]).square().sum(1)
    for _ in range(1, k):
        weights = distance if float(distance.sum()) > 0 else torch.ones_like(distance)
        chosen.append(int(torch.multinomial(weights, 1, generator=generator)))
        distance = torch.minimum(distance, (vectors - vectors[chosen[-1]]).square().sum(1))
    return vectors[chosen].clone()


@torch.no_grad()
def kmeans(
    vectors: Tensor,
    k: int,
    generator: torch.Generator,
    *,
    iterations: int = 15,
    sample: int = 16384,
) -> Tensor:
    """(k, m) centroids of Lloyd's algorithm on at most ``sample`` rows; empty ones are reseeded."""
    if len(vectors) > sample:
        vectors = vectors[torch.randperm(len(vectors), generator=generator)[:sample]]
    centroids = _plus_plus(vectors, k, generator)
    for _ in range(iterations):
        code = nearest_codes(vectors, centroids)
        counts = torch.bincount(code, minlength=k)
        sums = torch.zeros_like(centroids).index_add_(0, code, vectors)
        centroids = sums / counts.clamp(min=1)[:, None]
        empty = (counts == 0).nonzero().flatten()
        if len(empty):
            far = (vectors - centroids[code]).square().sum(1).topk(len(empty)).indices
            centroids[empty] = vectors[far]
    return centroids


@torch.no_grad()
def residual_kmeans(
    vectors: Tensor, levels: int, k: int, seed: int, *, sample: int = 16384
) -> list[Tensor]:
    """L codebooks (k, m), level by level on the residuals."""
    generator = torch.Generator().manual_seed(seed)
    codebooks = []
    for _ in range(levels):
        codebook = kmeans(vectors, k, generator, sample=sample)
        vectors = vectors - codebook[nearest_codes(vectors, codebook)]
        codebooks.append(codebook)
    return codebooks
