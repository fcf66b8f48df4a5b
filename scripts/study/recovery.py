"""Does the quantiser find a hierarchy that is known? (issue 4)

In:  the synthetic catalog with its planted hierarchy (group / article type / article type × colour
     family × gender: 15 / 48 / 320 nodes).
Out: V-measure of prefix and planted node per level, against noise: table (Markdown, CSV), plot.

Two embeddings of the same products. *Planted*: a product's vector is the sum of random unit vectors
of its group, its article type (weight .3) and its colour family and gender (weight .09, the same
direction in every type, as colours are in a text embedding); no label is used, no small leaf is
closed. *Text*: LSA of the products' core text with the default's labels and least leaf. Noise is
Gaussian; its expected length is given as a multiple of the last weight (planted) and of a twentieth
of a vector's length (text). K is 18: the planted tree has 15 nodes at level 1, and at most 21 below
one node.

    python scripts/study/recovery.py
"""

from __future__ import annotations

import argparse
import csv
import io
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from fashion_rq_bench.builders.catalog import read_catalog
from fashion_rq_bench.builders.embedding import EmbeddingConfig, embed
from fashion_rq_bench.builders.rqvae import RQVAEConfig, assign, label_columns, learn
from fashion_rq_bench.builders.rqvae.stage import vectors_of
from fashion_rq_bench.support.files import write_text

Vectors = npt.NDArray[np.float32]

WEIGHTS = (1.0, 0.3, 0.09)
NOISE = (0.0, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0)
TEXT_NOISE = 0.05
LEVELS = (1, 2, 3)
SUPERVISED = RQVAEConfig(codebook_size=18, items_per_prefix=0, min_steps=400)
UNSUPERVISED = replace(SUPERVISED, exclusivity=(0.0,), labels=((), (), ()), min_leaf=1)


def planted_vectors(parts: Sequence[npt.NDArray[np.int64]], width: int = 64) -> Vectors:
    """(N, width) weighted sums of one random unit vector per part and value.

    Args:
        parts: per level (N,) integers from 0, what the level adds to its parent.
        width: of the embedding.
    """
    rng = np.random.default_rng(0)
    total = np.zeros((len(parts[0]), width))
    for node, weight in zip(parts, WEIGHTS, strict=True):
        directions = rng.standard_normal((node.max() + 1, width))
        directions /= np.linalg.norm(directions, axis=1, keepdims=True)
        total += weight * directions[node]
    return total.astype(np.float32)


def noisy(vectors: Vectors, length: float, seed: int = 1) -> Vectors:
    """Vectors with Gaussian noise of an expected length."""
    noise = np.random.default_rng(seed).standard_normal(vectors.shape)
    return (vectors + length * noise / np.sqrt(vectors.shape[1])).astype(np.float32)


def v_measures(
    vectors: Vectors,
    labels: list[list[npt.NDArray[np.int64]]],
    truth: pa.Table,
    config: RQVAEConfig,
) -> list[float]:
    """V-measure of prefix and planted node, per level."""
    from sklearn.metrics import v_measure_score

    codes = assign(learn(vectors, labels, config), vectors)
    found = []
    for level in LEVELS:
        prefix = np.unique(codes[:, :level], axis=0, return_inverse=True)[1].ravel()
        nodes = truth[f"level_{level}"].to_numpy(zero_copy_only=False)
        found.append(float(v_measure_score(nodes, prefix)))
    return found


def _parts(truth: pa.Table) -> list[npt.NDArray[np.int64]]:
    """Group, article type, and colour family with gender ("type / family / gender" less type)."""
    groups, types, leaves = (truth[f"level_{n}"].to_pylist() for n in LEVELS)
    added = [leaf.removeprefix(kind) for kind, leaf in zip(types, leaves, strict=True)]
    return [np.unique(part, return_inverse=True)[1] for part in (groups, types, added)]


