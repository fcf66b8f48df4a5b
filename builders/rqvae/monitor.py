"""What a training run watches after each epoch, and whether it still improves.

In:  a quantiser, the data, which rows are held out, the codes of the rows it trained on.
Out: held-out reconstruction error and purity, the codes' perplexity; their history.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

import torch
from torch import Tensor

from fashion_rq_bench.builders.rqvae.loss import squared_error
from fashion_rq_bench.builders.rqvae.model import RQVAE

__all__ = ["History", "observe"]


@dataclass
class History:
    """What was seen per epoch on the held-out products and the codes."""

    epochs: list[dict[str, float]] = field(default_factory=list)

    def stalled(self, patience: int) -> bool:
        """Whether neither held-out reconstruction nor purity improved for ``patience`` epochs."""
        if len(self.epochs) <= patience:
            return False
        return all(
            self._best(name, sign, 0, -patience) >= self._best(name, sign, -patience, None)
            for name, sign in (("held_out_error", -1.0), ("held_out_purity", 1.0))
        )

    def _best(self, name: str, sign: float, start: int, stop: int | None) -> float:
        return max(sign * epoch[name] for epoch in self.epochs[start:stop])


@torch.no_grad()
def observe(
    model: RQVAE,
    data: Tensor,
    labels: Sequence[Sequence[Tensor]],
    held: Tensor,
    rows: Tensor,
    codes: Tensor,
) -> dict[str, float]:
    """Held-out error (whole, and from each level's prefix) and purity; codes' perplexity.

    Args:
        model: the quantiser.
        data: (N, d) float32.
        labels: per level the columns (N,); the purity is that of the last level with any.
        held, rows: rows of ``data`` that are held out, and that an epoch trained on.
        codes: codes of ``rows`` as they were trained on.
    """
    seen = {
        f"perplexity_{level + 1}": _perplexity(code) for level, code in enumerate(codes.unbind(1))
    }
    if not len(held):
        return {"held_out_error": math.nan, "held_out_purity": math.nan, **seen}
    batch = data[held]
    found = model.quantise(model.encoder(batch))
    sums = torch.stack(found.vectors).cumsum(0)
    errors = [float(squared_error(model.decoder(prefix), batch)) for prefix in sums]
    seen |= {f"held_out_error_{level + 1}": error for level, error in enumerate(errors)}
    supervised = [level for level in labels if level]
    purity = math.nan
    if supervised:
        label = supervised[-1][0]
        purity = _held_out_purity(codes, label[rows], found.codes, label[held])
    return {"held_out_error": errors[-1], "held_out_purity": purity, **seen}


def _perplexity(code: Tensor) -> float:
    share = torch.bincount(code).double() / len(code)
    return float(torch.special.entr(share).sum().exp())


def _held_out_purity(codes: Tensor, labels: Tensor, held: Tensor, truth: Tensor) -> float:
    """Share of labelled held-out items whose leaf's most frequent label, in training, is theirs."""
    leaves = torch.unique(torch.cat([codes, held]), dim=0, return_inverse=True)[1]
    n_labels = int(labels.max()) + 1
    known = labels >= 0
    cells, counts = torch.unique(
        leaves[: len(codes)][known] * n_labels + labels[known], return_counts=True
    )
    order = torch.sort(counts, stable=True).indices  # later ones win: the most frequent
    majority = torch.full((int(leaves.max()) + 1,), -1)
    majority[cells[order] // n_labels] = cells[order] % n_labels
    labelled = truth >= 0
    hits = majority[leaves[len(codes) :]][labelled] == truth[labelled]
    return float(hits.double().mean()) if len(hits) else math.nan
