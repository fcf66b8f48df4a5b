"""What a hierarchy is worth, per level (paper, Tables 5 and 6, Figure 2; issue 4).

In:  codes (N, L), the catalog, the attributes to look at.
Out: one JSON-able dictionary; a text table and a plot of it; a check against floors.
"""

from __future__ import annotations

import math
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from fashion_rq_bench.builders.hierarchy.clusters import (
    HierarchyConfig,
    Ints,
    code_matrix,
    hierarchy,
    majority,
    prefix_groups,
)
from fashion_rq_bench.builders.rqvae.config import RQVAEConfig, naming
from fashion_rq_bench.builders.rqvae.labels import attribute_codes, joined_codes
from fashion_rq_bench.errors import QualityError
from fashion_rq_bench.schema.domain import domain
from fashion_rq_bench.support.files import write_json, write_text
from fashion_rq_bench.support.optional import require

__all__ = ["check_floors", "diagnose", "nmi", "plot", "table", "write_diagnostics"]


def diagnose(
    semantic_ids: pa.Table,
    catalog: pa.Table,
    config: HierarchyConfig | None = None,
    attributes: tuple[str, ...] | None = None,
) -> dict[str, Any]:
    """Diagnostics of semantic IDs.

    Args:
        semantic_ids: N rows of ``SEMANTIC_IDS``, in the catalog's order.
        catalog: N products.
        config: what qualifies (size, purity of the article type).
        attributes: plain catalog columns to measure, by default the domain's, if present.

    Returns:
        ``levels``: per level the statistics of :func:`hierarchy` plus, per attribute, ``purity``
        and ``mean_purity`` over all and over qualifying clusters, ``labelled`` (share of products
        with a value) and ``nmi`` between prefix and value; ``split``: share of the combinations of
        article type, colour and person with at least ``min_size`` products that lie in more than
        one prefix, and the mean number of prefixes per such combination. ``collisions``: share of
        products whose whole semantic ID another product has. Undefined is NaN (null in JSON).
    """
    config = config or HierarchyConfig()
    built = hierarchy(semantic_ids, catalog, config)
    codes = code_matrix(semantic_ids, catalog)
    wanted = domain().plain("measured") if attributes is None else attributes
    labels = {n: attribute_codes(catalog, n) for n in wanted if n in catalog.column_names}
    combination = _combination(catalog)
    levels = []
    for statistics in built.statistics:
        level = statistics["level"]
        group = prefix_groups(codes, level)[1]
        rows = built.clusters.filter(pa.array(built.clusters["level"].to_numpy() == level))
        keep = rows["qualifying"].to_numpy(zero_copy_only=False)
        per_attribute = {name: _attribute(group, y, keep) for name, y in labels.items()}
        split = _split(group, combination, config.min_size)
        levels.append({**statistics, "attributes": per_attribute, "split": split})
    _, leaf = prefix_groups(codes, codes.shape[1])
    shared = np.bincount(leaf)[leaf] > 1
    return {"products": len(catalog), "levels": levels, "collisions": float(shared.mean())}


def _combination(catalog: pa.Table) -> Ints:
    parts = [part for part in naming().split("+") if part in catalog.column_names]
    return joined_codes(catalog, "+".join(parts))


def _attribute(
    group: Ints, labels: Ints, keep: np.ndarray[Any, np.dtype[np.bool_]]
) -> dict[str, Any]:
    labelled, best, _ = majority(group, labels, len(keep))
    return {
        "labelled": float((labels >= 0).mean()),
        "nmi": nmi(group, labels),
        "all": _purity(labelled, best),
        "qualifying": _purity(labelled[keep], best[keep]),
    }


def _purity(labelled: Ints, best: Ints) -> dict[str, float]:
    known = labelled > 0
    if not known.any():
        return {"purity": math.nan, "mean_purity": math.nan}
    return {
        "purity": float(best.sum() / labelled.sum()),
        "mean_purity": float((best[known] / labelled[known]).mean()),
    }


def nmi(group: Ints, labels: Ints) -> float:
    """Normalised mutual information of prefix and value over labelled items, in [0, 1].

    Arithmetic normalisation, as in scikit-learn. NaN where no item is labelled; 1 where both have a
    single value.
    """
    known = labels >= 0
    if not known.any():
        return math.nan
    a, b = group[known], labels[known]
    joint = _entropy(np.unique(a * (int(b.max()) + 1) + b, return_counts=True)[1])
    first, second = (_entropy(np.bincount(side)) for side in (a, b))
    if first + second == 0:
        return 1.0
    return float(max(0.0, 2 * (first + second - joint) / (first + second)))


def _entropy(counts: Ints) -> float:
    share = counts[counts > 0] / counts.sum()
    return float(-(share * np.log(share)).sum())


