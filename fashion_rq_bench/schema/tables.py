"""The one place for names, types and grades.

In:  nothing.
Out: Arrow schemas of every table that passes between stages or ships in an edition, the ten
     attributes, the four grades, and the ``datasets`` Features of every config.

Implements the data model of the paper's sections 3 and 4 (SIDs, graded relevance, φ(q)).
Levels are counted from 1; a prefix of length ℓ names a cluster of level ℓ.
"""

from __future__ import annotations

from enum import IntEnum
from typing import TYPE_CHECKING

import pyarrow as pa

from fashion_rq_bench.errors import ConfigError

if TYPE_CHECKING:
    import datasets

__all__ = [
    "ATTRIBUTES",
    "CATALOG",
    "CLASSIFICATION",
    "CLUSTERS",
    "CONFIGS",
    "CORPUS",
    "EVIDENCE",
    "GRADE_NAMES",
    "INTENT",
    "LIST_ATTRIBUTES",
    "NAME",
    "PARAPHRASE",
    "PRICE_TIERS",
    "PRODUCT_COLUMNS",
    "QUERIES",
    "RANKING",
    "RANKINGS",
    "RESULTS",
    "SCALAR_ATTRIBUTES",
    "SCHEMA_VERSION",
    "SEMANTIC_IDS",
    "SIBLING",
    "SPLIT",
    "TASK_CONFIGS",
    "Grade",
    "embeddings_schema",
    "features",
    "schema_of",
    "strings_schema",
]

NAME = "fashion-rq-bench"
SCHEMA_VERSION = "1"
SPLIT = "test"


class Grade(IntEnum):
    """Graded relevance read off the shared prefix (paper, section 4)."""

    IRRELEVANT = 0
    RELATED = 1
    SIBLING = 2
    EXACT = 3


GRADE_NAMES = ("irrelevant", "related", "sibling", "exact")
"""ClassLabel names; the position of a name is its grade."""

PRICE_TIERS = ("budget", "mid-range", "premium")

SCALAR_ATTRIBUTES = ("product_type", "gender", "age_group", "price_hint")
LIST_ATTRIBUTES = ("color", "pattern", "material", "occasion", "brand", "style_tags")
ATTRIBUTES = (
    "product_type",
    "gender",
    "age_group",
    "color",
    "pattern",
    "material",
    "occasion",
    "brand",
    "price_hint",
    "style_tags",
)
"""The ten attributes of φ(q), in the paper's order (section 3, query attribute enrichment)."""

_text = pa.string()
_texts = pa.list_(pa.string())
_prefix = pa.list_(pa.uint16())

PRODUCT_COLUMNS = pa.schema(
    [
        ("product_id", _text),
        ("title", _text),
        ("description", _text),
        ("master_category", _text),
        ("sub_category", _text),
        ("article_type", _text),
        ("brand", _text),
        ("base_color", _text),
        ("gender", _text),
        ("age_group", _text),
        ("season", _text),
        ("year", pa.int32()),
        ("usage", _text),
        ("fashion_type", _text),
        ("price", pa.float64()),
        ("pattern", _texts),
        ("material", _texts),
        ("occasion", _texts),
        ("style", _texts),
        ("image", _text),
    ]
)
"""A product. ``price`` is in the catalog's currency; ``image`` is relative to the catalog."""

CATALOG = pa.schema(
    [*PRODUCT_COLUMNS, pa.field("brand_inferred", pa.bool_()), pa.field("price_tier", _text)]
)
"""What the catalog stage hands on: a product, plus how its brand and price tier were found."""

SEMANTIC_IDS = pa.schema([("product_id", _text), ("semantic_id", _prefix)])

INTENT = pa.struct(
    [pa.field(name, _texts if name in LIST_ATTRIBUTES else pa.string()) for name in ATTRIBUTES]
)
"""One structured reading of a query; an unexpressed attribute is null."""

_pair = pa.struct([("attribute", _text), ("value", _text)])
_signature = pa.struct(
    [
        ("pairs", pa.list_(_pair)),
        ("coverage", pa.float64()),
        ("precision", pa.float64()),
        ("exclusivity", pa.float64()),
    ]
)

EVIDENCE = pa.struct(
    [
        ("parent_size", pa.int64()),
        ("siblings", pa.list_(pa.struct([("prefix", _prefix), ("size", pa.int64())]))),
        ("product_type_axis", _text),
        (
            "product_types",
            pa.list_(pa.struct([("value", _text), ("count", pa.int64()), ("share", pa.float64())])),
        ),
        (
            "distribution",
            pa.list_(
                pa.struct(
                    [
                        ("attribute", _text),
                        ("value", _text),
                        ("count", pa.int64()),
                        ("share", pa.float64()),
                        ("delta_parent", pa.float64()),
                        ("delta_siblings", pa.list_(pa.float64())),
                    ]
                )
            ),
        ),
        (
            "numeric",
            pa.list_(
                pa.struct(
                    [
                        ("attribute", _text),
                        ("against", _text),
                        ("statistic", _text),
                        ("value", pa.float64()),
                        ("delta", pa.float64()),
                    ]
                )
            ),
        ),
        (
            "exclusivity",
            pa.list_(
                pa.struct(
                    [
                        ("attribute", _text),
                        ("value", _text),
                        ("against", _text),
                        ("delta", pa.float64()),
                    ]
                )
            ),
        ),
        ("discriminating", pa.list_(_signature)),
        ("coverage", pa.list_(_signature)),
        ("phrases", pa.list_(pa.struct([("value", _text), ("share", pa.float64())]))),
    ]
)
"""What sets a cluster apart (paper 3 and 8.0.2).

Shares, coverage, precision and exclusivity are in [0, 1] ([-1, 1] for exclusivity); deltas are
percentage points in [-100, 100], in the attribute's own unit for numeric ones. Siblings stand
nearest first; their distance is not kept, since its last bit differs between machines.
``against`` is "parent" or "sibling 1" … "sibling 3", in the order of ``siblings``, as is
``delta_siblings``.
"""

