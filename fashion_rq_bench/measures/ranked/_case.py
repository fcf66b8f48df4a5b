"""What a measure is computed from: ranks of the relevant products, and the judged ideal.

In:  checked scores, grades, ids and judged grades, and the options that all measures share.
Out: :class:`Case`, on which each measure is one small function ``measure(case, k)``.

Parts that several measures or cut-offs need are computed once and kept.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from fashion_rq_bench.errors import MetricInputError
from fashion_rq_bench.measures._ragged import (
    Array,
    Ints,
    Ragged,
    blocks,
    check_same_rows,
    encode_ids,
    number_rows,
)
from fashion_rq_bench.measures.ranked._ranks import Floats, Ranked, rank_relevant

__all__ = ["Case", "Gains", "Ties", "build_case", "divide"]

Gains = Literal["linear", "exponential"] | Mapping[int, float]
Ties = Literal["expected", "trec"]


def divide(total: Floats, by: NDArray[Any]) -> Floats:
    """``total / by``, NaN where ``by`` is 0; rounding is kept from leaving [0, 1]."""
    result: Floats = np.full(len(total), np.nan)
    np.divide(total, by, out=result, where=by > 0)
    return np.clip(result, 0.0, 1.0, out=result)


@dataclass(frozen=True)
class Case:
    """One set of scored queries.

    Attributes:
        ranked: the retrieved products with a grade above 0.
        judged: the positive grades of all judged products, one row per query.
        lengths: products retrieved for each query.
        gains: gain of a grade, for nDCG.
        min_grade: lowest grade that counts as relevant, for the binary measures.
    """

    ranked: Ranked
    judged: Ragged
    lengths: Ints
    gains: Gains = "linear"
    min_grade: float = 1

    @property
    def queries(self) -> int:
        """Number of queries."""
        return len(self.lengths)

    @cached_property
    def depth(self) -> int:
        """Length of the longest ranking or ideal: what k=None stands for."""
        return int(max(self.lengths.max(), self.judged.lengths.max(), 1))

    @cached_property
    def relevant(self) -> Ranked:
        """The retrieved products of ``min_grade`` or better."""
        return self.ranked.at_least(self.min_grade)

    @cached_property
    def n_relevant(self) -> Ints:
        """Judged products of ``min_grade`` or better for each query."""
        relevant = self.judged.values >= self.min_grade
        if relevant.all():
            return self.judged.lengths
        return np.bincount(self.judged.row_numbers()[relevant], minlength=self.queries)

    @cached_property
    def gain(self) -> Floats:
        """Gain of each retrieved product of ``ranked``."""
        return gain_of(self.ranked.grade, self.gains)

    @cached_property
    def ideal_gains(self) -> list[tuple[Ints, Floats]]:
        """Gains of the judged products, best first: blocks of (queries, (queries, width) gains)."""
        gains = gain_of(self.judged.values, self.gains)
        return [
            (block.rows, -np.sort(-block.pad(gains, 0.0), axis=1))
            for block in blocks(self.judged.offsets)
        ]

    def only_where(self, defined: NDArray[np.bool_], values: Floats) -> Floats:
        """``values`` where ``defined``, else NaN."""
        return np.where(defined, values, np.nan)


def gain_of(grades: Array, gains: Gains) -> Floats:
    """Gain of each grade (> 0).

    Raises:
        MetricInputError: an unknown rule, or a mapping that lacks a grade or is negative.
    """
    if isinstance(gains, Mapping):
        return _mapped(grades, gains)
    if gains == "linear":
        return grades.astype(np.float64)
    if gains == "exponential":
        return _exponential(grades)
    raise MetricInputError(
        "There is no such rule for gains.",
        given=gains,
        allowed=["linear", "exponential", "a mapping from grade to gain"],
    )


def _exponential(grades: Array) -> Floats:
    if len(grades) and grades.max() > 1000:
        raise MetricInputError("A grade is too high for exponential gains.", given=grades.max())
    return np.exp2(grades.astype(np.float64)) - 1.0


def _mapped(grades: Array, gains: Mapping[int, float]) -> Floats:
    if any(not np.isfinite(gain) or gain < 0 for gain in gains.values()) or gains.get(0, 0) != 0:
        raise MetricInputError(
            "Gains must be finite and not negative, and the gain of grade 0 must be 0.",
            given=dict(gains),
        )
    levels, codes = np.unique(grades, return_inverse=True)
    missing = [level.item() for level in levels if level.item() not in gains]
    if missing:
        raise MetricInputError("A grade has no gain.", given=missing[0], allowed=sorted(gains))
    return np.array([gains[level.item()] for level in levels], np.float64)[codes]


def _positive(grades: Ragged) -> Ragged:
    keep = np.flatnonzero(grades.values > 0)
    return Ragged(grades.values[keep], np.searchsorted(keep, grades.offsets))


def _check_ideal(grades: Ragged, judged: Ragged) -> None:
    """Refuse retrieved products better than the ideal: sorted, each must have its counterpart."""
    if len(judged) != len(grades):
        raise MetricInputError(
            "ideal must have one row per query.",
            given=f"{len(judged)} rows of ideal, {len(grades)} of scores",
        )
    found = _positive(grades)
    rows = found.row_numbers()
    place = np.arange(len(rows)) - found.offsets[rows]
    best = found.values[np.lexsort((-found.values, rows))]
    ideal = judged.values[np.lexsort((-judged.values, judged.row_numbers()))]
    beyond = place >= judged.lengths[rows]
    at = np.minimum(judged.offsets[rows] + place, max(len(ideal) - 1, 0))
    bad = beyond | (best > ideal[at]) if len(ideal) else beyond
    if bad.any():
        raise MetricInputError(
            f"Query {int(rows[bad.argmax()])} retrieves more or better products than ideal holds.",
            fix="ideal must list the grades of all judged products, the retrieved ones included.",
        )


def _check_options(ties: str, min_grade: float) -> None:
    if ties not in ("expected", "trec"):
        raise MetricInputError(
            "There is no such rule for ties.", given=ties, allowed=["expected", "trec"]
        )
    if not min_grade > 0:
        raise MetricInputError("min_grade must be above 0.", given=min_grade)


def build_case(
    scores: Any,
    grades: Any,
    *,
    ids: Any = None,
    ideal: Any = None,
    ties: Ties = "expected",
    gains: Gains = "linear",
    min_grade: float = 1,
) -> Case:
    """Check the inputs (as described in :mod:`fashion_rq_bench.measures.ranking`) and rank.

    Raises:
        MetricInputError: what is wrong, with query and position.
    """
    _check_options(ties, min_grade)
    score_rows = number_rows(scores, "scores")
    grade_rows = number_rows(grades, "grades", minimum=0)
    check_same_rows(score_rows, grade_rows, "grades")
    codes = None
    if ids is not None:
        codes, _ = encode_ids(ids)
        check_same_rows(score_rows, codes, "ids")
    if ideal is None and not len(grade_rows.values):
        raise MetricInputError("No query has a product.", fix="Give scores and grades, or ideal=.")
    judged = _positive(grade_rows if ideal is None else number_rows(ideal, "ideal", minimum=0))
    if ideal is not None:
        _check_ideal(grade_rows, judged)
    ranked = rank_relevant(score_rows, grade_rows, codes, trec=ties == "trec")
    return Case(ranked, judged, score_rows.lengths, gains, min_grade)
