"""Training of the quantiser on one page (paper, section 3).

In:  vectors (N, d), label columns per level, a configuration, a checkpoint folder.
Out: a trained :class:`RQVAE`; with a checkpoint, a killed run goes on to the same bytes.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from fashion_rq_bench.builders.rqvae.checkpoint import load_state, run_key, save_state
from fashion_rq_bench.builders.rqvae.config import RQVAEConfig
from fashion_rq_bench.builders.rqvae.kmeans import residual_kmeans
from fashion_rq_bench.builders.rqvae.loss import step_loss
from fashion_rq_bench.builders.rqvae.model import RQVAE
from fashion_rq_bench.builders.rqvae.monitor import History, observe
from fashion_rq_bench.builders.rqvae.tree import close_small_leaves
from fashion_rq_bench.errors import InputError
from fashion_rq_bench.support.progress import track

__all__ = ["Run", "deterministic", "learn", "resolve"]

Ints = npt.NDArray[np.int64]
_MIN_ROWS = 80


@contextmanager
def deterministic(threads: int) -> Iterator[None]:
    """Deterministic kernels on a fixed number of threads; the previous settings are restored."""
    before = torch.are_deterministic_algorithms_enabled(), torch.get_num_threads()
    torch.use_deterministic_algorithms(True)
    torch.set_num_threads(threads)
    try:
        yield
    finally:
        torch.use_deterministic_algorithms(before[0])
        torch.set_num_threads(before[1])


def resolve(config: RQVAEConfig, rows: int) -> RQVAEConfig:
    """The configuration in force for a catalog of ``rows`` products.

    Raises:
        InputError: if there are too few products to learn a hierarchy from.
    """
    if rows < _MIN_ROWS:
        raise InputError(
            f"A hierarchy needs at least {_MIN_ROWS} products.",
            given=rows,
            fix="Give the whole catalog; a useful edition takes some hundreds of products.",
        )
    config = config.resolved()
    size = _fitting_size(config, rows)
    # With fewer codes more labels share one, and the same pull folds the codes into each other. The
    # square is empirical: in proportion to K, 3,000 products still collapsed.
    share = size / config.codebook_size
    return replace(
        config,
        codebook_size=size,
        exclusivity=tuple(share**2 * weight for weight in config.weights),
        # Where prefixes hold few products, closing leaves would leave a leaf without siblings.
        min_leaf=max(1, int(share * config.min_leaf)),
        batch_size=min(config.batch_size, rows // 4),
    )


def _fitting_size(config: RQVAEConfig, rows: int) -> int:
    """K such that a full tree of L - 1 levels leaves ``items_per_prefix`` products to a prefix."""
    if config.items_per_prefix == 0 or config.levels == 1:
        return min(config.codebook_size, rows)
    largest = int((rows / config.items_per_prefix) ** (1 / (config.levels - 1)))
    return max(2, min(config.codebook_size, largest))


def learn(
    vectors: npt.NDArray[np.floating],
    labels: Sequence[Sequence[Ints]],
    config: RQVAEConfig,
    *,
    checkpoint: Path | None = None,
) -> RQVAE:
    """Train encoder, decoder and codebooks.

    Args:
        vectors: (N, d) embeddings, any float type.
        labels: per level a list of (N,) label columns, -1 for null; empty for no supervision.
        config: settings; ``config.seed`` decides everything random.
        checkpoint: folder for the state after each epoch. A run found there under the same
            settings and data goes on from it and ends with the same bytes.

    Returns:
        The model, in evaluation mode; ``model.history`` holds what was seen per epoch.

    Raises:
        InputError: too few products, vectors that are not finite, or labels of another length.
    """
    data = _prepare(vectors)
    config = resolve(config, len(data))
    columns = [[torch.from_numpy(np.asarray(y, dtype=np.int64)) for y in level] for level in labels]
    if len(columns) != config.levels or any(
        len(y) != len(data) for level in columns for y in level
    ):
        raise InputError("labels need one list per level, each column as long as the vectors.")
    with deterministic(config.threads):
        model = Run(data, columns, config, checkpoint).train()
        close_small_leaves(model, data.numpy(), config.min_leaf)
        return model


def _prepare(vectors: npt.NDArray[np.floating]) -> Tensor:
    data = torch.from_numpy(np.ascontiguousarray(vectors, dtype=np.float32))
    if data.ndim != 2 or not bool(torch.isfinite(data).all()):
        raise InputError("Embeddings must be a matrix of finite numbers.", given=tuple(data.shape))
    return data


class Run:
    """State of one training run; everything in it is a function of (data, config, epoch)."""

    def __init__(
        self, data: Tensor, labels: list[list[Tensor]], config: RQVAEConfig, folder: Path | None
    ) -> None:
        self.data, self.labels, self.config, self.folder = data, labels, config, folder
        order = torch.randperm(len(data), generator=self._generator(0))
        held = int(config.held_out * len(data))
        self.held, self.rows = order[:held], order[held:]
        self.per_epoch = len(self.rows) // config.batch_size
        self.epochs = max(config.epochs, math.ceil(config.min_steps / self.per_epoch))
        self.settled = max(1, round(config.settle * self.epochs))
        self.restarts = {round(share * self.epochs) for share in config.restarts}
        torch.manual_seed(config.seed)
        self.model = RQVAE(data.shape[1], config)
        self.optimiser = torch.optim.AdamW(
            self.model.parameters(),
            lr=config.learning_rate,
            weight_decay=config.weight_decay,
            fused=True,
        )
        self.patience = max(2, round(config.patience * self.epochs))
        self.history = History()
        self.key = run_key(data, labels, config) if folder else ""

    def _generator(self, *stream: int) -> torch.Generator:
        """A generator of its own per purpose and epoch, so that no state needs saving."""
        words = np.random.SeedSequence((self.config.seed, *stream)).generate_state(1, np.uint64)
        return torch.Generator().manual_seed(int(words[0] >> np.uint64(1)))

    def train(self) -> RQVAE:
        """Run all epochs that the checkpoint does not hold."""
        done = load_state(self, self.folder) if self.folder else 0
        for epoch in track(range(done, self.epochs), "training the quantiser"):
            if self.history.stalled(self.patience):
                break
            self._epoch(epoch)
            if self.folder:
                save_state(self, self.folder, epoch + 1)
        self.model.history = self.history.epochs
        return self.model.eval()

    def _epoch(self, epoch: int) -> None:
        quantised = epoch >= self.settled
        if epoch == self.settled or epoch in self.restarts:
            self._start_codebooks()
        order = torch.randperm(len(self.rows), generator=self._generator(1, epoch))
        batches = self.rows[order][: self.per_epoch * self.config.batch_size].view(
            self.per_epoch, -1
        )
        codes = []
        for number, batch in enumerate(batches):
            self._set_rate(epoch * self.per_epoch + number)
            codes.append(self._step(batch, quantised))
        if quantised:
            seen = torch.cat(codes)
            self.history.epochs.append(
                observe(self.model, self.data, self.labels, self.held, batches.flatten(), seen)
            )
            self._revive(seen, epoch)

    def _set_rate(self, step: int) -> None:
        total = self.epochs * self.per_epoch
        warm = max(1.0, self.config.warmup * total)
        rate = min((step + 1) / warm, 0.5 * (1 + math.cos(math.pi * step / total)))
        for group in self.optimiser.param_groups:
            group["lr"] = rate * self.config.learning_rate

    def _step(self, batch: Tensor, quantised: bool) -> Tensor:
        labels = [[y[batch] for y in level] for level in self.labels]
        loss, codes = step_loss(self.model, self.data[batch], labels, quantised=quantised)
        self.optimiser.zero_grad(set_to_none=True)
        torch.autograd.backward(loss)
        torch.nn.utils.clip_grad_norm_(self.model.parameters(), self.config.clip)
        self.optimiser.step()
        return codes

    @torch.no_grad()
    def _start_codebooks(self) -> None:
        latents = self.model.encoder(self.data[self.rows])
        found = residual_kmeans(
            latents, self.config.levels, self.config.codebook_size, self.config.seed
        )
        for codebook, start in zip(self.model.codebooks, found, strict=True):
            codebook.copy_(start)
            self._forget(codebook, torch.arange(len(start)))

    @torch.no_grad()
    def _revive(self, codes: Tensor, epoch: int) -> None:
        """Move codes that hardly any item chose onto residuals of items with crowded codes."""
        size = self.config.codebook_size
        last = epoch == self.epochs - 1  # nothing settles any more: only codes without any item
        rare = 0.0 if last else self.config.revive_below * len(codes) / size
        generator = self._generator(2, epoch)
        pick = torch.randperm(len(self.rows), generator=generator)[: 16 * size]
        found = self.model.quantise(self.model.encoder(self.data[self.rows[pick]]))
        for level, codebook in enumerate(self.model.codebooks):
            used = torch.bincount(codes[:, level], minlength=size)
            dead = (used <= rare).nonzero().flatten()[: len(pick)]
            if len(dead):
                crowd = used[found.codes[:, level]].double() + 1e-9
                items = torch.multinomial(crowd, len(dead), generator=generator)
                codebook[dead] = found.residuals[level][items]
                self._forget(codebook, dead)

    def _forget(self, codebook: Tensor, codes: Tensor) -> None:
        """Clear AdamW's moments of code vectors that were moved by hand."""
        state = self.optimiser.state.get(codebook, {})
        for moment in ("exp_avg", "exp_avg_sq"):
            if moment in state:
                state[moment][codes] = 0
