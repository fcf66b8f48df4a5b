"""The study's table and plot (paper, Table 4).

In:  an :class:`~fashion_rq_bench.people.user_study.Analysis`.
Out: Markdown, and a picture of means with their intervals.
"""

from __future__ import annotations

import math
from pathlib import Path

from fashion_rq_bench.errors import ConfigError
from fashion_rq_bench.people.user_study import HIGHEST, LOWEST, Analysis, ScaleResult
from fashion_rq_bench.support.files import atomic_path
from fashion_rq_bench.support.optional import require

__all__ = ["PLOT_FORMATS", "plot_study", "study_table"]


_SHOWN, _TOLD = 10, 40
PLOT_FORMATS = (".png", ".svg", ".pdf")


def study_table(analysis: Analysis) -> str:
    """The analysis as Markdown; a number that is not defined is a dash."""
    lines = [
        f"{analysis.n_raters} raters, {analysis.n_queries} queries; "
        f"{len(analysis.unparseable)} unparseable, {analysis.missing} missing, "
        f"{analysis.unknown} unknown answers.",
        *_unparseable_lines(analysis.unparseable),
        "",
    ]
    for one in analysis.scales:
        lines += [*_scale_lines(one), *_flag_lines(analysis.flagged[one.scale]), ""]
    return "\n".join(lines)


def _unparseable_lines(answers: tuple[tuple[str, str, str, str], ...]) -> list[str]:
    """Who answered what, so that someone can ask; a rater's text stands as it came, but short."""
    if not answers:
        return []
    told = [
        f"{_cell(rater)}, {hidden}, {scale}: {_cell(given)[:_TOLD]!r}"
        for rater, hidden, scale, given in answers[:_SHOWN]
    ]
    more = len(answers) - _SHOWN
    return ["", "Unparseable: " + "; ".join(told) + (f"; and {more} more." if more > 0 else ".")]


def _scale_lines(one: ScaleResult) -> list[str]:
    lines = [f"### {one.scale}", "", "| source | n | mean | interval |", "|---|---|---|---|"]
    for m in one.means:
        cells = (_cell(m.source), str(m.n), _number(m.mean), f"{_number(m.low)}, {_number(m.high)}")
        lines.append(f"| {' | '.join(cells)} |")
    lines += [
        "",
        f"Cronbach's α {_number(one.alpha, 3)} over {one.alpha_complete} complete rows "
        f"({one.alpha_dropped} dropped). Kruskal–Wallis H {_number(one.h)}, p {_p(one.p_value)}, "
        f"ε² {_number(one.epsilon_squared)}.",
        "",
        "| pair | U | p | p (Holm) | rank-biserial |",
        "|---|---|---|---|---|",
    ]
    for c in one.comparisons:
        pair = f"{_cell(c.first)} – {_cell(c.second)}"
        mark = "*" if c.significant else ""
        numbers = f"{_number(c.u, 1)} | {_p(c.p_value)} | {_p(c.p_holm)}{mark}"
        lines.append(f"| {pair} | {numbers} | {_number(c.effect)} |")
    return lines


def _flag_lines(names: tuple[str, ...]) -> list[str]:
    if not names:
        return []
    return ["", "Gave every query the same rating: " + ", ".join(map(_cell, names)) + "."]


def _cell(text: str) -> str:
    return " ".join(text.replace("|", "\\|").split())


def _number(value: float, digits: int = 2) -> str:
    return "–" if math.isnan(value) else f"{value:.{digits}f}"


def _p(value: float) -> str:
    return "–" if math.isnan(value) else "< .001" if value < 0.001 else f"{value:.3f}"


def plot_study(analysis: Analysis, path: Path) -> None:
    """Draw each source's mean and interval, one panel per scale; the suffix gives the format.

    Raises:
        ConfigError: if the suffix is none of :data:`PLOT_FORMATS`.
        MissingDependencyError: without matplotlib.
    """
    if path.suffix.lower() not in PLOT_FORMATS:
        raise ConfigError("A plot has another suffix.", given=path.name, allowed=PLOT_FORMATS)
    figure_module = require("matplotlib.figure", "report")
    figure = figure_module.Figure(figsize=(4 * len(analysis.scales), 3), layout="constrained")
    panels = figure.subplots(1, len(analysis.scales), sharex=True, squeeze=False)[0]
    for panel, one in zip(panels, analysis.scales, strict=True):
        names = [m.source for m in one.means]
        means = [m.mean for m in one.means]
        reach = [[m.mean - m.low for m in one.means], [m.high - m.mean for m in one.means]]
        panel.errorbar(means, range(len(names)), xerr=reach, fmt="o", capsize=4, color="black")
        panel.set_yticks(range(len(names)), names, parse_math=False)
        panel.set_xlim(LOWEST, HIGHEST)
        panel.invert_yaxis()
        panel.set_title(one.scale.replace("_", " "))
    with atomic_path(path) as temporary:
        figure.savefig(temporary, format=path.suffix.lstrip(".").lower(), dpi=150)
