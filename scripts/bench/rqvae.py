"""Speed of the quantiser: training step, exclusivity loss, assignment, against a public peer.

In:  nothing (random vectors and labels of the catalog's shape).
Out: items per second, step time against batch size, and each promised ratio beside its promise.

The peer is vector-quantize-pytorch's ResidualVQ (learnable codebooks) in the same MLP, with plain
SupCon over all pairs of the batch; similarities are shared over label columns, which favours the
peer. All variants run interleaved in one process and the medians are compared, since absolute
figures drift. Unset OPENBLAS_CORETYPE and OPENBLAS_L2_SIZE before running.

    python scripts/bench/rqvae.py --rows 44446 --dim 1024 --rounds 5
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise

import numpy as np
import torch
from torch import Tensor, nn

from fashion_rq_bench.builders.rqvae import RQVAE, RQVAEConfig, assign
from fashion_rq_bench.builders.rqvae.assignment import BLOCK
from fashion_rq_bench.builders.rqvae.config import PAPER_HIDDEN
from fashion_rq_bench.builders.rqvae.loss import step_loss

LABEL_SIZES = ((7,), (143,), (1800, 330, 420, 480, 300, 380, 290))
"""Values per label column, about as many as in the Myntra catalog; seven columns at level 3."""

CLOCK: list[Callable[[], float]] = [time.perf_counter]
"""What measures; ``--cpu-time`` puts the process's CPU time here."""

Step = Callable[[Tensor, list[list[Tensor]]], None]


def supcon(vectors: Tensor, labels: list[Tensor], temperature: float = 0.07) -> Tensor:
    """Plain SupCon over all pairs of the batch; one similarity matrix for all columns."""
    q = nn.functional.normalize(vectors, dim=1)
    itself = torch.eye(len(q), dtype=torch.bool)
    similarity = (q @ q.T / temperature).masked_fill(itself, -torch.inf)
    log_softmax = (similarity - similarity.logsumexp(1, keepdim=True)).masked_fill(itself, 0.0)
    total = q.new_zeros(())
    for y in labels:
        positive = (y[:, None] == y[None, :]) & ~itself
        n = positive.sum(1)
        loss = -(log_softmax * positive).sum(1) / n.clamp(min=1)
        total = total + loss[n > 0].mean()
    return total / len(labels)


class Peer(nn.Module):
    """The same MLP around vector-quantize-pytorch's ResidualVQ."""

    def __init__(self, dim: int, config: RQVAEConfig) -> None:
        super().__init__()
        from vector_quantize_pytorch import ResidualVQ

        ours = RQVAE(dim, config)
        self.encoder, self.decoder, self.config = ours.encoder, ours.decoder, config
        self.quantiser = ResidualVQ(
            dim=config.latent,
            num_quantizers=config.levels,
            codebook_size=config.codebook_size,
            learnable_codebook=True,
            ema_update=False,
            commitment_weight=config.beta,
        )

    def loss(self, batch: Tensor, labels: list[list[Tensor]], exclusive: bool) -> Tensor:
        """Reconstruction, commitment and, if ``exclusive``, plain SupCon on the code vectors."""
        quantised, codes, commitment = self.quantiser(self.encoder(batch))
        loss = nn.functional.mse_loss(self.decoder(quantised), batch) + commitment.sum()
        if exclusive:
            books = self.quantiser.codebooks
            for level, columns in enumerate(labels):
                loss = loss + 0.05 * supcon(books[level][codes[:, level]], columns)
        return loss


def trainer(model: nn.Module, loss: Callable[[Tensor, list[list[Tensor]]], Tensor]) -> Step:
    optimiser = torch.optim.AdamW(model.parameters(), lr=1e-3, fused=True)

    def step(batch: Tensor, labels: list[list[Tensor]]) -> None:
        optimiser.zero_grad(set_to_none=True)
        torch.autograd.backward(loss(batch, labels))
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimiser.step()

    return step


