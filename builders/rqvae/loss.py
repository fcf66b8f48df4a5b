"""The loss of a batch (paper, equations 2 to 4).

In:  a quantiser, a batch (B, d), its label columns per level.
Out: one number with its graph, and the batch's codes.

Reductions: squared errors are summed over dimensions and averaged over items, so that the
reconstruction of a unit vector costs at most about 1, whatever d (docs/design/0004-quantiser.md).
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from fashion_rq_bench.builders.rqvae.exclusivity import exclusivity_loss
from fashion_rq_bench.builders.rqvae.model import RQVAE, Quantised

__all__ = ["squared_error", "step_loss"]


def step_loss(
    model: RQVAE, batch: Tensor, labels: Sequence[Sequence[Tensor]], *, quantised: bool = True
) -> tuple[Tensor, Tensor]:
    """Loss of a batch (equation 3) and its codes.

    Args:
        model: the quantiser.
        batch: (B, d) float32.
        labels: per level the columns (B,) of the batch.
        quantised: False for the plain autoencoder, before the codebooks start.

    Returns:
        The scalar loss, and codes (B, L), zero columns if not ``quantised``.
    """
    with torch.autocast("cpu", torch.bfloat16, enabled=model.config.bf16):
        latents = model.encoder(batch)
    latents = latents.float()
    if not quantised:
        loss = squared_error(_decode(model, latents), batch)
        return loss, latents.new_zeros(len(batch), 0).long()
    found = model.quantise(latents)
    total = sum(vector.detach() for vector in found.vectors)
    loss = squared_error(_decode(model, latents + (total - latents).detach()), batch)
    for residual, vector in zip(found.residuals, found.vectors, strict=True):
        loss = loss + squared_error(vector, residual.detach())
        loss = loss + model.config.beta * squared_error(residual, vector.detach())
    return loss + _exclusivity(model, found, labels), found.codes


def _decode(model: RQVAE, latents: Tensor) -> Tensor:
    with torch.autocast("cpu", torch.bfloat16, enabled=model.config.bf16):
        out: Tensor = model.decoder(latents)
    return out.float()


def squared_error(a: Tensor, b: Tensor) -> Tensor:
    """Squared error summed over dimensions, averaged over items."""
    return torch.nn.functional.mse_loss(a, b, reduction="sum") / len(a)


def _exclusivity(model: RQVAE, found: Quantised, labels: Sequence[Sequence[Tensor]]) -> Tensor:
    config = model.config
    total = found.vectors[0].new_zeros(())
    for level, weight in enumerate(config.weights):
        if weight > 0 and labels[level]:
            through = config.gradient == "straight-through"
            total = total + weight * exclusivity_loss(
                model.codebooks[level],
                found.codes[:, level],
                labels[level],
                config.temperature,
                residuals=found.residuals[level] if through else None,
            )
    return total
