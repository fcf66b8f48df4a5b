"""Fashion pairs of the Shopping Queries Dataset, ESCI (paper 8.0.5).

In:  the official Parquet files: ``shopping_queries_dataset_examples.parquet`` and
     ``…_products.parquet``.
Out: (query, product text, label) pairs with binary relevance and graded gains; the counts that
     section 8.0.5 gives.

ESCI (Reddy et al., 2022, arXiv:2206.06588) is Apache-2.0; it is read where it lies, never fetched.
"""

from __future__ import annotations

import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from fashion_rq_bench.errors import ConfigError, InputError
from fashion_rq_bench.support.progress import track
from fashion_rq_bench.words.vocabulary import find_all_terms, token_key

__all__ = [
    "FASHION_WORDS",
    "GAINS",
    "PAIRS",
    "ESCIConfig",
    "count_pairs_table",
    "product_lines",
    "read_esci",
    "read_pairs",
    "split_by_query",
]

GAINS: Mapping[str, float] = MappingProxyType({"E": 1.0, "S": 0.1, "C": 0.01, "I": 0.0})
"""Gains by label for graded use: exact, substitute, complement, irrelevant."""

PAIRS = pa.schema(
    [
        ("source", pa.string()),
        ("split", pa.string()),
        ("query_id", pa.string()),
        ("query", pa.string()),
        ("product_id", pa.string()),
        ("text", pa.string()),
        ("label", pa.string()),
        ("relevant", pa.int8()),
        ("gain", pa.float64()),
    ]
)
"""Pairs to train a cross-encoder on, of ESCI or of anyone's own logs. ``label`` may be null."""

_WORDS = """
dress shirt tshirt blouse top tunic sweater cardigan hoodie sweatshirt jacket coat blazer vest
jeans trousers pants leggings shorts skirt suit tuxedo romper jumpsuit saree kurta lingerie bra
panty underwear boxer pajama nightgown robe swimsuit bikini sock stocking shoe sneaker boot
sandal heel loafer slipper handbag purse wallet backpack clutch tote belt scarf shawl glove hat
cap beanie tie watch bracelet necklace earring ring jewelry sunglasses apparel clothing footwear
"""
FASHION_WORDS = tuple(_WORDS.split())
"""Words by which a product counts as fashion; the paper does not list its own."""

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
    words: tuple[str, ...] = FASHION_WORDS

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
    joined = examples.join(_fashion(judged, config), "product_id", join_type="inner")
    if not len(joined):
        raise InputError("No fashion pair of ESCI is left by these settings.", given=config)
    return _pairs(joined)


def read_pairs(path: Path) -> pa.Table:
    """Pairs of one's own logs as ``PAIRS``: a Parquet file with ``query``, ``text``, ``relevant``.

    Other columns of ``PAIRS`` are taken where they are there, and are null (``source``: the file's
    name) where not.

    Raises:
        InputError: if the file is no Parquet, a column is absent or of another type, a query or
            text is null, or relevant is not 0 or 1.
    """
    try:
        table = pq.read_table(path)
    except (OSError, pa.ArrowInvalid) as error:
        raise InputError("These pairs cannot be read as Parquet.", given=str(path)) from error
    for name in ("query", "text", "relevant"):
        if name not in table.column_names:
            raise InputError(f"{path.name} lacks the column {name!r}.", given=table.column_names)
    n = len(table)
    columns = {
        one.name: table[one.name] if one.name in table.column_names else pa.nulls(n, one.type)
        for one in PAIRS
    }
    if "source" not in table.column_names:
        columns["source"] = pa.array([path.stem] * n, pa.string())
    try:
        pairs = pa.table(columns).cast(PAIRS).combine_chunks()
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
        raise InputError(f"A column of {path.name} has another type: {error}.") from error
    if pairs["query"].null_count or pairs["text"].null_count:
        raise InputError(f"A query or a text of {path.name} is null.")
    if not n or not pc.all(pc.is_in(pairs["relevant"], pa.array([0, 1], pa.int8()))).as_py():
        raise InputError(f"{path.name} needs pairs, and relevant must be 0 or 1 in each.", given=n)
    return pairs


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


def _fashion(products: pa.Table, config: ESCIConfig) -> pa.Table:
    """(product_id, text) of the fashion products of a locale."""
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
    terms = find_all_terms(title.combine_chunks(), ("gender", "material"))
    lines = product_lines(
        title.to_pylist(),
        products["product_brand"].to_pylist(),
        [", ".join(one) for one in terms["gender"]],
        products["product_color"].to_pylist(),
        [", ".join(one) for one in terms["material"]],
        description.to_pylist(),
    )
    return pa.table({"product_id": products["product_id"], "text": pa.array(lines, pa.string())})


def _has_word(text: str, keys: set[str]) -> bool:
    key = token_key(text)
    words = {f" {word} " for word in key.split()}
    return not words.isdisjoint(keys)


def product_lines(*columns: Sequence[str | None]) -> list[str]:
    """The product text of the paper's cross-encoder, "name | brand | gender | color | materials |
    description"; a missing part is left out.

    Args:
        columns: the six parts, each of N strings or None.
    """
    return [
        " | ".join(" ".join(part.split()) for part in row if part and part.strip())
        for row in zip(*columns, strict=True)
    ]


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


def split_by_query(pairs: pa.Table, valid_share: float = 0.1) -> tuple[pa.Table, pa.Table]:
    """Training and validation pairs that share no query text, the same on every machine.

    Args:
        pairs: ``PAIRS``.
        valid_share: share of queries for validation, in (0, 1) (the paper's is 10%).

    Raises:
        ConfigError: if the share is out of range.
    """
    if not 0 < valid_share < 1:
        raise ConfigError("valid_share must be between 0 and 1.", given=valid_share)
    encoded = pairs["query"].combine_chunks().dictionary_encode()
    hashes = np.array(
        [zlib.crc32(query.strip().casefold().encode()) for query in encoded.dictionary.to_pylist()],
        dtype=np.float64,
    )
    valid = (hashes / 2**32 < valid_share)[encoded.indices.to_numpy()]
    return pairs.filter(pa.array(~valid)), pairs.filter(pa.array(valid))


def count_pairs_table(parts: Mapping[str, pa.Table]) -> list[dict[str, Any]]:
    """The counts of 8.0.5: queries, pairs and positive rate of each part and source.

    Args:
        parts: e.g. {"train": …, "valid": …} of ``PAIRS``.

    Returns:
        One row per part and source, then per part the row "all": ``queries``, ``pairs``,
        ``query_share`` and ``pair_share`` of the part (in [0, 1]), ``positive_rate``.
    """
    rows = []
    for part, pairs in parts.items():
        sources = sorted(set(pairs["source"].to_pylist()))
        counts = [
            _count(part, source, pairs.filter(pc.equal(pairs["source"], source)))
            for source in sources
        ]
        counts.append(_count(part, "all", pairs))
        queries = sum(one["queries"] for one in counts[:-1])
        for one in counts:
            one["query_share"] = _ratio(one["queries"], queries) if one is not counts[-1] else 1.0
            one["pair_share"] = _ratio(one["pairs"], len(pairs))
        rows += counts
    return rows


def _count(part: str, source: str, pairs: pa.Table) -> dict[str, Any]:
    return {
        "part": part,
        "source": source,
        "queries": pc.count_distinct(pairs["query"]).as_py(),
        "pairs": len(pairs),
        "positive_rate": _ratio(pc.sum(pairs["relevant"]).as_py() or 0, len(pairs)),
    }


def _ratio(part: float, whole: float) -> float:
    return part / whole if whole else float("nan")
