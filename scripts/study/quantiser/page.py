"""The study as pages: tables (Markdown and CSV) of means over seeds with 95% intervals.

In:  results per setting and seed. Out: text.
"""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Mapping, Sequence
from itertools import combinations

import numpy as np

from .runs import ATTRIBUTES, Result, same_groups
from .settings import NO_LOSS, PAPER

__all__ = ["Rows", "as_csv", "interval", "page", "values"]

Rows = Mapping[str, Mapping[int, Result]]
"""Setting and seed to result."""

Columns = Mapping[str, tuple[str, int]]
"""A column's title to its figure's name and digits."""

LEVELS = (1, 2, 3)


def interval(numbers: Sequence[float]) -> tuple[float, float]:
    """Mean and half-width of the 95% t interval (NaN for a single value)."""
    from scipy import stats

    if len(numbers) < 2:
        return float(numbers[0]), math.nan
    half = stats.t.ppf(0.975, len(numbers) - 1) * np.std(numbers, ddof=1) / math.sqrt(len(numbers))
    return float(np.mean(numbers)), float(half)


def values(rows: Rows, setting: str, figure: str) -> list[float]:
    """One figure over a setting's seeds, those that have it."""
    found = (result.figures.get(figure, math.nan) for result in rows[setting].values())
    return [value for value in found if not math.isnan(value)]


def _shown(numbers: Sequence[float], digits: int = 3) -> str:
    if not numbers:
        return "–"
    mean, half = interval(numbers)
    text = f"{mean:.{digits}f}"
    return text if math.isnan(half) else f"{text} ± {half:.{digits}f}"


def _grid(head: Sequence[str], lines: Sequence[Sequence[str]]) -> str:
    rule = ["---"] * len(head)
    return "\n".join("| " + " | ".join(line) + " |" for line in (head, rule, *lines))


def _table(rows: Rows, columns: Columns) -> str:
    lines = [
        [name, str(len(seeds)), *(_shown(values(rows, name, k), n) for k, n in columns.values())]
        for name, seeds in rows.items()
    ]
    return _grid(["setting", "seeds", *columns], lines)


def _quality(level: int) -> Columns:
    return {
        "qualifying": (f"qualifying_{level}", 0),
        "coverage": (f"coverage_{level}", 3),
        "type": (f"article_type_{level}", 3),
        "colour": (f"base_color_{level}", 3),
        "gender": (f"gender_{level}", 3),
        "usage": (f"usage_{level}", 3),
        "codes": (f"codes_{level}", 1),
        "perplexity": (f"perplexity_{level}", 1),
        "held-out error": (f"error_{level}", 3),
    }


def _spread(level: int) -> Columns:
    return {
        "type, all": (f"article_type_all_{level}", 3),
        "colour, all": (f"base_color_all_{level}", 3),
        "NMI type": (f"article_type_nmi_{level}", 3),
        "NMI colour": (f"base_color_nmi_{level}", 3),
        "clusters": (f"clusters_{level}", 0),
        "mean size": (f"mean_size_{level}", 1),
        "of qualifying": (f"qualifying_size_{level}", 1),
        "largest": (f"largest_{level}", 0),
        "combinations split": (f"split_{level}", 3),
        "prefixes per combination": (f"prefixes_per_combination_{level}", 2),
    }


DOWNSTREAM: Columns = {
    "label noise": ("label_noise", 4),
    "equal match": ("equal_match", 4),
    "oracle T1": ("oracle_t1", 3),
    "oracle T2": ("oracle_t2", 3),
    "oracle T3": ("oracle_t3", 3),
    "exact satisfied": ("exact_satisfied", 3),
    "sibling satisfied": ("sibling_satisfied", 3),
}


