"""The tables that pass between stages or ship in an edition.

In:  the domain in force, which gives a product its columns and an intent its attributes.
Out: their Arrow schemas, and the ``datasets`` Features of every config.

Implements the data model of the paper's sections 3 and 4 (SIDs, graded relevance, φ(q)).
Levels are counted from 1; a prefix of length ℓ names a cluster of level ℓ.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

import pyarrow as pa

from fashion_rq_bench.errors import ConfigError
from fashion_rq_bench.schema.domain import domain, per_domain
from fashion_rq_bench.schema.evidence import EVIDENCE
from fashion_rq_bench.schema.grades import GRADE_NAMES

if TYPE_CHECKING:
    import datasets

__all__ = [
    "CLASSIFICATION",
    "CLUSTERS",
    "CONFIGS",
    "EVIDENCE",
    "NAME",
    "PARAPHRASE",
    "RANKINGS",
    "RESULTS",
    "SCHEMA_VERSION",
    "SEMANTIC_IDS",
    "SIBLING",
    "SPLIT",
    "TASK_CONFIGS",
    "catalog_schema",
    "corpus_schema",
    "embeddings_schema",
    "features",
    "intent_type",
    "product_schema",
    "queries_schema",
    "ranking_schema",
    "schema_of",
    "strings_schema",
]

NAME = "fashion-rq-bench"
SCHEMA_VERSION = "1"
SPLIT = "test"


_text = pa.string()
_texts = pa.list_(pa.string())
_prefix = pa.list_(pa.uint16())

_TYPES = {"text": _text, "texts": _texts, "integer": pa.int32(), "number": pa.float64()}


@per_domain
def product_schema() -> pa.Schema:
    """A product. ``price`` is in the catalog's currency; ``image`` is relative to the catalog."""
    return pa.schema([(column.name, _TYPES[column.type]) for column in domain().columns])


@per_domain
def catalog_schema() -> pa.Schema:
    """What the catalog stage hands on: a product, and how its brand and price tier were found."""
    found = [pa.field("brand_inferred", pa.bool_()), pa.field("price_tier", _text)]
    return pa.schema([*product_schema(), *found])


SEMANTIC_IDS = pa.schema([("product_id", _text), ("semantic_id", _prefix)])


@per_domain
def intent_type() -> pa.StructType:
    """One structured reading of a query; an unexpressed attribute is null."""
    return pa.struct(
        [pa.field(one.name, _texts if one.many else _text) for one in domain().attributes]
    )


CLUSTERS = pa.schema(
    {
        "prefix": _prefix,
        "level": pa.int8(),
        "size": pa.int64(),
        "purity": pa.float64(),
        "article_type": _text,
        "evidence": EVIDENCE,
    }
)
_query = {"query_id": _text, "query": _text}


@per_domain
def queries_schema() -> pa.Schema:
    """Queries with the cluster each asks for and their intents."""
    asked = {"prefix": _prefix, "level": pa.int8(), "intents": pa.list_(intent_type())}
    return pa.schema({**_query, **asked, "source": _text})


_graded = {"product_id": _text, "grade": pa.int8()}


def _candidates(**fields: pa.DataType) -> pa.ListType:
    return pa.list_(pa.struct(fields))


@per_domain
def ranking_schema() -> pa.Schema:
    """Task 1: a query, its intents and its graded candidates."""
    candidates = _candidates(**_graded, match=pa.float32())
    intents = pa.list_(intent_type())
    return pa.schema({**_query, "prefix": _prefix, "intents": intents, "candidates": candidates})


CLASSIFICATION = pa.schema(
    {**_query, "product_id": _text, "label": pa.int64(), "match": pa.float32()}
)
SIBLING = pa.schema(
    {**_query, "prefix": _prefix, "candidates": _candidates(product_id=_text, target=pa.bool_())}
)
PARAPHRASE = pa.schema(
    {
        "group_id": _text,
        "prefix": _prefix,
        "queries": pa.list_(pa.struct(_query)),
        "candidates": _candidates(**_graded),
    }
)


@per_domain
def corpus_schema() -> pa.Schema:
    """Every product: the text that models read, its semantic ID, its columns."""
    return pa.schema(
        [
            pa.field("product_id", _text),
            pa.field("text", _text),
            pa.field("semantic_id", _prefix),
            *list(catalog_schema())[1:],
        ]
    )


_scored = dict.fromkeys(("edition_id", "model", "model_id", "task", "query_id"), _text)

RESULTS = pa.schema({**_scored, "prefix": _text, "metric": _text, "value": pa.float64()})
"""One row per (edition, model, task, query, metric). ``model_id`` hashes name, revision, prompt,
dtype and our version; ``prefix`` is the anchor's codes joined by "-"; undefined is NaN."""

RANKINGS = pa.schema({**_scored, "product_id": _text, "score": pa.float64()})


def embeddings_schema(dim: int) -> pa.Schema:
    """Product embeddings: ``product_id`` and a float16 vector of ``dim`` numbers."""
    return pa.schema([("product_id", _text), ("vector", pa.list_(pa.float16(), dim))])


def strings_schema(dim: int) -> pa.Schema:
    """The ``strings`` config: a string and its L2-normalised float16 vector of ``dim`` numbers."""
    return pa.schema([("string", _text), ("vector", pa.list_(pa.float16(), dim))])


TASK_CONFIGS = ("ranking", "classification", "sibling", "paraphrase")
CONFIGS = (*TASK_CONFIGS, "corpus", "queries", "clusters", "strings")
_SCHEMAS: Mapping[str, Callable[[], pa.Schema]] = {
    "ranking": ranking_schema,
    "classification": lambda: CLASSIFICATION,
    "sibling": lambda: SIBLING,
    "paraphrase": lambda: PARAPHRASE,
    "corpus": corpus_schema,
    "queries": queries_schema,
    "clusters": lambda: CLUSTERS,
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
    return _SCHEMAS[config]()


def features(config: str, dim: int = 384) -> datasets.Features:
    """``datasets`` Features of an edition's config (imports datasets on first use)."""
    import datasets

    found = datasets.Features.from_arrow_schema(schema_of(config, dim))
    if config == "classification":
        found["label"] = datasets.ClassLabel(names=list(GRADE_NAMES))
    return found
