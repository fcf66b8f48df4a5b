"""Ranks: their ranges, how well tasks agree on them, and who cannot be told apart.

In:  figures of models, draws of them, or which of them differ.
Out: best and worst ranks, Kendall's τ-b, compact letters.
"""

from __future__ import annotations

from itertools import combinations
from string import ascii_letters

import numpy as np
from numpy.typing import ArrayLike
from scipy import stats

from fashion_rq_bench.measures.statistics._numbers import DIGITS, LEVEL, Floats, Ints

__all__ = ["compact_letters", "rank_agreement", "rank_ranges"]


def rank_ranges(draws: Floats) -> tuple[Ints, Ints]:
    """Best and worst rank of each model in the middle 95% of draws; 1 is best, ties share the best.

    Args:
        draws: (B, M) figures, higher is better; a model that is NaN throughout gets rank 0.
    """
    known = ~np.isnan(draws).any(axis=0)
    low, high = np.zeros(draws.shape[1], np.int64), np.zeros(draws.shape[1], np.int64)
    if known.any():
        ranks = stats.rankdata(-np.round(draws[:, known], DIGITS), method="min", axis=1)
        ends = np.quantile(ranks, [LEVEL / 2, 1 - LEVEL / 2], axis=0, method="inverted_cdf")
        low[known], high[known] = ends.astype(np.int64)
    return low, high


def rank_agreement(figures: ArrayLike) -> Floats:
    """Kendall's τ-b between the orders that several tasks give the same models.

    Args:
        figures: (T, M) figure of each model in each task, NaN for a model without.

    Returns:
        (T, T) in [-1, 1]; over the models that both tasks have; NaN for fewer than two, or where
        one task ties them all.
    """
    values = np.round(np.asarray(figures, dtype=np.float64), DIGITS)
    found = np.full((len(values), len(values)), np.nan)
    for one in range(len(values)):
        for other in range(one + 1):
            both = ~np.isnan(values[one]) & ~np.isnan(values[other])
            if both.sum() > 1:
                tau = stats.kendalltau(values[one, both], values[other, both]).statistic
                found[one, other] = found[other, one] = tau
    return found


def compact_letters(figures: ArrayLike, differ: ArrayLike) -> list[str]:
    """Letters that show which models cannot be told apart (Piepho 2004, insert and absorb).

    Two models share a letter exactly if they do not differ; "a" goes to the best model's group.

    Args:
        figures: (M,) higher is better; NaN gets no letter.
        differ: (M, M) symmetric; whether two models differ significantly.
    """
    values, apart = np.asarray(figures, dtype=np.float64), np.asarray(differ, dtype=np.bool_)
    order = [
        int(place) for place in np.argsort(-values, kind="stable") if values[place] == values[place]
    ]
    groups = [frozenset(order)] if order else []
    for one, other in combinations(order, 2):
        if apart[one, other]:
            split = [group - {gone} for group in groups for gone in _parting(group, one, other)]
            groups = [
                group for group in dict.fromkeys(split) if not any(group < big for big in split)
            ]
    place = {model: rank for rank, model in enumerate(order)}
    groups.sort(key=lambda group: sorted(place[model] for model in group))
    names = [_letter(number) for number in range(len(groups))]
    return [
        "".join(name for name, group in zip(names, groups, strict=True) if model in group)
        for model in range(len(values))
    ]


def _parting(group: frozenset[int], one: int, other: int) -> tuple[int | None, ...]:
    """Who must leave a group, in turn, so that two models that differ do not share it."""
    return (one, other) if one in group and other in group else (None,)


def _letter(number: int) -> str:
    extra, place = divmod(number, len(ascii_letters))
    return ascii_letters[place] + (str(extra) if extra else "")