def ours(dim: int, config: RQVAEConfig, **changes: object) -> Step:
    model = RQVAE(dim, replace(config, **changes))
    for codebook in model.codebooks:
        nn.init.normal_(codebook, std=0.1)
    return trainer(model, lambda batch, labels: step_loss(model, batch, labels)[0])


def variants(dim: int, config: RQVAEConfig) -> dict[str, Step]:
    peer, bare = Peer(dim, config), Peer(dim, config)
    return {
        "ours, no exclusivity": ours(dim, config, exclusivity=(0.0,)),
        "ours, codebook": ours(dim, config, exclusivity=(0.05,), gradient="codebook"),
        "ours, straight-through": ours(dim, config, exclusivity=(0.05,)),
        "ours, straight-through, bf16": ours(dim, config, exclusivity=(0.05,), bf16=True),
        "peer, no exclusivity": trainer(bare, lambda x, y: bare.loss(x, y, exclusive=False)),
        "peer, plain SupCon": trainer(peer, lambda x, y: peer.loss(x, y, exclusive=True)),
    }


def timed(action: Callable[[], object]) -> float:
    start = CLOCK[0]()
    action()
    return CLOCK[0]() - start


def rates(
    steps: dict[str, Step], data: Tensor, labels: list[list[Tensor]], batch: int, rounds: int
) -> dict[str, float]:
    """Items per second, median over interleaved rounds of one step each."""
    seconds: dict[str, list[float]] = {name: [] for name in steps}
    generator = torch.Generator().manual_seed(0)
    for number in range(rounds + 1):
        rows = torch.randperm(len(data), generator=generator)[:batch]
        for name, step in steps.items():
            start = CLOCK[0]()
            step(data[rows], [[y[rows] for y in level] for level in labels])
            if number:  # the first round warms up
                seconds[name].append(CLOCK[0]() - start)
    return {name: batch / statistics.median(spent) for name, spent in seconds.items()}


def flops_per_item(dim: int, config: RQVAEConfig) -> int:
    """FLOP of the matrix products of a training step, per item.

    Encoder and decoder forward, and twice that backward; the embedding itself needs no gradient.
    """
    widths = [dim, *config.hidden, config.latent]
    return 12 * sum(a * b for a, b in pairwise(widths)) - 2 * widths[0] * widths[1]


def sgemm_rate(rounds: int) -> float:
    """FLOP/s of a square float32 product."""
    a, b = torch.randn(2048, 2048), torch.randn(2048, 2048)
    spent = [timed(lambda: torch.mm(a, b)) for _ in range(rounds + 2)]
    return 2 * 2048**3 / statistics.median(spent[2:])


def assignment(dim: int, config: RQVAEConfig, data: Tensor, rounds: int) -> tuple[float, float]:
    """Items per second of ``assign`` and of the encoder's bare matrix products."""
    model = RQVAE(dim, config)
    weights = [layer.weight.detach().T for layer in model.encoder if isinstance(layer, nn.Linear)]
    array = data.numpy()

    def products() -> None:
        for start in range(0, len(data), BLOCK):
            out = data[start : start + BLOCK]
            for weight in weights:
                out = out @ weight

    whole, bare = [], []
    for _ in range(rounds + 1):
        whole.append(timed(lambda: assign(model, array)))
        bare.append(timed(products))
    return len(data) / statistics.median(whole[1:]), len(data) / statistics.median(bare[1:])


def linearity(
    dim: int, config: RQVAEConfig, data: Tensor, labels: list[list[Tensor]], rounds: int
) -> list[tuple[int, float]]:
    """Milliseconds per step of our straight-through variant, by batch size."""
    step = {"ours": ours(dim, config, exclusivity=(0.05,))}
    sizes = [512 * 2**power for power in range(7)]
    return [(size, 1e3 * size / rates(step, data, labels, size, rounds)["ours"]) for size in sizes]


