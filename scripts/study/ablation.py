"""Studies of the quantiser on a real catalog: seeds, λ, K, supervision, embeddings (issue 4).

In:  a catalog (Kaggle folder or Parquet), an encoder's name, seeds.
Out: one JSON line per run in ``WORK/ablation-ENCODER.jsonl`` (runs that are there are not
     repeated), and from it a page of tables, means over seeds with 95% intervals, and a plot.

Products are embedded from title, category path, gender, colour, usage and season: descriptions, on
a quarter of the products, would split them from the rest.

    python scripts/study/ablation.py --catalog ../shared/data/myntra-catalog.parquet
"""

from __future__ import annotations

import argparse
import json
import math
import time
from collections.abc import Callable
from dataclasses import replace
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import torch

from fashion_rq_bench._io import to_json, write_text
from fashion_rq_bench.builders.catalog import read_catalog
from fashion_rq_bench.builders.catalog.text import product_text
from fashion_rq_bench.builders.embedding import CORE_TEXT
from fashion_rq_bench.builders.rqvae import RQVAEConfig, assign, diagnose, label_columns, learn
from fashion_rq_bench.builders.rqvae.kmeans import residual_kmeans
from fashion_rq_bench.builders.rqvae.model import nearest_codes
from fashion_rq_bench.retrievers.encoders import EncoderConfig, load_text_encoder
from fashion_rq_bench.schema import SEMANTIC_IDS

Vectors = npt.NDArray[np.float32]
Codes = npt.NDArray[np.uint16]

DEFAULT = RQVAEConfig(items_per_prefix=0)
NONE: tuple[str, ...] = ()


def _without(level: int) -> RQVAEConfig:
    labels = tuple(NONE if i == level else names for i, names in enumerate(DEFAULT.labels))
    return replace(DEFAULT, labels=labels)


SETTINGS: dict[str, RQVAEConfig | None] = {
    "default": DEFAULT,
    "residual k-means": None,
    "λ = 0": replace(DEFAULT, exclusivity=(0.0,)),
    "λ = 0.01": replace(DEFAULT, exclusivity=(0.01,)),
    "λ = 0.05": replace(DEFAULT, exclusivity=(0.05,)),
    "λ = 0.2": replace(DEFAULT, exclusivity=(0.2,)),
    "K = 128": replace(DEFAULT, codebook_size=128),
    "K = 256": replace(DEFAULT, codebook_size=256),
    "no labels at level 1": _without(0),
    "no labels at level 2": _without(1),
    "no labels at level 3": _without(2),
    "paper": replace(DEFAULT, recipe="paper"),
    "paper's encoder": replace(DEFAULT, hidden=(512, 256, 128)),
    "codebook gradient only": replace(DEFAULT, gradient="codebook"),
    "codebooks placed once": replace(DEFAULT, restarts=()),
}
"""The rows of the tables, most wanted first; None is plain residual k-means."""

ATTRIBUTES = ("article_type", "base_color", "gender", "usage")


def embedded(catalog: pa.Table, encoder: str, work: Path) -> Vectors:
    """Vectors of the products' core text, float16 as between stages; kept in ``work``."""
    path = work / f"vectors-{encoder}.npy"
    if not path.exists():
        text = product_text(catalog, CORE_TEXT).to_pylist()
        unique = sorted(set(text))
        model = load_text_encoder(encoder, EncoderConfig(), corpus=unique)
        order = np.searchsorted(unique, text)
        np.save(path, model.encode(unique)[order].astype(np.float16))
    return np.load(path).astype(np.float32)


def baseline(vectors: Vectors, seed: int) -> Codes:
    """Residual k-means on the embedding itself."""
    left, codes = torch.from_numpy(vectors), []
    for book in residual_kmeans(left, DEFAULT.levels, DEFAULT.codebook_size, seed):
        code = nearest_codes(left, book)
        left = left - book[code]
        codes.append(code)
    return torch.stack(codes, 1).numpy().astype(np.uint16)


def ids_table(catalog: pa.Table, codes: Codes) -> pa.Table:
    offsets = np.arange(len(codes) + 1, dtype=np.int32) * codes.shape[1]
    lists = pa.ListArray.from_arrays(offsets, codes.ravel())
    return pa.table([catalog["product_id"].combine_chunks(), lists], schema=SEMANTIC_IDS)


