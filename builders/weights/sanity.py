"""The sanity set: can the oracle tell relevant from irrelevant at all (paper 8.0.5).

In:  an oracle of texts; 100 examples of the domain (``sanity.csv``) or a file of that format.
Out: the probability margin and the pairwise accuracy, and whether they pass the paper's thresholds.

A file has the columns ``query``, ``attribute`` (what tells relevant from irrelevant), ``text``
("name | brand | gender | color | materials | description") and ``relevant`` (1 or 0). Brands in
ours are invented.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv as pv
from numpy.typing import NDArray
from scipy.special import expit

from fashion_rq_bench.errors import InputError, QualityError
from fashion_rq_bench.schema.domain import DEFAULT, load_domain

__all__ = ["MARGIN", "PAIRWISE", "SanityReport", "check_sanity", "read_sanity", "require_sane"]

MARGIN = 0.15
"""Least probability margin (the paper's criterion; its oracle reached 0.616)."""

PAIRWISE = 0.75
"""Least pairwise accuracy (the paper's criterion; its oracle reached 0.970)."""

_OURS = "sanity.csv"
_COLUMNS = ("query", "attribute", "text", "relevant")

TextScorer = Callable[[Sequence[str], Sequence[str]], NDArray[np.float64]]


@dataclass(frozen=True)
class SanityReport:
    """What the sanity set says of an oracle.

    Attributes:
        margin: mean probability of the relevant examples minus that of the irrelevant ones.
        pairwise: share of (relevant, irrelevant) pairs of one query in the right order; a tie
            counts half.
        by_attribute: pairwise accuracy by the attribute that tells the two apart.
        n_examples, n_pairs: how many.
        passed: whether margin and pairwise accuracy reach their thresholds.
    """

    margin: float
    pairwise: float
    by_attribute: Mapping[str, float]
    n_examples: int
    n_pairs: int
    passed: bool


def read_sanity(path: Path | None = None) -> pa.Table:
    """Read a sanity set; by default ours: 25 queries with two relevant and two irrelevant products.

    Raises:
        InputError: if it cannot be read, a column is absent, a label is not 0 or 1, or a query
            lacks either kind.
    """
    home = load_domain(DEFAULT).folder / _OURS
    try:
        table = pv.read_csv(path or home)
    except (OSError, pa.ArrowInvalid) as error:
        raise InputError(
            "This sanity set cannot be read as CSV.",
            given=str(path),
            fix=f"It has the columns {', '.join(_COLUMNS)}.",
        ) from error
    if missing := [name for name in _COLUMNS if name not in table.column_names]:
        raise InputError(
            "A sanity set needs other columns.", given=table.column_names, allowed=missing
        )
    relevant = table["relevant"].to_numpy()
    if not np.isin(relevant, (0, 1)).all():
        raise InputError("relevant must be 0 or 1 in a sanity set.", given=relevant.tolist())
    for kind in (0, 1):
        of_kind = set(table.filter(pa.array(relevant == kind))["query"].to_pylist())
        if alone := sorted(set(table["query"].to_pylist()) - of_kind):
            raise InputError(
                "Every query of a sanity set needs a relevant and an irrelevant product.",
                given=alone[0],
            )
    return table


def check_sanity(score: TextScorer, examples: pa.Table | None = None) -> SanityReport:
    """Score the examples.

    Args:
        score: logits of (queries[i], texts[i]), shape (P,).
        examples: from :func:`read_sanity`; ours by default.
    """
    table = read_sanity() if examples is None else examples
    queries, relevant = table["query"].to_pylist(), table["relevant"].to_numpy() == 1
    logits = np.asarray(score(queries, table["text"].to_pylist()), dtype=np.float64)
    probability = expit(logits)
    margin = float(probability[relevant].mean() - probability[~relevant].mean())
    owner = np.unique(queries, return_inverse=True)[1]
    same = owner[relevant][:, None] == owner[~relevant][None, :]
    left, right = np.nonzero(same)
    gap = logits[relevant][left] - logits[~relevant][right]
    right_order = (gap > 0) + 0.5 * (gap == 0)
    attribute = np.array(table["attribute"].to_pylist())[relevant][left]
    pairwise = float(right_order.mean())
    return SanityReport(
        margin=margin,
        pairwise=pairwise,
        by_attribute={
            str(name): float(right_order[attribute == name].mean()) for name in np.unique(attribute)
        },
        n_examples=len(table),
        n_pairs=len(left),
        passed=margin >= MARGIN and pairwise >= PAIRWISE,
    )


def require_sane(report: SanityReport) -> None:
    """The gate: weights are not to be taken from an oracle that fails.

    Raises:
        QualityError: if it did not pass.
    """
    if not report.passed:
        raise QualityError(
            f"The oracle fails the sanity set: margin {report.margin:.3f} (at least {MARGIN}), "
            f"pairwise accuracy {report.pairwise:.3f} (at least {PAIRWISE}).",
            fix="Train it longer or on more pairs; weights from it would mean nothing.",
        )
