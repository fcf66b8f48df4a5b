"""Rel and AttrScore as an ``evaluate`` module; see ``fashion_rq_bench.relevance.attr_score``.

Products and intents are nested and mostly empty, which Arrow's inference gets wrong, so rows travel
through ``evaluate`` as JSON strings, made and read here.
"""

from __future__ import annotations

import functools
import json
import math
from collections.abc import Mapping
from typing import Any

import datasets
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

import fashion_rq_bench.editions.edition as editions
import fashion_rq_bench.editions.pool_relevance as judgements
import fashion_rq_bench.editions.pools as pools
import fashion_rq_bench.errors as errors
import fashion_rq_bench.metrics._base as base
import fashion_rq_bench.relevance.attr_score as library
import fashion_rq_bench.relevance.intents as intents_form
import fashion_rq_bench.relevance.weights_file as weights_file
import fashion_rq_bench.schema.attributes as attributes
import fashion_rq_bench.schema.domain as domains
import fashion_rq_bench.schema.tables as schema

_DESCRIPTION = """
Weighted query relevance and scores by attribute: how well do the retrieved products satisfy what
the query asks for? Rel is the mean over queries of the weighted mean match of the attributes that
a query expresses; AttrScore(a) is the mean match of attribute a over the queries that express it.
"""

_CITATION = """
FASHION-RQ: section 5 (Eq. 7) and 8.0.4; weights from Table 10.
"""

_INPUTS = """
Args:
    predictions: for each query the retrieved products, best first: mappings with the columns of a
        product (product_id, title, article_type, base_color, …), or product ids.
    references: for each query its intent (a mapping of attributes to values), a list of intents, or
        None.
    corpus: the products that ids point at, a table, dataset or list of mappings; by default the
        edition's.
    edition: path or name of the edition whose strings measure similarity ("fashion-rq-bench").
    similarity: another measure instead (fashion_rq_bench.relevance.similarity); results under
        different ones are not comparable.
    k: how many of the top products count (1); None for all.
    discounted: weigh rank r by 1 / log2(r + 1) instead of equally.
    weights: weight by attribute, or the path of a weights file ("weights.json", made by
        fashion-rq weights fit); by default the paper's.
    return_per_query: also give the values of every query.
Returns:
    "rel": mean R(q, p) in [0, 1] over "n_queries"; "n_undefined" queries express no attribute;
    "attr_score": by attribute, NaN where no query expresses it; "n": queries by attribute;
    "n_missing": those whose product lacks the value, so that 0.5 stood in; "similarity": its name.
Examples:
    >>> metric = evaluate.load("attr_relevance")
    >>> shirt = {"product_id": "1", "article_type": "Shirts", "gender": "Men"}
    >>> intent = {"gender": "women"}
    >>> metric.compute(predictions=[[shirt]], references=[intent])["rel"]
    0.1
"""


@domains.per_domain
def _columns() -> dict[str, Any]:
    """Columns of a product and their types."""
    return {field.name: field.type for field in [*schema.catalog_schema(), *schema.corpus_schema()]}


def _value(value: Any, kind: Any) -> Any:
    """``value`` as JSON has it, or an error if it does not fit the column's type."""
    if value is None or (pa.types.is_boolean(kind) and isinstance(value, bool)):
        return value
    if pa.types.is_list(kind):
        items = [value] if isinstance(value, str) else list(value)
        return [_value(item, kind.value_type) for item in items]
    if pa.types.is_string(kind):
        if isinstance(value, str):
            return value
        raise TypeError
    number = float(value) if pa.types.is_floating(kind) else int(value)
    if isinstance(value, bool | str) or not math.isfinite(number) or number != value:
        raise TypeError
    return number


def _product(product: Mapping[str, Any], row: int) -> dict[str, Any]:
    checked = {}
    for field, value in product.items():
        if field not in _columns():
            raise errors.MetricInputError(
                f"A product in predictions of row {row} has an unknown field.",
                given=field,
                allowed=_columns(),
            )
        try:
            checked[field] = _value(value, _columns()[field])
        except (TypeError, ValueError, OverflowError):
            raise errors.MetricInputError(
                f"{field} of a product in predictions of row {row} must be null or a value of "
                f"type {_columns()[field]}.",
                given=value,
            ) from None
    return checked


def _ranking(row: Any, index: int) -> list[Any]:
    if isinstance(row, str | Mapping) or not hasattr(row, "__len__"):
        raise errors.MetricInputError(
            f"predictions of row {index} must be a list of products or of product ids.", given=row
        )
    if any(isinstance(item, Mapping) for item in row):
        mixed = [item for item in row if not isinstance(item, Mapping)]
        if mixed:
            raise errors.MetricInputError(
                f"predictions of row {index} mix products and ids.", given=mixed[0]
            )
        return [_product(item, index) for item in row]
    return [base.identifier(item, index, "product_id in predictions") for item in row]