def run(
    catalog: pa.Table, vectors: Vectors, config: RQVAEConfig | None, seed: int
) -> tuple[dict[str, Any], Codes]:
    """Diagnostics and codes of one setting and seed."""
    start = time.perf_counter()
    error = math.nan
    if config is None:
        codes = baseline(vectors, seed)
    else:
        config = replace(config, seed=seed)
        model = learn(vectors, label_columns(catalog, config.resolved().labels), config)
        codes = assign(model, vectors)
        error = model.history[-1]["held_out_error"]
    found = diagnose(ids_table(catalog, codes), catalog)
    return {**found, "held_out_error": error, "seconds": time.perf_counter() - start}, codes


def figures(found: dict[str, Any]) -> dict[str, float]:
    """The numbers that the tables show."""
    out = {"held_out_error": found["held_out_error"], "seconds": found["seconds"]}
    for level in found["levels"]:
        number = level["level"]
        out |= {
            f"clusters_{number}": level["all"]["clusters"],
            f"mean_size_{number}": level["all"]["mean_size"],
            f"qualifying_{number}": level["qualifying"]["clusters"],
            f"qualifying_size_{number}": level["qualifying"]["mean_size"],
            f"coverage_{number}": level["coverage"],
            f"codes_{number}": level["codes_used"],
            f"perplexity_{number}": level["perplexity"],
        }
        for name in ATTRIBUTES:
            attribute = level["attributes"][name]
            out[f"{name}_{number}"] = attribute["qualifying"]["purity"]
            out[f"{name}_all_{number}"] = attribute["all"]["purity"]
            out[f"{name}_nmi_{number}"] = attribute["nmi"]
    return {name: math.nan if value is None else float(value) for name, value in out.items()}


def interval(values: list[float]) -> tuple[float, float]:
    """Mean and half-width of the 95% t interval (NaN for a single value)."""
    from scipy import stats

    if len(values) < 2:
        return values[0], math.nan
    half = stats.t.ppf(0.975, len(values) - 1) * np.std(values, ddof=1) / math.sqrt(len(values))
    return float(np.mean(values)), float(half)


def shown(values: list[float], digits: int = 3) -> str:
    mean, half = interval(values)
    if math.isnan(mean):
        return "–"
    text = f"{mean:.{digits}f}"
    return text if math.isnan(half) else f"{text} ± {half:.{digits}f}"


Rows = dict[str, dict[int, dict[str, float]]]


