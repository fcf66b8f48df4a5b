"""Closing leaves that hold too few products (the paper's qualifying clusters hold at least five).

In:  a trained model and the catalog's vectors.
Out: the model's open prefixes; from then on :meth:`RQVAE.codes` chooses among them.

Plain residual quantisation scatters a tenth of a catalog over prefixes of one to four products:
nothing can be asked of those, and their likes in a neighbouring leaf count as different. As a
decision tree's ``min_samples_leaf`` does, a least size forbids such leaves: a product whose nearest
code would open one takes the nearest code that is open under its prefix.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import torch

from fashion_rq_bench.builders.hierarchy.clusters import prefix_groups
from fashion_rq_bench.builders.rqvae.assignment import assign
from fashion_rq_bench.builders.rqvae.model import RQVAE

__all__ = ["close_small_leaves", "open_prefixes"]

Ints = npt.NDArray[np.int64]


def close_small_leaves(model: RQVAE, vectors: npt.NDArray[np.floating], least: int) -> None:
    """Set ``model.tree`` so that every prefix that ``vectors`` take holds at least ``least``.

    Level by level, since closing a code sends its products to another. A prefix whose children are
    all smaller keeps its largest one. Costs one assignment per level.

    Args:
        model: a trained quantiser; changed.
        vectors: (N, d) embeddings of the catalog.
        least: products per open prefix; 1 closes nothing.
    """
    model.tree = []
    if least <= 1:
        return
    for level in range(model.config.levels):
        codes = assign(model, vectors)[:, : level + 1].astype(np.int64)
        keys = open_prefixes(codes, model.config.codebook_size, least)
        model.tree.append(torch.from_numpy(keys))


def open_prefixes(codes: Ints, codebook_size: int, least: int) -> Ints:
    """Sorted keys (parent's index × K + code) of the prefixes that stay open.

    Args:
        codes: (N, ℓ) codes; the first ℓ - 1 are of open prefixes.
        codebook_size: K.
        least: products of an open prefix; each parent's largest child is open anyhow.
    """
    level = codes.shape[1]
    parent = prefix_groups(codes, level - 1)[1]
    keys, counts = np.unique(parent * codebook_size + codes[:, -1], return_counts=True)
    parents = keys // codebook_size
    order = np.lexsort((-counts, parents))  # the largest child first; of equal ones the lowest code
    largest = order[np.unique(parents[order], return_index=True)[1]]
    stays = counts >= least
    stays[largest] = True
    return np.asarray(keys[stays], dtype=np.int64)