def _table(corpus: Any) -> pa.Table:
    """A corpus of any accepted form as a table with the columns of a product that it has."""
    table = corpus
    if isinstance(corpus, datasets.Dataset):
        table = corpus.with_format("arrow")[:]
    elif not isinstance(corpus, pa.Table):
        table = _products([_product(item, row) for row, item in enumerate(corpus)])
    known = [name for name in table.column_names if name in _columns()]
    if "product_id" not in known:
        raise errors.MetricInputError("corpus lacks product_id.", given=table.column_names)
    return table.select(known)


def _products(products: list[dict[str, Any]]) -> pa.Table:
    return pa.Table.from_pylist(products, schema=pa.schema(list(_columns().items())))


def _positions(rankings: list[list[str]], corpus: pa.Table) -> list[Any]:
    """Place in the corpus of every product id."""
    flat = pa.array([item for ranking in rankings for item in ranking], pa.string())
    places = pc.index_in(flat, value_set=corpus["product_id"].combine_chunks())
    if places.null_count:
        unknown = flat.filter(pc.is_null(places))
        raise errors.MetricInputError(
            f"{len(unknown)} product ids are not in the corpus.",
            given=unknown[0].as_py(),
            fix="Pass the products as mappings, or the corpus they come from as corpus=.",
        )
    ends = np.cumsum([len(ranking) for ranking in rankings])
    return np.split(places.to_numpy(), ends[:-1])


def _placed(rankings: list[list[Any]], corpus: Any, edition: str) -> tuple[pa.Table, list[Any]]:
    """The ranked products' table, and the places of each ranking in it."""
    products = [item for ranking in rankings for item in ranking]
    if any(isinstance(item, str) for item in products):
        if corpus is None:
            corpus = _edition(str(edition)).edition.table("corpus")
        table = _table(corpus)
        return table, _positions(rankings, table)
    ends = np.cumsum([len(ranking) for ranking in rankings])
    return _products(products), np.split(np.arange(len(products)), ends[:-1])


@functools.lru_cache(maxsize=2)
def _edition(path_or_name: str) -> pools.Collection:
    return pools.Collection.read(editions.Edition.open(path_or_name))


def _sold(options: Mapping[str, Any]) -> attributes.Domain:
    """The domain of the edition that is asked for; without any, the one in force."""
    if "edition" not in options and options.get("similarity") is not None:
        return domains.domain()
    return _edition(str(options.get("edition", schema.NAME))).edition.domain


class AttrRelevance(base.ValidatedMetric):
    """Rel and AttrScore."""

    texts = (_DESCRIPTION, _CITATION, _INPUTS)
    features_of_input = datasets.Features(
        {"predictions": datasets.Value("string"), "references": datasets.Value("string")}
    )

    def checked(self, predictions: Any, references: Any) -> tuple[list[Any], list[Any]]:
        """See :meth:`ValidatedMetric.checked`."""
        base.check_equally_long(predictions, references)
        rankings = [_ranking(row, index) for index, row in enumerate(predictions)]
        readings = intents_form.intents_array(references).to_pylist()
        return [json.dumps(row) for row in rankings], [json.dumps(row) for row in readings]

    def compute(self, **options: Any) -> dict[str, Any] | None:
        """See :meth:`ValidatedMetric.compute`; what the edition sells is in force meanwhile."""
        with domains.using(_sold(options)):
            return super().compute(**options)

    def _compute(
        self,
        predictions: list[str],
        references: list[str],
        *,
        corpus: Any = None,
        edition: str = schema.NAME,
        similarity: Any = None,
        k: int | None = 1,
        discounted: bool = False,
        weights: weights_file.WeightsSource | None = None,
        return_per_query: bool = False,
    ) -> dict[str, Any]:
        rankings, intents = (
            [json.loads(row) for row in rows] for rows in (predictions, references)
        )
        if similarity is None:
            similarity = judgements.declared_similarity(_edition(str(edition)))
        table, places = _placed(rankings, corpus, edition)
        config = weights_file.relevance_config(weights)
        found = library.score_rankings(
            intents, table, places, similarity, k=k, discounted=discounted, config=config
        )
        return _result(found, similarity.name, return_per_query)


def _result(
    found: library.RelevanceSummary, similarity: str, return_per_query: bool
) -> dict[str, Any]:
    result = {
        "rel": found.rel,
        "n_queries": found.n_queries,
        "n_undefined": found.n_undefined,
        "attr_score": dict(found.attr_score),
        "n": dict(found.n),
        "n_missing": dict(found.n_missing),
        "similarity": similarity,
    }
    if return_per_query:
        columns = found.per_query_attr.T.tolist()
        result["per_query"] = {
            "rel": found.per_query_rel.tolist(),
            "attr_score": dict(zip(domains.domain().names, columns, strict=True)),
        }
    return result
