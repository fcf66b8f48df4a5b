"""The best score that a relevant product has, for measures of the first relevant rank."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import gammaln

from fashion_rq_bench.measures._ragged import Ints
from fashion_rq_bench.measures.ranked._ranks import Floats, Ranked

__all__ = ["First", "first_relevant", "miss_probability"]


@dataclass(frozen=True)
class First:
    """For each query (``row``) with a relevant product: products ``above`` the best relevant
    score, products ``tied`` at it, and how many of these are ``relevant``."""

    row: Ints
    above: Ints
    tied: Ints
    relevant: Ints

    def take(self, which: Ints) -> First:
        """Only these queries."""
        return First(self.row[which], self.above[which], self.tied[which], self.relevant[which])


def first_relevant(ranked: Ranked) -> First:
    """The best-ranked group of each query that has a relevant product."""
    starts = ranked.starts
    relevant = ranked.relevant_above_and_tied[1][starts]
    return First(ranked.row[starts], ranked.above[starts], ranked.tied[starts], relevant)


def miss_probability(total: Ints, relevant: Ints, drawn: Ints) -> Floats:
    """Probability that ``drawn`` of ``total`` products, without replacement, are all irrelevant.

    C(total − relevant, drawn) / C(total, drawn), by logarithms of factorials: right to 1e-11 for
    ties of thousands, 1e-8 for ties of a million.
    """
    rest = total - relevant
    possible = drawn <= rest
    drawn = np.minimum(drawn, rest)
    logarithm = (
        gammaln(rest + 1)
        - gammaln(rest - drawn + 1)
        - gammaln(total + 1)
        + gammaln(total - drawn + 1)
    )
    return np.where(possible, np.exp(np.minimum(logarithm, 0.0)), 0.0)