def curves(rows: int, noise: Sequence[float], seeds: int) -> list[tuple[str, int, float, float]]:
    """(curve, level, noise, V-measure), means over seeds."""
    read = read_catalog(f"synthetic:{rows}")
    truth = read.planted
    assert truth is not None
    with TemporaryDirectory() as folder:
        embedded = embed(read.table, EmbeddingConfig(encoder="lsa"), cache=Path(folder))
    text = vectors_of(embedded, read.table)
    setups = {
        "planted": (planted_vectors(_parts(truth)), UNSUPERVISED, WEIGHTS[-1]),
        "text": (text, SUPERVISED, TEXT_NOISE * float(np.linalg.norm(text, axis=1).mean())),
    }
    out = []
    for name, (vectors, config, unit) in setups.items():
        labels = label_columns(read.table, config.labels)
        for amount in noise:
            runs = [
                v_measures(noisy(vectors, amount * unit), labels, truth, replace(config, seed=seed))
                for seed in range(seeds)
            ]
            for level, values in zip(LEVELS, zip(*runs, strict=True), strict=True):
                out.append((name, level, amount, float(np.mean(values))))
            print(name, amount, np.round(np.mean(runs, axis=0), 3), flush=True)
    return out


def page(points: list[tuple[str, int, float, float]], rows: int, seeds: int) -> str:
    """The table in Markdown."""
    noise = sorted({amount for _, _, amount, _ in points})
    value = {(name, level, amount): v for name, level, amount, v in points}
    lines = ["| embedding, level | " + " | ".join(f"noise {n:g}" for n in noise) + " |"]
    lines.append("|---" * (len(noise) + 1) + "|")
    for name, level in dict.fromkeys((name, level) for name, level, _, _ in points):
        cells = [f"{value[name, level, amount]:.3f}" for amount in noise]
        lines.append(f"| {name}, {level} | " + " | ".join(cells) + " |")
    about = (__doc__ or "").split("\n\n")[2].replace("\n", " ")
    head = f"# Recovery of a planted hierarchy\n\nMade by `scripts/study/recovery.py`: {rows:,} "
    return (
        head
        + f"products, mean of {seeds} seeds. V-measure.\n\n{about}\n\n"
        + "\n".join(lines)
        + "\n"
    )


def as_csv(points: list[tuple[str, int, float, float]]) -> str:
    """The same as CSV."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(["embedding", "level", "noise", "v_measure"])
    writer.writerows([name, level, amount, f"{v:.4f}"] for name, level, amount, v in points)
    return out.getvalue()


def plot(points: list[tuple[str, int, float, float]], path: Path) -> None:
    """V-measure against noise, a panel per embedding, a line per level."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9, 4), layout="constrained")
    names = list(dict.fromkeys(name for name, *_ in points))
    panels = figure.subplots(1, len(names), sharey=True, squeeze=False)[0]
    for axes, wanted in zip(panels, names, strict=True):
        for level in LEVELS:
            line = [(x, y) for name, at, x, y in points if (name, at) == (wanted, level)]
            axes.plot(*zip(*line, strict=True), marker="o", label=f"level {level}")
        axes.axhline(0.9, color="grey", lw=0.8, ls=":")
        axes.set(xlabel="noise", ylabel="V-measure", title=wanted, ylim=(0, 1.02))
        axes.legend()
    figure.savefig(path, dpi=110)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=3000)
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--noise", type=float, nargs="+", default=list(NOISE))
    parser.add_argument("--out", type=Path, default=Path("docs/study"))
    args = parser.parse_args()
    points = curves(args.rows, args.noise, args.seeds)
    stem = args.out / "recovery"
    write_text(page(points, args.rows, args.seeds), stem.with_suffix(".md"))
    write_text(as_csv(points), stem.with_suffix(".csv"))
    plot(points, stem.with_suffix(".png"))


if __name__ == "__main__":
    main()
