"""Whether what queries say is true of their clusters' products.

In:  intents, and which product holds which value.
Out: the intents' attributes that too few of the products bear out.

Paper, section 3 and query prompt, rule 8: no attribute or brand that a cluster lacks, no single
value that most of it lacks. Shares are over the products of the asked type whose value is known.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import numpy as np

from fashion_rq_bench.builders.context.incidence import Held, Incidence, Ints
from fashion_rq_bench.schema.domain import domain

__all__ = ["Grounding"]

_NOT_CHECKED = ("type", "occasion", "age")


class Grounding:
    """Checks intents against products.

    Args:
        values: from :func:`~.candidates.wish_incidence`.
        least: share of the products of the asked type that must hold a value said.
    """

    def __init__(self, values: Incidence, least: float) -> None:
        self._values = values
        self._least = least
        self._columns: dict[tuple[str, str], list[int]] = {}
        for column, (attribute, value) in enumerate(values.names):
            self._columns.setdefault((attribute, value.casefold()), []).append(column)

    def held(self, products: Ints) -> Held:
        """What a cluster's products hold; for :meth:`faults` of all queries of the cluster."""
        return self._values.held(products)

    def faults(self, intent: Mapping[str, Any], held: Held) -> Iterator[str]:
        """Attributes of an intent that the products of the type it asks for do not bear out."""
        kind = domain().type.name
        typed = held.any_of(self._named(kind, [intent[kind] or ""]))
        rows = typed if typed.any() else np.ones_like(typed)
        for one in domain().attributes:
            attribute, said = one.name, intent[one.name]
            if said is None or one.role in _NOT_CHECKED:
                continue
            known = held.within(self._values.columns[attribute])[1].any(axis=1) & rows
            wanted = self._named(attribute, [said] if isinstance(said, str) else said)
            found = held.any_of(wanted) & rows
            unheard = one.role == "brand" and not known.any()
            if unheard or found.sum() < self._least * known.sum():
                yield attribute

    def _named(self, attribute: str, texts: Iterable[str]) -> Iterator[int]:
        """Columns of some values, however they are capitalised."""
        for text in texts:
            yield from self._columns.get((attribute, text.casefold()), ())