def table(rows: Rows, columns: dict[str, tuple[str, int]]) -> str:
    """Markdown: a row per setting, its columns' means and intervals over seeds."""
    lines = ["| setting | seeds | " + " | ".join(columns) + " |", "|---" * (len(columns) + 2) + "|"]
    for name, seeds in rows.items():
        cells = [
            shown([f[key] for f in seeds.values()], digits) for key, digits in columns.values()
        ]
        lines.append(f"| {name} | {len(seeds)} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def per_level(rows: Rows, level: int) -> str:
    columns = {
        "qualifying": (f"qualifying_{level}", 0),
        "coverage": (f"coverage_{level}", 3),
        "type": (f"article_type_{level}", 3),
        "type, all": (f"article_type_all_{level}", 3),
        "colour": (f"base_color_{level}", 3),
        "gender": (f"gender_{level}", 3),
        "usage": (f"usage_{level}", 3),
        "NMI type": (f"article_type_nmi_{level}", 3),
        "clusters": (f"clusters_{level}", 0),
        "mean size": (f"mean_size_{level}", 1),
        "of qualifying": (f"qualifying_size_{level}", 1),
        "codes": (f"codes_{level}", 0),
        "perplexity": (f"perplexity_{level}", 1),
    }
    return table(rows, columns)


def paired(rows: Rows, one: str, other: str) -> str:
    """Differences between two settings, paired by seed."""
    seeds = sorted(set(rows.get(one, {})) & set(rows.get(other, {})))
    if len(seeds) < 2:
        return ""
    lines = [f"| {one} minus {other} | level 1 | level 2 | level 3 |", "|---|---|---|---|"]
    for label, key in (
        ("purity of type", "article_type"),
        ("coverage", "coverage"),
        ("purity of colour", "base_color"),
        ("NMI of type", "article_type_nmi"),
        ("NMI of colour", "base_color_nmi"),
    ):
        cells = []
        for level in (1, 2, 3):
            name = f"{key}_{level}"
            cells.append(shown([rows[one][s][name] - rows[other][s][name] for s in seeds]))
        lines.append(f"| {label} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def agreement(codes: dict[int, Codes]) -> str:
    """Adjusted Rand index between seeds, per level."""
    from sklearn.metrics import adjusted_rand_score

    if len(codes) < 2:
        return ""
    cells = []
    for level in (1, 2, 3):
        groups = {
            seed: np.unique(c[:, :level], axis=0, return_inverse=True)[1].ravel()
            for seed, c in codes.items()
        }
        cells.append(
            shown([adjusted_rand_score(a, b) for a, b in combinations(groups.values(), 2)])
        )
    return "Adjusted Rand index between seeds, levels 1 / 2 / 3: " + " / ".join(cells) + "."


def report(rows: Rows, codes: dict[int, Codes], out: Path, encoder: str) -> None:
    parts = [
        f"# The quantiser's settings, compared ({encoder})",
        "Made by `scripts/study/ablation.py`. Mean over seeds ± half-width of the 95% t interval. "
        "Purity over qualifying clusters (size ≥ 5, type purity ≥ .80) unless it says *all*.",
    ]
    for level in (3, 2, 1):
        parts += [f"## Level {level}", per_level(rows, level)]
    errors = table(rows, {"held-out error": ("held_out_error", 3), "seconds": ("seconds", 0)})
    parts += ["## Held-out reconstruction error (of vectors of length 1) and time", errors]
    parts += ["## What the exclusivity loss adds, paired by seed", paired(rows, "default", "λ = 0")]
    parts += ["## How much seeds agree", agreement(codes)]
    write_text("\n\n".join(part for part in parts if part) + "\n", out / f"ablation-{encoder}.md")
    plot(rows, out / f"ablation-{encoder}.png")


def plot(rows: Rows, path: Path) -> None:
    """Leaf coverage against leaf purity of type and colour."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9, 4.5), layout="constrained")
    for axes, name in zip(figure.subplots(1, 2), ("article_type", "base_color"), strict=True):
        for setting, seeds in rows.items():
            x = np.mean([f["coverage_3"] for f in seeds.values()])
            y = np.mean([f[f"{name}_3"] for f in seeds.values()])
            axes.scatter(x, y, s=18)
            axes.annotate(setting, (x, y), fontsize=7, xytext=(3, 3), textcoords="offset points")
        axes.set(xlabel="leaf coverage", ylabel=f"leaf purity of {name}")
    figure.savefig(path, dpi=120)


def read(path: Path) -> Rows:
    rows: Rows = {}
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    for line in lines:
        row = json.loads(line)
        values = {k: math.nan if v is None else v for k, v in row["figures"].items()}
        rows.setdefault(row["setting"], {})[row["seed"]] = values
    order = list(SETTINGS)
    return dict(sorted(rows.items(), key=lambda item: order.index(item[0])))


def study(args: argparse.Namespace, done: Callable[[Rows, dict[int, Codes]], None]) -> None:
    catalog = read_catalog(args.catalog).table
    vectors = embedded(catalog, args.encoder, args.work)
    log = args.work / f"ablation-{args.encoder}.jsonl"
    codes: dict[int, Codes] = {}
    wanted = [(s, n) for s in range(args.seeds) for n in (args.settings or SETTINGS)]
    for seed, name in sorted(wanted, key=lambda pair: (list(SETTINGS).index(pair[1]) > 2, pair[0])):
        saved = args.work / f"codes-{args.encoder}-{seed}.npy"
        if seed not in read(log).get(name, {}):
            found, result = run(catalog, vectors, SETTINGS[name], seed)
            with log.open("a", encoding="utf-8") as stream:
                row = {"setting": name, "seed": seed, "figures": figures(found)}
                stream.write(to_json(row, indent=None) + "\n")
            if name == "default":
                np.save(saved, result)
        if name == "default":
            codes[seed] = np.load(saved)
        done(read(log), codes)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--catalog", default="../shared/data/myntra-catalog.parquet")
    parser.add_argument("--encoder", default="lsa")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--settings", nargs="*", choices=list(SETTINGS), default=None)
    parser.add_argument("--out", type=Path, default=Path("docs/study"))
    parser.add_argument("--work", type=Path, default=Path("out/study"))
    args = parser.parse_args()
    args.work.mkdir(parents=True, exist_ok=True)
    study(args, lambda rows, codes: report(rows, codes, args.out, args.encoder))


if __name__ == "__main__":
    main()
