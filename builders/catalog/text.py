"""The text of a product that models read.

In:  a catalog table.
Out: one string per product.

The paper's product side for text retrievers; its cross-encoder reads "name | brand | gender |
color | materials | description" (section 8.0.5). Price is left out: no text model reads numbers
as money, and a tier must not be readable from a string.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import pyarrow as pa
import pyarrow.compute as pc

from fashion_rq_bench.builders.catalog.values.cleaning import join_present
from fashion_rq_bench.errors import ConfigError
from fashion_rq_bench.schema.domain import domain

__all__ = ["TextConfig", "product_text"]

_FORBIDDEN = ("product_id", "title", "description", "price", "image")


@dataclass(frozen=True)
class TextConfig:
    """What the text holds between title and description.

    Attributes:
        facts: product columns, in order; lists are joined by commas, missing values left out; by
            default the domain's ``text``. Of fashion the usage is told by the first occasion.
        description: whether the description follows.
    """

    facts: tuple[str, ...] = field(default_factory=lambda: domain().text)
    description: bool = True

    def __post_init__(self) -> None:
        allowed = [c.name for c in domain().columns if c.name not in _FORBIDDEN]
        for name in self.facts:
            if name not in allowed:
                raise ConfigError(
                    "A product's text cannot state this column.", given=name, allowed=allowed
                )


def product_text(catalog: pa.Table, config: TextConfig | None = None) -> pa.StringArray:
    """What models read of each product: title, facts, description.

    "Turtle Check Men Navy Blue Shirt. Shirts, Turtle, Navy Blue, Men, adult, Fall, checked,
    cotton, casual, slim fit. Dark brown and indigo blue plaid check shirt …"

    Args:
        catalog: N products (schema CATALOG).
        config: which facts, in which order; default :class:`TextConfig`.

    Returns:
        (N,) strings, never null; each line of the catalog depends on its own row only.
    """
    config = config or TextConfig()
    sentences = [catalog["title"]]
    if config.facts:
        sentences.append(join_present([_as_text(catalog[name]) for name in config.facts], ", "))
    if config.description:
        sentences.append(catalog["description"])
    text = pc.fill_null(join_present(sentences, ". "), "")
    return text.combine_chunks() if isinstance(text, pa.ChunkedArray) else text


def _as_text(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Lists joined by commas, null where empty; other columns as strings."""
    if pa.types.is_list(column.type):
        joined = pc.binary_join(column, ", ")
        return pc.if_else(pc.equal(joined, ""), None, joined)
    return column.cast(pa.string())
