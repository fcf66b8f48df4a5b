"""Training of the quantiser on one page (paper, section 3, equations 2 to 4).

In:  vectors (N, d), label columns per level, a configuration, a checkpoint folder.
Out: a trained :class:`RQVAE`; with a checkpoint, a killed run goes on to the same bytes.

Reductions: squared errors are summed over dimensions and averaged over items, so that the
reconstruction of a unit vector costs at most about 1, whatever d (docs/design/0004-quantiser.md).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from fashion_rq_bench.builders.rqvae.checkpoint import load_state, run_key, save_state
from fashion_rq_bench.builders.rqvae.config import RQVAEConfig
from fashion_rq_bench.builders.rqvae.exclusivity import exclusivity_loss
from fashion_rq_bench.builders.rqvae.kmeans import residual_kmeans
from fashion_rq_bench.builders.rqvae.model import RQVAE, Quantised
from fashion_rq_bench.builders.rqvae.tree import close_small_leaves
from fashion_rq_bench.errors import InputError
from fashion_rq_bench.support.progress import track

__all__ = ["History", "Run", "deterministic", "learn", "resolve", "step_loss"]

Ints = npt.NDArray[np.int64]
_MIN_ROWS = 80


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
            self.history.epochs.append(self._look(batches.flatten(), seen))
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

    @torch.no_grad()
    def _look(self, rows: Tensor, codes: Tensor) -> dict[str, float]:
        """Held-out error (whole, and from each level's prefix) and purity; codes' perplexity."""
        seen = {
            f"perplexity_{level + 1}": _perplexity(code)
            for level, code in enumerate(codes.unbind(1))
        }
        if not len(self.held):
            return {"held_out_error": math.nan, "held_out_purity": math.nan, **seen}
        batch = self.data[self.held]
        found = self.model.quantise(self.model.encoder(batch))
        sums = torch.stack(found.vectors).cumsum(0)
        errors = [float(_squared(self.model.decoder(prefix), batch)) for prefix in sums]
        seen |= {f"held_out_error_{level + 1}": error for level, error in enumerate(errors)}
        supervised = [level for level in self.labels if level]
        purity = math.nan
        if supervised:
            label = supervised[-1][0]
            purity = _held_out_purity(codes, label[rows], found.codes, label[self.held])
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
        return _squared(_decode(model, latents), batch), latents.new_zeros(len(batch), 0).long()
    found = model.quantise(latents)
    total = sum(vector.detach() for vector in found.vectors)
    loss = _squared(_decode(model, latents + (total - latents).detach()), batch)
    for residual, vector in zip(found.residuals, found.vectors, strict=True):
        loss = loss + _squared(vector, residual.detach())
        loss = loss + model.config.beta * _squared(residual, vector.detach())
    return loss + _exclusivity(model, found, labels), found.codes


def _decode(model: RQVAE, latents: Tensor) -> Tensor:
    with torch.autocast("cpu", torch.bfloat16, enabled=model.config.bf16):
        out: Tensor = model.decoder(latents)
    return out.float()


def _squared(a: Tensor, b: Tensor) -> Tensor:
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
