"""The user study: its parts, and the analysis of what raters answer (paper, section 9).

In:  a :class:`Study` and the :class:`Ratings` of its raters.
Out: :class:`Analysis`: means with intervals, Cronbach's α, omnibus and pairwise tests, effect
     sizes, what was left out.

The unit of every mean and test is the query: a query's ratings share the query and are not
independent, so they count as one mean over raters. ``unit="rating"`` takes each rating as one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from fashion_rq_bench.errors import ConfigError
from fashion_rq_bench.measures.agreement import cronbach_alpha
from fashion_rq_bench.measures.statistics import holm
from fashion_rq_bench.people.study_files import (
    HIGHEST,
    LOWEST,
    SCALES,
    Ratings,
    Study,
    StudyConfig,
    read_queries,
    read_ratings,
    read_study,
    sample_study,
    write_study,
)

__all__ = [
    "HIGHEST",
    "LOWEST",
    "SCALES",
    "Analysis",
    "Comparison",
    "Ratings",
    "ScaleResult",
    "SourceMean",
    "Study",
    "StudyConfig",
    "Unit",
    "analyse",
    "checked_unit",
    "cronbach_alpha",
    "read_queries",
    "read_ratings",
    "read_study",
    "sample_study",
    "write_study",
]

Unit = Literal["query", "rating"]
_UNITS: Mapping[str, Unit] = {"query": "query", "rating": "rating"}
Matrix = NDArray[np.float64]


@dataclass(frozen=True)
class SourceMean:
    """Mean rating of one source; ``n`` units; ``low`` and ``high`` of the t interval."""

    source: str
    n: int
    mean: float
    low: float
    high: float


@dataclass(frozen=True)
class Comparison:
    """Mann–Whitney of two sources.

    Attributes:
        first, second: the sources.
        u: the statistic of ``first``.
        p_value, p_holm: two-sided, and after Holm over all pairs of the scale.
        effect: rank-biserial correlation in [-1, 1] (Cliff's δ): P(first > second) − P(first <
            second).
        significant: whether p_holm is below the level.
    """

    first: str
    second: str
    u: float
    p_value: float
    p_holm: float
    effect: float
    significant: bool


@dataclass(frozen=True)
class ScaleResult:
    """Analysis of one scale.

    Attributes:
        scale: its name.
        means: per source, in the study's order of first appearance.
        alpha: Cronbach's α over all queries, ``alpha_complete`` and ``alpha_dropped`` its rows.
        h, p_value: Kruskal–Wallis over the sources; NaN for one source or constant ratings.
        epsilon_squared: its effect size, H / (n − 1).
        comparisons: all pairs.
        n_unrated: queries without any rating, left out of means and tests.
    """

    scale: str
    means: tuple[SourceMean, ...]
    alpha: float
    alpha_complete: int
    alpha_dropped: int
    h: float
    p_value: float
    epsilon_squared: float
    comparisons: tuple[Comparison, ...]
    n_unrated: int


@dataclass(frozen=True)
class Analysis:
    """Analysis of a study.

    Attributes:
        scales: one result per scale.
        n_raters, n_queries: how many.
        unparseable: answers that are no rating from 1 to 5; they count as missing.
        missing: answers that are not there.
        unknown: answers to ids that the study does not have.
        flagged: per scale the raters who gave all queries the same rating (they still count).
    """

    scales: tuple[ScaleResult, ...]
    n_raters: int
    n_queries: int
    unparseable: tuple[tuple[str, str, str, str], ...]
    missing: int
    unknown: int
    flagged: Mapping[str, tuple[str, ...]]


def analyse(
    study: Study, ratings: Ratings, *, unit: Unit = "query", level: float = 0.05
) -> Analysis:
    """Analyse a study (paper, section 9).

    Args:
        study: with the key.
        ratings: from :func:`read_ratings`.
        unit: what counts as one observation, see the module's text.
        level: of the tests; the intervals are at 1 − level.

    Raises:
        ConfigError: if ``unit`` or ``level`` is out of range.
    """
    checked_unit(unit)
    if not 0 < level < 1:
        raise ConfigError("level must be between 0 and 1.", given=level)
    return Analysis(
        scales=tuple(_scale(s, study, ratings.values[s], unit, level) for s in SCALES),
        n_raters=len(ratings.raters),
        n_queries=len(study.ids),
        unparseable=ratings.unparseable,
        missing=ratings.missing,
        unknown=ratings.unknown,
        flagged={scale: _alike(ratings, scale) for scale in SCALES},
    )


def checked_unit(unit: str) -> Unit:
    """A unit of analysis by name.

    Raises:
        ConfigError: if there is no such.
    """
    if unit not in _UNITS:
        raise ConfigError("There is no such unit.", given=unit, allowed=_UNITS)
    return _UNITS[unit]


def _alike(ratings: Ratings, scale: str) -> tuple[str, ...]:
    columns = zip(ratings.raters, ratings.values[scale].T, strict=True)
    found = ((name, column[~np.isnan(column)]) for name, column in columns)
    return tuple(name for name, known in found if len(known) > 1 and np.ptp(known) == 0)


def _scale(scale: str, study: Study, values: Matrix, unit: Unit, level: float) -> ScaleResult:
    names = sorted(set(study.sources), key=study.sources.index)
    owner = np.array([names.index(source) for source in study.sources])
    groups = [_units(values[owner == position], unit) for position in range(len(names))]
    alpha = cronbach_alpha(values)
    h, p_value = _kruskal(groups)
    total = sum(map(len, groups))
    return ScaleResult(
        scale=scale,
        means=tuple(_mean(n, g, level) for n, g in zip(names, groups, strict=True)),
        alpha=float(alpha),
        alpha_complete=alpha.n_complete,
        alpha_dropped=alpha.n_dropped,
        h=h,
        p_value=p_value,
        epsilon_squared=h / (total - 1) if total > 1 else float("nan"),
        comparisons=_comparisons(names, groups, level),
        n_unrated=int(np.isnan(values).all(axis=1).sum()),
    )


def _units(values: Matrix, unit: Unit) -> Matrix:
    """The observations of one source: means of its rated queries, or all its ratings."""
    known = ~np.isnan(values)
    if unit == "rating":
        return values[known]
    rated = known.any(axis=1)
    means: Matrix = np.nanmean(values[rated], axis=1) if rated.any() else np.zeros(0)
    return means


def _mean(source: str, values: Matrix, level: float) -> SourceMean:
    nan = float("nan")
    if not len(values):
        return SourceMean(source, 0, nan, nan, nan)
    mean = float(values.mean())
    if len(values) < 2:
        return SourceMean(source, 1, mean, nan, nan)
    reach = float(stats.t.isf(level / 2, len(values) - 1) * stats.sem(values))
    return SourceMean(source, len(values), mean, mean - reach, mean + reach)


def _kruskal(groups: Sequence[Matrix]) -> tuple[float, float]:
    filled = [group for group in groups if len(group)]
    if len(filled) < 2 or np.ptp(np.concatenate(filled)) == 0:
        return float("nan"), float("nan")
    found = stats.kruskal(*filled)
    return float(found.statistic), float(found.pvalue)


def _comparisons(
    names: Sequence[str], groups: Sequence[Matrix], level: float
) -> tuple[Comparison, ...]:
    pairs = list(combinations(range(len(names)), 2))
    found = [_mann_whitney(groups[i], groups[j]) for i, j in pairs]
    adjusted = holm([p for _, p, _ in found])
    return tuple(
        Comparison(names[i], names[j], u, p, float(q), effect, bool(q < level))
        for (i, j), (u, p, effect), q in zip(pairs, found, adjusted, strict=True)
    )


def _mann_whitney(first: Matrix, second: Matrix) -> tuple[float, float, float]:
    """U, two-sided p and rank-biserial correlation; NaN if a side is empty."""
    if not len(first) or not len(second):
        return float("nan"), float("nan"), float("nan")
    found = stats.mannwhitneyu(first, second, alternative="two-sided")
    effect = 2 * float(found.statistic) / (len(first) * len(second)) - 1
    return float(found.statistic), float(found.pvalue), effect