def _paired(rows: Rows, one: str, other: str) -> str:
    """Differences between two settings, paired by seed."""
    seeds = sorted(set(rows.get(one, {})) & set(rows.get(other, {})))
    if len(seeds) < 2:
        return ""

    def cell(figure: str, digits: int = 3) -> str:
        pairs = [(rows[one][s].figures, rows[other][s].figures) for s in seeds]
        return _shown([a[figure] - b[figure] for a, b in pairs if figure in a], digits)

    titles = {
        "coverage": "coverage",
        "purity of type": "article_type",
        "purity of type, all clusters": "article_type_all",
        "purity of colour": "base_color",
        "purity of gender": "gender",
        "NMI of type": "article_type_nmi",
        "NMI of colour": "base_color_nmi",
        "held-out error": "error",
    }
    lines = [
        [title, *(cell(f"{name}_{level}") for level in LEVELS)] for title, name in titles.items()
    ]
    below = [[title, cell(name, digits)] for title, (name, digits) in DOWNSTREAM.items()]
    head = f"{one} minus {other}, {len(seeds)} seeds"
    parts = [_grid([head, *(f"level {n}" for n in LEVELS)], lines)]
    if "label_noise" in rows[one][seeds[0]].figures:
        parts.append(_grid([head, "difference"], below))
    return "\n\n".join(parts)


def _beside_the_paper(rows: Rows) -> str:
    """The paper's Tables 5 and 6 beside ours, small leaves closed and open."""
    head = ["", "type", "colour", "gender", "usage", "coverage", "clusters, levels 1 / 2 / 3"]
    lines = []
    for name, printed in PAPER.items():
        columns = [printed[key] for key in ("type", "colour", "gender", "usage")]
        lines.append([f"paper, {name}", *columns, "–", printed["clusters"]])
        plain = "default" if name == "K = 64" else name
        opened = "small leaves open" if name == "K = 64" else f"{name}, small leaves open"
        for title, setting in ((name, plain), (f"{name}, small leaves open", opened)):
            if setting in rows:
                purity = [_shown(values(rows, setting, f"{a}_3")) for a in ATTRIBUTES]
                covered = _shown(values(rows, setting, "coverage_3"))
                clusters = [_shown(values(rows, setting, f"clusters_{n}"), 0) for n in LEVELS]
                lines.append([f"ours, {title}", *purity, covered, " / ".join(clusters)])
    return _grid(head, lines)


def _agreement(rows: Rows) -> str:
    """Adjusted Rand index between seeds, per level."""
    lines = []
    for name, seeds in rows.items():
        pairs = [same_groups(a.codes, b.codes) for a, b in combinations(seeds.values(), 2)]
        if len(seeds) == 5 and pairs:
            lines.append([name, *(_shown(column) for column in zip(*pairs, strict=True))])
    return _grid(["setting", *(f"level {n}" for n in LEVELS)], lines) if lines else ""


def page(rows: Rows, encoder: str, products: int, labels: str) -> str:
    """The whole page in Markdown."""
    measured = {name: seeds for name, seeds in rows.items() if values(rows, name, "label_noise")}
    parts = [
        f"# The quantiser's settings, compared ({encoder})",
        f"Made by `scripts/study/ablation.py` on {products:,} products. Mean over seeds ± "
        "half-width of the 95% t interval. Purity over qualifying clusters (size ≥ 5, type purity "
        f"≥ .80) unless it says *all*. {labels} The held-out error is the squared distance between "
        "products of length 1 kept from training and their reconstruction from the codes so far. "
        "K-means reconstructs in the embedding itself.",
    ]
    for level in reversed(LEVELS):
        parts += [
            f"## Level {level}",
            _table(rows, _quality(level)),
            _table(rows, _spread(level)),
        ]
    if any(name.startswith("K = ") for name in rows):
        parts += ["## Beside the paper's Tables 5 and 6", _beside_the_paper(rows)]
    if measured:
        parts += [
            "## Downstream: T1 pools of 200 leaves",
            "Label noise: share of pairs of products in one pool, of different grades, whose lower "
            "grade has the higher match R(q, p). The oracle ranks by R(q, p).",
            _table(measured, DOWNSTREAM),
        ]
    if paired := _paired(rows, "default", NO_LOSS):
        parts += ["## What the exclusivity loss adds", paired]
    if agreement := _agreement(rows):
        parts += ["## Adjusted Rand index between seeds", agreement]
    parts += ["## Seconds of one thread", _table(rows, {"seconds": ("seconds", 0)})]
    return "\n\n".join(parts) + "\n"


def as_csv(rows: Rows) -> str:
    """Every figure of every run: setting, seed, figure, value."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(["setting", "seed", "figure", "value"])
    for setting, seeds in rows.items():
        for seed, result in seeds.items():
            for name, value in sorted(result.figures.items()):
                writer.writerow([setting, seed, name, f"{value:.6g}"])
    return out.getvalue()
