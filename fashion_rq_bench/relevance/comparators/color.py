"""Colour match: CIE76 distance in CIELAB between named colours (paper 8.0.4, Color).

In:  colour words of queries and products, a ``Similarity`` for words outside the dictionary, and
     the setting ``scale``.
Out: the same colour 1; two known colours max(0, 1 − ΔE76 / ``scale``); else their similarity.

The dictionary is the domain's ``colors.csv``, or fashion's for a domain that has none: CSS Color 4
values where they look like cloth of that name, else the xkcd colour survey's (CC0), else our own
swatch. "multi" is a word without a place in Lab.
"""

from __future__ import annotations

import re
from types import MappingProxyType

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from fashion_rq_bench.relevance.comparators._base import Comparator, ComparatorConfig, Pairs
from fashion_rq_bench.relevance.comparators._sides import Side, column, text_side
from fashion_rq_bench.schema.domain import DEFAULT, domain, load_domain, per_domain
from fashion_rq_bench.words.folding import fold

__all__ = ["Color", "color_names", "color_of", "delta_e", "lab_values", "srgb_values"]

_SUFFIX = re.compile(r" colou?r(ed)?s?$")


@per_domain
def _dictionary() -> tuple[MappingProxyType[str, str], MappingProxyType[str, str]]:
    """Swatch (hex) by name, and name by key of every spelling."""
    rows = domain().table("colors") or load_domain(DEFAULT).table("colors")
    swatches = {name: row["hex"] for name, row in rows.items() if row["hex"]}
    spellings = {
        _key(spelling): name for name, row in rows.items() for spelling in [name, *row["spellings"]]
    }
    return MappingProxyType(swatches), MappingProxyType(spellings)


def _key(text: str) -> str:
    """Folded text without spaces and without a closing "colour": "Off-White" gives offwhite."""
    return _SUFFIX.sub("", fold(text)).replace(" ", "")


def color_names() -> list[str]:
    """Names of the colours that have a place in CIELAB, in the dictionary's order."""
    return list(_dictionary()[0])


def color_of(text: str) -> str | None:
    """Name of the colour that a text as a whole spells ("Off-White", "gray"), or None."""
    return _dictionary()[1].get(_key(text))


def srgb_values() -> NDArray[np.float64]:
    """(C, 3) sRGB values in [0, 1] of :func:`color_names`."""
    swatches = _dictionary()[0].values()
    digits = [[int(swatch[i : i + 2], 16) for i in (1, 3, 5)] for swatch in swatches]
    return np.array(digits, dtype=np.float64) / 255.0


@per_domain
def lab_values() -> NDArray[np.float64]:
    """(C, 3) CIELAB values (D65) of :func:`color_names`, converted by colormath."""
    from colormath.color_conversions import convert_color
    from colormath.color_objects import LabColor, sRGBColor

    colors = [sRGBColor(*values) for values in srgb_values().tolist()]
    lab = np.array(
        [convert_color(one, LabColor, target_illuminant="d65").get_value_tuple() for one in colors]
    )
    lab.flags.writeable = False
    return lab


@per_domain
def delta_e() -> NDArray[np.float64]:
    """(C, C) CIE76 distances between :func:`color_names`: Euclidean in CIELAB, computed once."""
    lab = lab_values()
    table: NDArray[np.float64] = np.sqrt(((lab[:, None] - lab[None]) ** 2).sum(axis=-1))
    table.flags.writeable = False
    return table


class Color(Comparator):
    """Comparator of colours."""

    soft = True

    @property
    def columns(self) -> tuple[str, ...]:
        """The colour, and the description where there is none."""
        return (*self.attribute.columns, "description")

    def query_value(self, value: str, /) -> str:
        """The name of a known colour, else the folded words."""
        return color_of(value) or fold(value)

    def product_side(self, products: pa.Table, config: ComparatorConfig, /) -> Side:
        """The product's colour, else the description as one string."""
        texts = [column(products, "description")]
        return text_side(self.own_values(products), texts, self.query_value)

    def scores(self, pairs: Pairs, /) -> NDArray[np.float64]:
        """Matches of colours as :meth:`query_value` gives them; symmetric where sim is."""
        index = {name: position for position, name in enumerate(color_names())}
        left = np.array([index.get(query, -1) for query in pairs.queries], dtype=np.intp)
        right = np.array([index.get(product, -1) for product in pairs.products], dtype=np.intp)
        scale = float(self.attribute.settings.get("scale", 120.0))
        out = np.maximum(0.0, 1.0 - delta_e()[left, right] / scale)
        asked = np.flatnonzero((left < 0) | (right < 0)).tolist()
        words = ([side[i] for i in asked] for side in (pairs.queries, pairs.products))
        out[asked] = pairs.similarity(*words)
        same = [query == product for query, product in pairs.each()]
        out[np.array(same, dtype=bool)] = 1.0
        return out
