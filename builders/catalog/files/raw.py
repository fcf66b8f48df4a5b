"""What every loader hands to the reader.

In:  nothing.
Out: :class:`Raw`, a source's rows as they stand, with what had to be done to get them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa

__all__ = ["Raw", "Rejected"]


@dataclass(frozen=True, slots=True)
class Rejected:
    """An input row that cannot be used: its 1-based position, why, and its text."""

    row: int
    reason: str
    raw: str


@dataclass(frozen=True)
class Raw:
    """Rows of a source, not yet understood.

    Attributes:
        table: source columns under their own names; all usable rows, in order.
        rows: 1-based position of each row of ``table`` among the source's rows.
        repairs: position -> what was done to a malformed row.
        rejected: rows that could not be kept.
        missing: what the source refers to and lacks, e.g. {"records": 44371}.
        folder: where ``image`` paths are relative to, or None.
        currency: of prices, where the format implies it.
        planted: the hierarchy a synthetic catalog was drawn from.
        notes: sentences for the report.
    """

    table: pa.Table
    rows: npt.NDArray[np.int64]
    repairs: Mapping[int, str] = field(default_factory=dict)
    rejected: tuple[Rejected, ...] = ()
    missing: Mapping[str, int] = field(default_factory=dict)
    folder: Path | None = None
    currency: str | None = None
    planted: pa.Table | None = None
    notes: tuple[str, ...] = ()

    @classmethod
    def of(cls, table: pa.Table) -> Raw:
        """All rows of a table, none repaired, none rejected."""
        return cls(table, np.arange(1, len(table) + 1))
