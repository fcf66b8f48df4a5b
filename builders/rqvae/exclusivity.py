"""The attribute exclusivity loss, exact and free of the batch-squared cost (paper, equation 4).

In:  a level's codebook (K, d), the batch's codes (B,), its label columns (each (B,), -1 for null).
Out: one number: SupCon on the quantised vectors, averaged over the columns with a positive pair.

Items that share a code share their quantised vector. So the similarity of two items is an entry of
the codes' Gram matrix G, and every sum over items is a sum over codes weighted by how many items
have them. With n_k items of code k, N_kc of them labelled c, m_c items labelled c, an anchor with
code a and label c loses

    log(sum_k n_k exp(G_ak) - exp(G_aa)) - (sum_k N_kc G_ak - G_aa) / (m_c - 1),

which is the plain form over B x B pairs, regrouped. Cost: K x K x labels, and O(B) to count.
Within a column this is averaged over the anchors with a positive: minus the mean log-softmax of
their positives among all other labelled items (the "out" form). Counts and the K x K part are in
float64, so float32 inputs lose nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn.functional import normalize

__all__ = ["exclusivity_loss"]


class _Column(NamedTuple):
    """Counts of one label column over the items it labels, in the occurring codes."""

    items: Tensor  # (U,) items per code
    anchors: Tensor  # (U,) items per code that have a positive
    joint: Tensor  # (U, Y) items per code and label
    share: Tensor  # (Y,) 1 / (m_c - 1), 0 for labels of a single item
    n_anchors: Tensor  # () anchors in the column
    labels: Tensor  # (B,) label as a column of ``joint``, -1 for null


def exclusivity_loss(
    codebook: Tensor,
    codes: Tensor,
    labels: Sequence[Tensor],
    temperature: float = 0.07,
    *,
    residuals: Tensor | None = None,
) -> Tensor:
    """Supervised contrastive loss on quantised vectors (equation 4, one level).

    Args:
        codebook: (K, d) code vectors; L2-normalised inside.
        codes: (B,) integers in [0, K).
        labels: label columns, each (B,) integers, -1 where the attribute is null.
        temperature: τ > 0.
        residuals: (B, d) what was quantised. If given, its gradient is that of the plain loss on
            ``residuals + (codebook[codes] - residuals).detach()``: straight through to the encoder.

    Returns:
        A scalar of the codebook's dtype, ≥ 0 up to rounding; 0 (with a graph) if no column has a
        positive pair.

    Raises:
        ValueError: if a column's length is not B.
    """
    zero = codebook.sum() * 0.0 + (0.0 if residuals is None else residuals.sum() * 0.0)
    used, code = torch.unique(codes, return_inverse=True)
    columns = [column for y in labels if (column := _count(code, len(used), y)) is not None]
    if not columns:
        return zero
    with torch.autocast(codebook.device.type, enabled=False):
        raw = codebook[used].double()
        unit: Tensor = normalize(raw, dim=1)
        gram = unit @ unit.T / temperature
        loss = torch.stack([_column_loss(gram, column) for column in columns]).mean()
    loss = loss.to(codebook.dtype) + zero
    if residuals is None:
        return loss
    gradient = _item_gradients(unit, gram, code, columns) / temperature
    return loss + _straight_through(_through_normalisation(gradient, raw, unit, code), residuals)


def _count(code: Tensor, n_codes: int, labels: Tensor) -> _Column | None:
    """Code x label counts of one column, or None if no label occurs twice."""
    if labels.shape != code.shape:
        raise ValueError(f"every label column needs the shape of codes, {tuple(code.shape)}")
    valid = labels >= 0
    if not bool(valid.any()):
        return None
    found, inverse = torch.unique(labels, return_inverse=True)
    nulls = int(found[0] < 0)
    compact = inverse - nulls
    n_labels = len(found) - nulls
    cell = code * n_labels + compact
    joint = torch.bincount(cell[valid] if nulls else cell, minlength=n_codes * n_labels)
    joint = joint.view(n_codes, n_labels).double()
    sizes = joint.sum(0)
    positive = sizes > 1
    if not bool(positive.any()):
        return None
    anchors = joint @ positive.double()
    share = positive / (sizes - 1).clamp(min=1)
    return _Column(joint.sum(1), anchors, joint, share, anchors.sum(), compact)


def _without_itself(counts: Tensor) -> Tensor:
    """(U, U) counts of items, one fewer on the diagonal: an anchor is not its own partner."""
    size = counts.numel()
    return (counts - torch.eye(size, dtype=counts.dtype, device=counts.device)).clamp(min=0)


def _weighted(softmax: Tensor, weights: Tensor) -> Tensor:
    """Product that is 0 where the weight is: there the softmax row may be infinite."""
    return torch.where(weights > 0, softmax * weights, 0.0)


def _log_denominators(gram: Tensor, items: Tensor) -> Tensor:
    """(U,) log of the sum over all other items of exp(similarity), per code of the anchor."""
    return torch.logsumexp(gram + _without_itself(items[None, :]).log(), dim=1)


def _column_loss(gram: Tensor, column: _Column) -> Tensor:
    weighted = column.joint * column.share
    pairs = weighted @ column.joint.T - torch.diag(weighted.sum(1))
    denominators = column.anchors @ _log_denominators(gram, column.items)
    return (denominators - (gram * pairs).sum()) / column.n_anchors


@torch.no_grad()
def _item_gradients(unit: Tensor, gram: Tensor, code: Tensor, columns: Sequence[_Column]) -> Tensor:
    """(B, d) gradient of the loss to each item's own normalised vector, times the temperature.

    An item acts as anchor (its softmax row), as another item (the rows of the other anchors) and as
    a positive (twice, the pair being symmetric). The first two depend on its code and on whether it
    has a positive, the last on its code and label.
    """
    total = unit.new_zeros(len(code), unit.shape[1])
    for column in columns:
        softmax = (gram - _log_denominators(gram, column.items)[:, None]).exp()
        as_anchor = _weighted(softmax, _without_itself(column.items[None, :])) @ unit
        as_other = _weighted(softmax, column.anchors[:, None].expand_as(softmax)).T @ unit
        as_both = _weighted(softmax, _without_itself(column.anchors[:, None])).T @ unit + as_anchor
        label = column.labels.clamp(min=0)
        share = column.share[label][:, None]
        pull = (column.joint.T @ unit)[label] - unit[code]
        item = torch.where(share > 0, as_both[code] - 2 * share * pull, as_other[code])
        total += torch.where(column.labels[:, None] >= 0, item, 0.0) / column.n_anchors
    return total / len(columns)


@torch.no_grad()
def _through_normalisation(gradient: Tensor, raw: Tensor, unit: Tensor, code: Tensor) -> Tensor:
    """Gradient to vectors from the gradient to their normalised form."""
    direction = unit[code]
    tangent = gradient - (gradient * direction).sum(1, keepdim=True) * direction
    lengths: Tensor = torch.linalg.vector_norm(raw, dim=1).clamp(min=1e-12)
    return tangent / lengths[code, None]


def _straight_through(gradient: Tensor, residuals: Tensor) -> Tensor:
    """A term of value zero whose gradient to the residuals is the one derived by hand."""
    return (gradient.to(residuals.dtype) * (residuals - residuals.detach())).sum()
