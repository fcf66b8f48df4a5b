"""The residual-quantised autoencoder (paper, section 3, equations 2 and 3).

In:  embeddings (B, d).
Out: latents, codes, quantised latents, reconstructions.
"""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple

import torch
from torch import Tensor, nn

from fashion_rq_bench.builders.rqvae.config import RQVAEConfig

__all__ = ["RQVAE", "Quantised", "code_scores", "nearest_codes"]


class Quantised(NamedTuple):
    """What residual quantisation leaves, per level."""

    codes: Tensor  # (B, L) int64
    residuals: list[Tensor]  # L tensors (B, m): what each level quantised
    vectors: list[Tensor]  # L tensors (B, m): the code vectors it chose


def code_scores(residual: Tensor, codebook: Tensor) -> Tensor:
    """(B, K) squared distances, less the residual's own square."""
    return torch.addmm(codebook.square().sum(1), residual, codebook.T, alpha=-2)


def nearest_codes(residual: Tensor, codebook: Tensor) -> Tensor:
    """(B,) index of the nearest code vector; ties go to the lowest (equation 2)."""
    return code_scores(residual, codebook).argmin(1)


def _open_codes(scores: Tensor, parent: Tensor, keys: Tensor) -> tuple[Tensor, Tensor]:
    """(B,) nearest code among those open under each item's prefix, and the new prefix's index.

    Args:
        scores: (B, K) distances.
        parent: (B,) index of each item's prefix among the open ones of the level before.
        keys: sorted parent × K + code of the level's open prefixes.
    """
    size = scores.shape[1]

    def found(wanted: Tensor) -> tuple[Tensor, Tensor]:
        place = torch.searchsorted(keys, wanted).clamp(max=len(keys) - 1)
        return place, keys[place] == wanted

    code = scores.argmin(1)
    place, is_open = found(parent * size + code)
    rows = (~is_open).nonzero().flatten()
    if len(rows):
        _, allowed = found(parent[rows, None] * size + torch.arange(size))
        code[rows] = scores[rows].masked_fill(~allowed, torch.inf).argmin(1)
        place[rows] = found(parent[rows] * size + code[rows])[0]
    return code, place


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
        self.tree: list[Tensor] = []  # open prefixes per level (tree.py); empty: all are open
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
        """(B, L) codes of latents (B, m): the nearest ones that are open under the prefix."""
        residual, codes = latents, []
        parent = torch.zeros(len(latents), dtype=torch.int64)
        for level, codebook in enumerate(self.codebooks):
            scores = code_scores(residual, codebook)
            if level < len(self.tree):
                code, parent = _open_codes(scores, parent, self.tree[level])
            else:
                code = scores.argmin(1)
            codes.append(code)
            residual = residual - codebook[code]
        return torch.stack(codes, 1)
