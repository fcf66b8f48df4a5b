"""Fashion pairs of the Shopping Queries Dataset, ESCI (paper 8.0.5).

In:  the official Parquet files: ``shopping_queries_dataset_examples.parquet`` and
     ``…_products.parquet``.
Out: (query, product text, label) pairs with binary relevance and graded gains; the counts that
     section 8.0.5 gives.

ESCI (Reddy et al., 2022, arXiv:2206.06588) is Apache-2.0; it is read where it lies, never fetched.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from fashion_rq_bench._moved import names_of
from fashion_rq_bench.builders.weights.training_pairs import PAIRS, product_lines
from fashion_rq_bench.errors import ConfigError, InputError
from fashion_rq_bench.schema.domain import domain
from fashion_rq_bench.support.progress import track
from fashion_rq_bench.words.vocabulary import find_all_terms, token_key

__all__ = ["GAINS", "ESCIConfig", "product_words", "read_esci"]

GAINS: Mapping[str, float] = MappingProxyType({"E": 1.0, "S": 0.1, "C": 0.01, "I": 0.0})
"""Gains by label for graded use: exact, substitute, complement, irrelevant."""

_EXAMPLES = "shopping_queries_dataset_examples.parquet"
_PRODUCTS = "shopping_queries_dataset_products.parquet"
_EXAMPLE_COLUMNS = (
    "query",
    "query_id",
    "product_id",
    "product_locale",
    "esci_label",
    "small_version",
    "split",
)
_PRODUCT_COLUMNS = (
    "product_id",
    "product_title",
    "product_description",
    "product_brand",
    "product_color",
    "product_locale",
)
_TAGS = r"<[^>]*>"

__getattr__ = names_of(__name__, "fashion_rq_bench.builders.weights.training_pairs")


def product_words() -> tuple[str, ...]:
    """The domain's words by which a product is of it (its table "esci"); the paper lists none."""
    return tuple(domain().table("esci").get("words", ()))


@dataclass(frozen=True)
class ESCIConfig:
    """Which part of ESCI.

    Attributes:
        locale: "us", "es" or "jp"; the vocabulary is English.
        small_version: only the harder competition subset; it is a flag on the same file.
        splits: of "train" and "test".
        words: a product is fashion if its title or description has one of them as a whole token.
    """

    locale: str = "us"
    small_version: bool = False
    splits: tuple[str, ...] = ("train", "test")
    words: tuple[str, ...] = field(default_factory=product_words)

    def __post_init__(self) -> None:
        for given, allowed in (
            (self.locale, ("us", "es", "jp")),
            *((s, ("train", "test")) for s in self.splits),
        ):
            if given not in allowed:
                raise ConfigError("ESCI has no such part.", given=given, allowed=allowed)
        if not self.words or not self.splits:
            raise ConfigError("ESCI needs at least one split and one fashion word.")


def read_esci(folder: Path, config: ESCIConfig | None = None) -> pa.Table:
    """Read the fashion pairs.

    Args:
        folder: holds the two official Parquet files.
        config: which part.

    Returns:
        ``PAIRS`` with source "esci", sorted by (query_id, product_id); relevant is 1 for label E.

    Raises:
        InputError: if a file or a column is absent, a label is unknown, or nothing is left.
    """
    config = config or ESCIConfig()
    products = _read(folder / _PRODUCTS, _PRODUCT_COLUMNS)
    examples = _read(folder / _EXAMPLES, _EXAMPLE_COLUMNS)
    wanted = pc.and_(
        pc.equal(examples["product_locale"], config.locale),
        pc.is_in(examples["split"], pa.array(config.splits)),
    )
    if config.small_version:
        wanted = pc.and_(wanted, pc.equal(pc.cast(examples["small_version"], pa.int64()), 1))
    examples = examples.filter(wanted).drop_columns(["product_locale"])
    judged = products.filter(pc.is_in(products["product_id"], examples["product_id"].unique()))
    joined = examples.join(_of_domain(judged, config), "product_id", join_type="inner")
    if not len(joined):
        raise InputError("No fashion pair of ESCI is left by these settings.", given=config)
    return _pairs(joined)


def _read(path: Path, columns: Sequence[str]) -> pa.Table:
    try:
        present = pq.read_schema(path).names
    except OSError as error:
        raise InputError(
            "ESCI is read from its two official Parquet files, and one is not there.",
            given=str(path),
            fix="Get them from the repository amazon-science/esci-data and give their folder.",
        ) from error
    if missing := [name for name in columns if name not in present]:
        raise InputError(f"{path.name} lacks the column {missing[0]!r}.", given=present)
    return pq.read_table(path, columns=list(columns))


def _of_domain(products: pa.Table, config: ESCIConfig) -> pa.Table:
    """(product_id, text) of the products of a locale that are of the domain."""
    products = products.filter(pc.equal(products["product_locale"], config.locale))
    title = pc.fill_null(products["product_title"], "")
    description = pc.replace_substring_regex(
        pc.fill_null(products["product_description"], ""), _TAGS, " "
    )
    keys = {token_key(word) for word in config.words}
    texts = pc.binary_join_element_wise(title, description, " \n ").to_pylist()
    found = [_has_word(text, keys) for text in track(texts, "looking for fashion products")]
    products, title = products.filter(pa.array(found)), title.filter(pa.array(found))
    description = description.filter(pa.array(found))
    parts = _attribute_parts(products, title.to_pylist())
    lines = product_lines(title.to_pylist(), *parts, description.to_pylist())
    return pa.table({"product_id": products["product_id"], "text": pa.array(lines, pa.string())})


def _attribute_parts(products: pa.Table, titles: list[str]) -> list[list[Any]]:
    """The columns of a product's line: stated by ESCI, or the domain's terms in the title."""
    color = domain().role("color")
    stated = {"brand": "product_brand", color.column if color else "": "product_color"}
    tables = {one.column: one.terms for one in domain().attributes if one.terms}
    line = [name for name in domain().set_of("line") if name in (*stated, *tables)]
    terms = find_all_terms(titles, [tables[name] for name in line if name not in stated])
    return [
        products[stated[name]].to_pylist() if name in stated else terms[tables[name]]
        for name in line
    ]


def _has_word(text: str, keys: set[str]) -> bool:
    key = token_key(text)
    words = {f" {word} " for word in key.split()}
    return not words.isdisjoint(keys)


def _pairs(joined: pa.Table) -> pa.Table:
    label = joined["esci_label"].combine_chunks()
    if unknown := set(label.unique().to_pylist()) - set(GAINS):
        raise InputError(
            "ESCI has an unknown label.", given=sorted(map(str, unknown))[0], allowed=GAINS
        )
    gains = [GAINS[one] for one in label.to_pylist()]
    table = pa.table(
        {
            "source": pa.array(["esci"] * len(joined)),
            "split": joined["split"],
            "query_id": joined["query_id"].cast(pa.string()),
            "query": joined["query"],
            "product_id": joined["product_id"],
            "text": joined["text"],
            "label": label,
            "relevant": pc.equal(label, "E").cast(pa.int8()),
            "gain": pa.array(gains, pa.float64()),
        }
    )
    order = [("query_id", "ascending"), ("product_id", "ascending")]
    return table.cast(PAIRS).sort_by(order).combine_chunks()
