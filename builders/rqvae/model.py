"""The residual-quantised autoencoder (paper, section 3, equations 2 and 3).

In:  embeddings (B, d).
Out: latents, codes, quantised latents, reconstructions.
"""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple

import torch
from torch import Tensor, nn

from .config import RQVAEConfig

__all__ = ["RQVAE", "Quantised", "nearest_codes"]


class Quantised(NamedTuple):
    """What residual quantisation leaves, per level."""

    codes: Tensor  # (B, L) int64
    residuals: list[Tensor]  # L tensors (B, m): what each level quantised
    vectors: list[Tensor]  # L tensors (B, m): the code vectors it chose


def nearest_codes(residual: Tensor, codebook: Tensor) -> Tensor:
    """(B,) index of the nearest code vector; ties go to the lowest (equation 2)."""
    scores = torch.addmm(codebook.square().sum(1), residual, codebook.T, alpha=-2)
    return scores.argmin(1)


def _mlp(widths: list[int]) -> nn.Sequential:
    layers: list[nn.Module] = []
    for inner, outer in pairwise(widths):
        layers += [nn.Linear(inner, outer), nn.ReLU(inplace=True)]
    return nn.Sequential(*layers[:-1])


class RQVAE(nn.Module):
    """Encoder d → hidden → latent, L codebooks of K vectors, mirrored decoder.

    Args:
        dim: d, the embedding's width.
        config: layer widths, L and K.
    """

    def __init__(self, dim: int, config: RQVAEConfig) -> None:
        super().__init__()
        widths = [dim, *config.hidden, config.latent]
        self.dim = dim
        self.config = config
        self.history: list[dict[str, float]] = []  # per epoch, filled by training
        self.encoder = _mlp(widths)
        self.decoder = _mlp(widths[::-1])
        self.codebooks = nn.ParameterList(
            torch.zeros(config.codebook_size, config.latent) for _ in range(config.levels)
        )

    def quantise(self, latents: Tensor) -> Quantised:
        """Residual quantisation (equation 2) of latents (B, m)."""
        residual, residuals, vectors, codes = latents, [], [], []
        for codebook in self.codebooks:
            code = nearest_codes(residual.detach(), codebook.detach())
            vector = codebook[code]
            residuals.append(residual)
            vectors.append(vector)
            codes.append(code)
            residual = residual - vector.detach()
        return Quantised(torch.stack(codes, 1), residuals, vectors)

    @torch.no_grad()
    def codes(self, latents: Tensor) -> Tensor:
        """(B, L) codes of latents (B, m)."""
        return self.quantise(latents).codes
