"""The one ordering that all ranking measures share: where does each relevant product stand?

In:  scores and grades (ragged, one row per query), a rule for ties, ids for that rule.
Out: :class:`Ranked`: for every relevant product how many products score higher and how many score
     the same.

Nothing else is needed: every measure here is a function of the ranks of the relevant products. Long
rows are therefore sorted without their positions, and the ranks looked up in the sorted scores.
Memory is linear in the input (beside it, blocks of fixed size).

Under ``ties="expected"`` tied products are taken to be in random order, each order equally likely,
and a measure is its expectation: a product with ``above`` products before it and ``tied`` products
at its score (itself included) stands at each of the ranks above + 1 … above + tied with
probability 1 / tied. Under ``ties="trec"`` the order is trec_eval's, in which ``tied`` is 1.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from fashion_rq_bench.errors import MetricInputError
from fashion_rq_bench.measures._ragged import Array, Ints, Ragged, blocks

__all__ = ["Ranked", "count_above_and_tied", "rank_relevant"]

Floats = NDArray[np.float64]

_SHORT = 64  # up to this width ordering whole rows is faster than looking ranks up


@dataclass(frozen=True)
class _Laid:
    """A block of queries as 2-D arrays; padding scores lowest and has grade 0."""

    scores: Array
    grades: Array
    ids: Array | None

    @property
    def width(self) -> int:
        return int(self.scores.shape[1])

    def keys(self, rows: Ints | slice, *, trec: bool) -> Array:
        """What ranks the products of some rows: scores, or trec's numbers, which are never tied.

        The upper half of such a number is the score in single precision (its bits, in an order
        that agrees with the numbers'), the lower half the id or the position.
        """
        if not trec:
            return self.scores[rows]
        bits = (_single_precision(self.scores[rows]) + np.float32(0.0)).view(np.int32)
        ordered = (bits ^ ((bits >> 31) & np.int32(0x7FFFFFFF))).astype(np.int64)
        ids = np.arange(self.width) if self.ids is None else self.ids[rows] + 1
        keys: Ints = (ordered << 32) | ids
        return keys


@dataclass(frozen=True)
class Ranked:
    """Relevant products, flat: those of a query stand together, best rank first.

    Attributes:
        queries: number of queries.
        row: query of the product.
        above: products of the query with a higher score.
        tied: products of the query with the same score, the product itself included.
        grade: grade of the product, above 0.
    """

    queries: int
    row: Ints
    above: Ints
    tied: Ints
    grade: Array

    def at_least(self, grade: float) -> Ranked:
        """Only the products of this grade or better."""
        keep = self.grade >= grade
        if keep.all():
            return self
        return Ranked(
            self.queries, self.row[keep], self.above[keep], self.tied[keep], self.grade[keep]
        )

    @cached_property
    def has_ties(self) -> bool:
        """Whether a relevant product shares its score with another product."""
        return bool((self.tied > 1).any())

    @cached_property
    def starts(self) -> Ints:
        """Position of each occurring query's first (best) product."""
        new = np.ones(len(self.row), np.bool_)
        new[1:] = self.row[1:] != self.row[:-1]
        return np.flatnonzero(new)

    @cached_property
    def relevant_above_and_tied(self) -> tuple[Ints, Ints]:
        """``above`` and ``tied`` counted among the products held here."""
        position = np.arange(len(self.row))
        first = np.repeat(self.starts, np.diff(self.starts, append=len(self.row)))
        if not self.has_ties:
            return position - first, np.ones_like(position)
        new = np.ones(len(self.row), np.bool_)
        new[1:] = (self.row[1:] != self.row[:-1]) | (self.above[1:] != self.above[:-1])
        ties = np.flatnonzero(new)
        sizes = np.diff(ties, append=len(self.row))
        return np.repeat(ties, sizes) - first, np.repeat(sizes, sizes)

    def expected(self, weights: Floats) -> Floats:
        """Expected weight of each product's rank; ``weights[r]`` belongs to rank r + 1.

        Ranks beyond ``weights`` weigh nothing.
        """
        depth = len(weights)
        above = np.minimum(self.above, depth)
        result: Floats = np.append(weights, 0.0)[above]
        if self.has_ties:
            tied = np.flatnonzero(self.tied > 1)
            total = np.append(0.0, np.cumsum(weights))
            last = np.minimum(self.above[tied] + self.tied[tied], depth)
            result[tied] = (total[last] - total[above[tied]]) / self.tied[tied]
        return result

    def sum(self, values: Floats) -> Floats:
        """Sum of per-product values for each query, shape (queries,)."""
        total = np.zeros(self.queries)
        if len(values):
            total[self.row[self.starts]] = np.add.reduceat(values, self.starts)
        return total

    def count(self) -> Ints:
        """Number of products held for each query, shape (queries,)."""
        return np.bincount(self.row, minlength=self.queries)


def _count(ordered: Array, row: Ints, value: Array, smaller: np.ufunc) -> Ints:
    """For each (row, value) the number of values in that row of ``ordered`` that are ``smaller``.

    A binary search in which all lanes keep the same width, so that it has no branches.
    """
    flat, width = ordered.ravel(), ordered.shape[1]
    start = row * width
    low = start.copy()
    while width > 1:
        half = width // 2
        low += smaller(flat[low + (half - 1)], value) * half
        width -= half
    low += smaller(flat[low], value)
    count: Ints = low - start
    return count


def count_above_and_tied(ordered: Array, row: Ints, value: Array) -> tuple[Ints, Ints]:
    """Products above and at each product's score.

    Args:
        ordered: (rows, width) scores, ascending within each row.
        row: row of each product, shape (m,).
        value: score of each product, which occurs in its row, shape (m,).

    Returns:
        ``above`` (m,) and ``tied`` (m,), the product itself included.
    """
    width = ordered.shape[1]
    below = _count(ordered, row, value, np.less)
    tied = np.ones_like(below)
    after = np.minimum(below + 1, width - 1)
    shared = np.flatnonzero((ordered[row, after] == value) & (below + 1 < width))
    if len(shared):
        up_to = _count(ordered, row[shared], value[shared], np.less_equal)
        tied[shared] = up_to - below[shared]
    return width - below - tied, tied


def _single_precision(scores: Array) -> NDArray[np.float32]:
    with np.errstate(over="ignore"):  # an infinite score is tied at worst, and then looked at again
        return scores.astype(np.float32, copy=False)


def _by_order(laid: _Laid, *, trec: bool) -> tuple[Ints, Ints, Ints, Array]:
    """Row, above, tied and grade of the relevant products, from the full order of short rows."""
    keys = laid.keys(slice(None), trec=trec)
    starts = np.arange(len(keys))[:, None] * laid.width
    order = (np.argsort(keys, axis=1)[:, ::-1] + starts).ravel()
    grades = laid.grades.ravel().take(order)
    where = np.flatnonzero(grades > 0)
    row = where // laid.width
    above, tied = where - row * laid.width, np.ones_like(where)
    keys = keys.ravel().take(order)
    new = np.append(True, keys[1:] != keys[:-1])
    new[:: laid.width] = True
    if not new.all():
        ties = np.flatnonzero(new)
        sizes = np.diff(ties, append=len(new))
        above = np.repeat(ties, sizes).take(where) - row * laid.width
        tied = np.repeat(sizes, sizes).take(where)
    return row, above, tied, grades.take(where)


def _has_ties(scores: Array) -> bool:
    ordered = np.sort(scores)
    return bool(((ordered[1:] == ordered[:-1]) & np.isfinite(ordered[1:])).any())


def _by_count(laid: _Laid, *, trec: bool) -> tuple[Ints, Ints, Ints, Array]:
    """The same for long rows: sort the scores alone and look the relevant products up in them.

    Sorting is what costs, and single precision sorts in half the time. It decides wherever it
    leaves no tie; rows in which it does are sorted by their keys. So are all rows at once if
    already the first has ties.
    """
    flat = laid.grades.ravel()
    where = np.flatnonzero(flat > 0)
    row = where // laid.width
    above, tied, unsure = np.empty_like(row), np.empty_like(row), np.arange(len(row))
    single = _single_precision(laid.scores)
    if not _has_ties(single[0]):
        above, tied = count_above_and_tied(np.sort(single, axis=1), row, single.ravel()[where])
        unsure = np.flatnonzero(tied > 1)
    if len(unsure):
        rows, again = np.unique(row[unsure], return_inverse=True)
        keys = laid.keys(rows, trec=trec)
        key = keys.ravel()[again * laid.width + where[unsure] % laid.width]
        above[unsure], tied[unsure] = count_above_and_tied(np.sort(keys, axis=1), again, key)
    order = np.argsort(row * laid.width + above, kind="stable")
    return row[order], above[order], tied[order], flat[where[order]]


def rank_relevant(scores: Ragged, grades: Ragged, ids: Ragged | None, *, trec: bool) -> Ranked:
    """Rank the products with a grade above 0.

    Args:
        scores: finite scores, one row per query.
        grades: grades ≥ 0 of the same shape.
        ids: numbers in the order of the product ids, for trec's tie rule; None: the positions.
        trec: order ties as trec_eval does, which also compares scores in single precision.
    """
    flat = scores.values
    if flat.dtype.kind != "f":
        flat = flat.astype(np.float64)
    if trec and len(flat) and max(flat.max(), -flat.min()) > np.finfo(np.float32).max:
        raise MetricInputError(
            "ties='trec' compares scores in single precision, and a score is too large for it.",
            given=float(np.abs(flat).max()),
        )
    parts = []
    for block in blocks(scores.offsets):
        laid = _Laid(
            block.pad(flat, -np.inf),
            block.pad(grades.values, 0),
            None if ids is None else block.pad(ids.values, -1),
        )
        rank = _by_order if laid.width <= _SHORT else _by_count
        row, above, tied, grade = rank(laid, trec=trec)
        parts.append((block.rows[row], above, tied, grade))
    if not parts:
        nothing = np.empty(0, np.int64)
        return Ranked(len(scores), nothing, nothing, nothing, nothing)
    return Ranked(len(scores), *(np.concatenate(part) for part in zip(*parts, strict=True)))
