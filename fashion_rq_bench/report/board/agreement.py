"""Whether several orders of the same models agree: Kendall's τ-b, in a line and as a table.

In:  figures of the models, one array per order.
Out: :class:`Agreement`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from fashion_rq_bench.measures import statistics as stats
from fashion_rq_bench.support.grid import Cell, Grid, Row, figure

__all__ = ["Agreement"]


@dataclass(frozen=True)
class Agreement:
    """Kendall's τ-b between orders of the same models.

    Attributes:
        names: of the orders.
        models: how many models they order.
        tau: names by names, in [-1, 1]; NaN for fewer than two models.
    """

    names: tuple[str, ...]
    models: int
    tau: tuple[tuple[float, ...], ...]

    @classmethod
    def between(cls, names: Sequence[str], figures: Sequence[NDArray[np.float64]]) -> Agreement:
        """Of figures (one array over the models per name)."""
        tau = stats.rank_agreement(np.stack(figures)) if len(figures) else np.zeros((0, 0))
        models = len(figures[0]) if len(figures) else 0
        return cls(tuple(names), models, tuple(map(tuple, tau.tolist())))

    def text(self) -> str:
        """In one line."""
        shown = [
            f"{one}–{other} {figure(self.tau[row][place], digits=2)}"
            for (place, one), (row, other) in combinations(enumerate(self.names), 2)
        ]
        return f"Kendall's τ-b between the orders of {self.models} models: {', '.join(shown)}"

    def grid(self, key: str, title: str, notes: Sequence[str] = ()) -> Grid:
        """As a table; the upper half is left empty."""
        rows = []
        for row, name in enumerate(self.names[1:], start=1):
            lower = [Cell(figure(t, digits=2), value=t) for t in self.tau[row][:row]]
            empty = [Cell("")] * (len(self.names) - 1 - row)
            rows.append(Row(name, (*lower, *empty)))
        note = f"Kendall's τ-b over {self.models} models."
        return Grid(key, title, ("", *self.names[:-1]), tuple(rows), (note, *notes))