def promises(
    found: dict[int, dict[str, float]], share: float, assigned: float, growth: float
) -> list[tuple[str, float, str, float]]:
    """(what, measured, "≤" or "≥", promised); the default's gradient path stands for "ours"."""
    small, large = found[1024], found[4096]
    bare, through = "ours, no exclusivity", "ours, straight-through"
    peer, rival = "peer, plain SupCon", "peer, no exclusivity"
    return [
        ("step with / without exclusivity, batch 4,096", large[bare] / large[through], "≤", 1.08),
        ("  the same, gradient to the codebook", large[bare] / large["ours, codebook"], "≤", 1.08),
        ("ours / peer with plain SupCon, batch 4,096", large[through] / large[peer], "≥", 7.0),
        ("ours / peer with plain SupCon, batch 1,024", small[through] / small[peer], "≥", 1.5),
        ("ours / peer, both without, batch 4,096", large[bare] / large[rival], "≥", 1.0),
        ("ours / peer, both without, batch 1,024", small[bare] / small[rival], "≥", 1.0),
        ("share of the machine's sgemm, batch 4,096", share, "≥", 0.70),
        ("assignment / the encoder's bare products", assigned, "≥", 0.80),
        ("time per item, batch 32,768 / 4,096", growth, "≤", 1.2),
    ]


def report(batch: int, found: dict[str, float], flops: int, gemm: float) -> None:
    print(f"\nbatch {batch:,}: items/s, share of sgemm")
    for name, rate in found.items():
        print(f"  {name:30s} {rate:10,.0f}  {flops * rate / gemm:5.0%}")


def linear_fit(points: list[tuple[int, float]]) -> float:
    """Print the step times by batch size and their line; time per item at 32,768 over 4,096."""
    slope, offset = np.polyfit(*zip(*points, strict=True), 1)
    print("\nbatch  ms/step  ms per 1,000 items")
    for size, milliseconds in points:
        print(f"{size:6d} {milliseconds:8.1f} {1e3 * milliseconds / size:8.2f}")
    print(f"line: {1e3 * slope:.2f} ms per 1,000 items + {offset:.1f} ms")
    per_item = {size: milliseconds / size for size, milliseconds in points}
    return per_item[32_768] / per_item[4_096]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=44_446)
    parser.add_argument("--dim", type=int, default=1024)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument(
        "--cpu-time", action="store_true", help="on a shared machine: CPU seconds, one thread"
    )
    arguments = parser.parse_args()
    if arguments.cpu_time:
        torch.set_num_threads(1)
        CLOCK[0] = time.process_time
    rng = np.random.default_rng(0)
    data = torch.from_numpy(rng.standard_normal((arguments.rows, arguments.dim), dtype=np.float32))
    labels = [
        [torch.from_numpy((n * rng.random(arguments.rows) ** 3).astype(np.int64)) for n in level]
        for level in LABEL_SIZES
    ]
    config = RQVAEConfig(hidden=PAPER_HIDDEN, latent=32)
    print(f"{torch.get_num_threads()} threads, {arguments.rows} x {arguments.dim}")
    gemm, flops = sgemm_rate(arguments.rounds), flops_per_item(arguments.dim, config)
    print(f"sgemm {gemm / 1e9:.0f} GFLOP/s")
    found = {}
    for batch in (1024, 4096):
        found[batch] = rates(variants(arguments.dim, config), data, labels, batch, arguments.rounds)
        report(batch, found[batch], flops, gemm)
    whole, bare = assignment(arguments.dim, config, data, arguments.rounds)
    print(f"\nassignment {whole:,.0f} items/s, bare products {bare:,.0f}")
    points = linearity(arguments.dim, config, data, labels, max(2, arguments.rounds // 2))
    growth = linear_fit(points)
    share = flops * found[4096]["ours, straight-through"] / gemm
    print("\nmeasured  promised")
    for what, measured, sign, promised in promises(found, share, whole / bare, growth):
        kept = measured <= promised if sign == "≤" else measured >= promised
        print(f"{measured:8.2f}  {sign} {promised:.2f}  {'kept  ' if kept else 'MISSED'}  {what}")


if __name__ == "__main__":
    main()