CLUSTERS = pa.schema(
    [
        ("prefix", _prefix),
        ("level", pa.int8()),
        ("size", pa.int64()),
        ("purity", pa.float64()),
        ("article_type", _text),
        ("evidence", EVIDENCE),
    ]
)

QUERIES = pa.schema(
    [
        ("query_id", _text),
        ("query", _text),
        ("prefix", _prefix),
        ("level", pa.int8()),
        ("intents", pa.list_(INTENT)),
        ("source", _text),
    ]
)

_graded = [("product_id", _text), ("grade", pa.int8())]

RANKING = pa.schema(
    [
        ("query_id", _text),
        ("query", _text),
        ("prefix", _prefix),
        ("intents", pa.list_(INTENT)),
        ("candidates", pa.list_(pa.struct([*_graded, ("match", pa.float32())]))),
    ]
)
CLASSIFICATION = pa.schema(
    [
        ("query_id", _text),
        ("query", _text),
        ("product_id", _text),
        ("label", pa.int64()),
        ("match", pa.float32()),
    ]
)
SIBLING = pa.schema(
    [
        ("query_id", _text),
        ("query", _text),
        ("prefix", _prefix),
        ("candidates", pa.list_(pa.struct([("product_id", _text), ("target", pa.bool_())]))),
    ]
)
PARAPHRASE = pa.schema(
    [
        ("group_id", _text),
        ("prefix", _prefix),
        ("queries", pa.list_(pa.struct([("query_id", _text), ("query", _text)]))),
        ("candidates", pa.list_(pa.struct(_graded))),
    ]
)
CORPUS = pa.schema(
    [
        pa.field("product_id", _text),
        pa.field("text", _text),
        pa.field("semantic_id", _prefix),
        *list(CATALOG)[1:],
    ]
)

RESULTS = pa.schema(
    [
        ("edition_id", _text),
        ("model", _text),
        ("model_id", _text),
        ("task", _text),
        ("query_id", _text),
        ("prefix", _text),
        ("metric", _text),
        ("value", pa.float64()),
    ]
)
"""One row per (edition, model, task, query, metric). ``model_id`` hashes name, revision, prompt,
dtype and our version; ``prefix`` is the anchor's codes joined by "-"; undefined is NaN."""

RANKINGS = pa.schema(
    [
        ("edition_id", _text),
        ("model", _text),
        ("model_id", _text),
        ("task", _text),
        ("query_id", _text),
        ("product_id", _text),
        ("score", pa.float64()),
    ]
)


def embeddings_schema(dim: int) -> pa.Schema:
    """Product embeddings: ``product_id`` and a float16 vector of ``dim`` numbers."""
    return pa.schema([("product_id", _text), ("vector", pa.list_(pa.float16(), dim))])


def strings_schema(dim: int) -> pa.Schema:
    """The ``strings`` config: a string and its L2-normalised float16 vector of ``dim`` numbers."""
    return pa.schema([("string", _text), ("vector", pa.list_(pa.float16(), dim))])


TASK_CONFIGS = ("ranking", "classification", "sibling", "paraphrase")
CONFIGS = (*TASK_CONFIGS, "corpus", "queries", "clusters", "strings")
_SCHEMAS = {
    "ranking": RANKING,
    "classification": CLASSIFICATION,
    "sibling": SIBLING,
    "paraphrase": PARAPHRASE,
    "corpus": CORPUS,
    "queries": QUERIES,
    "clusters": CLUSTERS,
}


def schema_of(config: str, dim: int = 384) -> pa.Schema:
    """Arrow schema of an edition's config.

    Args:
        config: one of ``CONFIGS``.
        dim: vector length, used by ``strings`` only.

    Raises:
        ConfigError: if the config does not exist.
    """
    if config == "strings":
        return strings_schema(dim)
    if config not in _SCHEMAS:
        raise ConfigError("An edition has no such config.", given=config, allowed=CONFIGS)
    return _SCHEMAS[config]


def features(config: str, dim: int = 384) -> datasets.Features:
    """``datasets`` Features of an edition's config (imports datasets on first use)."""
    import datasets

    found = datasets.Features.from_arrow_schema(schema_of(config, dim))
    if config == "classification":
        found["label"] = datasets.ClassLabel(names=list(GRADE_NAMES))
    return found
