"""Draws from a numpy generator, one uniform number each.

In:  options, weights, a generator.
Out: one of the options; the same for the same state on every version of numpy that keeps PCG64.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from itertools import accumulate

import numpy as np

__all__ = ["either", "pick", "weighted"]


def weighted(weights: Sequence[float], rng: np.random.Generator) -> int:
    """A position drawn in proportion to ``weights`` (not all zero)."""
    ends = list(accumulate(weights))
    return min(bisect_right(ends, rng.random() * ends[-1]), len(ends) - 1)


def pick(options: Sequence[str], rng: np.random.Generator) -> str:
    """One option, each as likely; "" if there is none (a number is drawn all the same)."""
    place = int(rng.random() * len(options))
    return options[min(place, len(options) - 1)] if options else ""


def either(words: Sequence[str]) -> str:
    """Join by "or": "black", "black or brown", "black, brown or tan"."""
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} or {words[-1]}"