def _split(group: Ints, labels: Ints, min_size: int) -> dict[str, float]:
    """How far equal products are apart: combinations spread over several prefixes."""
    known = labels >= 0
    if not known.any():
        return {"combinations": 0, "split": math.nan, "prefixes_per_combination": math.nan}
    sizes = np.bincount(labels[known])
    pairs = np.unique(labels[known] * (int(group.max()) + 1) + group[known])
    spread = np.bincount(pairs // (int(group.max()) + 1), minlength=len(sizes))
    frequent = sizes >= min_size
    if not frequent.any():
        return {"combinations": 0, "split": math.nan, "prefixes_per_combination": math.nan}
    return {
        "combinations": int(frequent.sum()),
        "split": float((spread[frequent] > 1).mean()),
        "prefixes_per_combination": float(spread[frequent].mean()),
    }


def check_floors(found: dict[str, Any], config: RQVAEConfig) -> None:
    """Refuse a hierarchy that is collapsed or covers too little.

    Raises:
        QualityError: naming the level, the figure, the floor and what to change.
    """
    for level in found["levels"]:
        floor = config.min_perplexity * config.codebook_size
        if level["perplexity"] < floor:
            raise QualityError(
                f"The codes of level {level['level']} collapsed: perplexity "
                f"{level['perplexity']:.1f} of {config.codebook_size}, the floor is {floor:.1f}.",
                fix="Lower exclusivity for that level, train longer, or lower codebook_size; "
                "min_perplexity sets the floor.",
            )
    coverage = found["levels"][-1]["coverage"]
    if coverage < config.min_coverage:
        raise QualityError(
            f"Only {coverage:.1%} of the products lie in qualifying leaves, the floor is "
            f"{config.min_coverage:.0%}.",
            fix="Lower codebook_size (larger leaves) or raise exclusivity (purer ones); "
            "min_coverage sets the floor.",
        )


def write_diagnostics(found: dict[str, Any], folder: Path) -> None:
    """Write ``diagnostics.json`` and ``.txt`` and, where matplotlib is there, ``.png``."""
    write_json(found, folder / "diagnostics.json")
    write_text(table(found) + "\n", folder / "diagnostics.txt")
    if find_spec("matplotlib"):
        plot(found, folder / "diagnostics.png")


def table(found: dict[str, Any]) -> str:
    """Diagnostics as plain text: clusters and purity per level, then spread, then collisions.

    The first block's purities are over qualifying clusters, weighted by products. The second has
    type purity over all clusters and its plain mean over qualifying ones, NMI of prefix and value,
    and how many combinations of type, colour and person lie in several prefixes.
    """
    levels = found["levels"]
    shown = [name for name in domain().plain("tabled") if name in levels[0]["attributes"]]
    sizes = [
        "level",
        "clusters",
        "mean",
        "range",
        "qualifying",
        "mean",
        "coverage",
        "codes",
        "perpl.",
    ]
    nmis = [f"NMI {name}" for name in shown]
    quality = [[*sizes, *shown], *(_quality(level, shown) for level in levels)]
    spread = [
        ["level", "type, all", "plain mean", *nmis, "split", "prefixes/combination"],
        *(_spread(level, shown) for level in levels),
    ]
    collisions = f"{found['collisions']:.1%} of products share their semantic ID with another."
    return "\n\n".join((_aligned(quality), _aligned(spread), collisions))


def _quality(level: dict[str, Any], shown: list[str]) -> list[str]:
    every, kept = level["all"], level["qualifying"]
    return [
        str(level["level"]),
        str(every["clusters"]),
        f"{every['mean_size']:.1f}",
        f"{every['smallest']}-{every['largest']}",
        str(kept["clusters"]),
        f"{kept['mean_size']:.1f}",
        f"{level['coverage']:.3f}",
        str(level["codes_used"]),
        f"{level['perplexity']:.1f}",
        *(f"{level['attributes'][name]['qualifying']['purity']:.3f}" for name in shown),
    ]


def _spread(level: dict[str, Any], shown: list[str]) -> list[str]:
    split = level["split"]
    return [
        str(level["level"]),
        f"{level['all']['purity']:.3f}",
        f"{level['qualifying']['mean_purity']:.3f}",
        *(f"{level['attributes'][name]['nmi']:.3f}" for name in shown),
        f"{split['split']:.3f}",
        f"{split['prefixes_per_combination']:.2f}",
    ]


def _aligned(lines: list[list[str]]) -> str:
    widths = [max(len(line[i]) for line in lines) for i in range(len(lines[0]))]
    return "\n".join(
        "  ".join(cell.rjust(width) for cell, width in zip(line, widths, strict=True))
        for line in lines
    )


def plot(found: dict[str, Any], path: Path) -> None:
    """By level, as an image: purity over qualifying clusters and coverage; NMI and splits.

    Raises:
        MissingDependencyError: without matplotlib (extra ``report``).
    """
    figures = require("matplotlib.figure", "report")
    figure = figures.Figure(figsize=(11, 4), layout="constrained")
    left, right = figure.subplots(1, 2)
    levels = found["levels"]
    numbers = [level["level"] for level in levels]

    def line(axes: Any, values: list[float], label: str, style: str = "-") -> None:
        axes.plot(numbers, values, style, marker="o", label=label)

    for name in levels[0]["attributes"]:
        attributes = [level["attributes"][name] for level in levels]
        line(left, [a["qualifying"]["purity"] for a in attributes], f"purity of {name}")
        line(right, [a["nmi"] for a in attributes], f"NMI with {name}")
    line(left, [level["coverage"] for level in levels], "coverage", "k--")
    line(right, [level["split"]["split"] for level in levels], "combinations split", "k--")
    for axes in (left, right):
        axes.set(xlabel="level", ylabel="share", ylim=(0, 1.02), xticks=numbers)
        axes.legend(fontsize="xx-small")
    figure.savefig(path)
