"""Plots of the study. In: results per setting and seed. Out: image files."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from .page import Rows, interval, values

__all__ = ["front"]


_WITH_LEVELS = 6
"""Rows whose coverage is drawn by level; more lines cannot be told apart."""


def front(rows: Rows, path: Path) -> None:
    """Leaf coverage against leaf purity of type and of colour, and coverage by level."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(15, 5), layout="constrained")
    type_axes, color_axes, level_axes = figure.subplots(1, 3)
    for axes, name in ((type_axes, "article_type"), (color_axes, "base_color")):
        for setting in rows:
            x, y = (
                interval(values(rows, setting, "coverage_3")),
                interval(values(rows, setting, f"{name}_3")),
            )
            axes.errorbar(x[0], y[0], xerr=_half(x), yerr=_half(y), marker="o", ms=4, lw=0.8)
            axes.annotate(
                setting, (x[0], y[0]), fontsize=7, xytext=(4, 4), textcoords="offset points"
            )
        axes.margins(0.25, 0.1)
        axes.set(xlabel="leaf coverage", ylabel=f"leaf purity of {name}")
    levels = (1, 2, 3)
    for setting in list(rows)[:_WITH_LEVELS]:
        found = [interval(values(rows, setting, f"coverage_{n}")) for n in levels]
        means, halves = np.array(found).T
        level_axes.errorbar(levels, means, yerr=np.nan_to_num(halves), marker="o", label=setting)
    level_axes.set(xlabel="level", ylabel="coverage", xticks=levels)
    if level_axes.get_legend_handles_labels()[0]:
        level_axes.legend(fontsize="x-small")
    figure.savefig(path, dpi=110)


def _half(found: tuple[float, float]) -> float:
    return 0.0 if np.isnan(found[1]) else found[1]
