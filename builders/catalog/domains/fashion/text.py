"""Sentences of the synthetic catalog, rendered for many products at once.

In:  templates, which one each product uses, and the slots' values as string columns.
Out: string columns: titles, HTML descriptions.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

__all__ = ["Ragged", "capitalised", "pick", "render", "titled"]

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

_SLOT = re.compile(r"{(\w+)}")


@dataclass(frozen=True)
class Ragged:
    """Lists of strings laid end to end: list g is ``values[start[g] : start[g] + size[g]]``."""

    values: pa.StringArray
    start: Ints
    size: Ints

    @classmethod
    def of(cls, lists: Sequence[Sequence[str]]) -> Ragged:
        """Lay lists end to end."""
        size = np.array([len(items) for items in lists], dtype=np.int64)
        flat = pa.array([item for items in lists for item in items], pa.string())
        return cls(flat, np.concatenate([[0], np.cumsum(size)[:-1]]).astype(np.int64), size)

    def position(self, group: Ints, chance: Floats) -> Ints:
        """Position in ``values`` of one item per group, uniform if ``chance`` is on [0, 1)."""
        return self.start[group] + (chance * self.size[group]).astype(np.int64)

    def following(self, group: Ints, position: Ints) -> Ints:
        """The position after each, going round within its list."""
        start = self.start[group]
        return start + (position - start + 1) % self.size[group]

    def pick(self, group: Ints, chance: Floats) -> pa.StringArray:
        """One item of each group."""
        return self.values.take(self.position(group, chance))


def pick(values: npt.NDArray[np.generic], chance: Floats) -> pa.Array:
    """One of the values per product, uniform if ``chance`` is on [0, 1)."""
    return pa.array(values[(chance * len(values)).astype(np.int64)])


def titled(text: str) -> str:
    """First letter of every word a capital, other letters as they are: "V-neck" is "V-Neck"."""
    return re.sub(r"(?<![A-Za-z'’])[a-z]", lambda found: found[0].upper(), text)


def capitalised(text: str) -> str:
    """First letter a capital, the rest as it is."""
    return text[:1].upper() + text[1:]


def render(templates: Sequence[str], choice: Ints, slots: Mapping[str, pa.Array]) -> pa.StringArray:
    """Fill each product's template.

    Args:
        templates: with slots written ``{name}``.
        choice: (N,) which template each product uses.
        slots: (N,) strings per slot, never null where a template that needs them is chosen.

    Returns:
        (N,) strings with single spaces, and "an" before vowels.
    """
    order = np.argsort(choice, kind="stable")
    bounds = np.searchsorted(choice[order], np.arange(len(templates) + 1))
    parts = []
    for index, template in enumerate(templates):
        rows = order[bounds[index] : bounds[index + 1]]
        if len(rows):
            parts.append(_fill(template, rows, slots))
    back = np.empty(len(order), dtype=np.int64)
    back[order] = np.arange(len(order))
    text = pa.concat_arrays(parts).take(pa.array(back))
    text = pc.replace_substring_regex(text, " {2,}", " ")
    # A slot may begin with a vowel: "a acetate frame" wants "an".
    return pc.utf8_trim_whitespace(
        pc.replace_substring_regex(text, r"\b([Aa]) ([aeioAEIO])", r"\1n \2")
    )


def _fill(template: str, rows: Ints, slots: Mapping[str, pa.Array]) -> pa.StringArray:
    pieces = _SLOT.split(template)  # literal, slot, literal, …
    where = pa.array(rows)
    columns = [
        slots[piece].take(where) if index % 2 else piece for index, piece in enumerate(pieces)
    ]
    filled = pc.binary_join_element_wise(*columns, "")
    return filled if isinstance(filled, pa.Array) else pa.array([template] * len(rows), pa.string())
