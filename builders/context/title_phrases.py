"""Frequent phrases of product titles.

In:  the catalog.
Out: the phrases of one to three words that occur often in titles and are not just the name of a
     brand, colour, person or product type, as a sparse product x phrase matrix.

The paper's signatures use productDisplayName (supplement 8.0.2) and its queries are grounded in
the dominant phrases of titles (query prompt, rule 7).
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import scipy.sparse as sp

from fashion_rq_bench.schema.domain import domain, per_domain
from fashion_rq_bench.support.optional import require

__all__ = ["Phrases", "title_phrases"]

_WORD = r"[^\W_]+(?:['’&][^\W_]+)*"
_EMPTY = "a an and as at by for from in is it of on or s set t the this to with w your"


@dataclass(frozen=True)
class Phrases:
    """Title phrases of a catalog.

    Attributes:
        values: phrase texts, sorted.
        matrix: (products, phrases) int8 CSR, 1 where the title holds the phrase.
    """

    values: list[str]
    matrix: sp.csr_array


def title_phrases(
    catalog: pa.Table, *, min_count: int = 20, max_words: int = 3, limit: int = 1000
) -> Phrases:
    """Mine the phrases of the catalog's titles.

    Args:
        catalog: a table of schema CATALOG.
        min_count: titles that must hold a phrase.
        max_words: longest phrase, in words.
        limit: how many phrases to keep, the most frequent first.

    Returns:
        The phrases; none at all where no title holds a frequent one.
    """
    titles = [
        _without_brand(title or "", brand or "")
        for title, brand in zip(
            catalog["title"].to_pylist(), catalog["brand"].to_pylist(), strict=True
        )
    ]
    vectorizer = require("sklearn.feature_extraction.text", "build").CountVectorizer(
        token_pattern=_WORD, ngram_range=(1, max_words), binary=True, dtype=np.int8,
        min_df=min(min_count, max(len(titles), 1)),
    )  # fmt: skip
    try:
        counts = sp.csr_array(vectorizer.fit_transform(titles))
    except ValueError:  # no word is frequent enough, or there is no word at all
        return Phrases([], sp.csr_array((len(titles), 0), dtype=np.int8))
    names = np.asarray(vectorizer.get_feature_names_out(), dtype=object)
    naming = _naming_words(catalog)
    informative = np.array([_informative(name, naming) for name in names], dtype=bool)
    totals = np.asarray(counts.sum(axis=0, dtype=np.int64)).ravel()
    ranked = np.lexsort((np.arange(len(names)), -totals))
    kept = np.sort([column for column in ranked if informative[column]][:limit]).astype(np.intp)
    return Phrases([str(name) for name in names[kept]], sp.csr_array(counts[:, kept]))


def _without_brand(title: str, brand: str) -> str:
    return title[len(brand) :] if title.casefold().startswith(brand.casefold()) else title


def _naming_words(catalog: pa.Table) -> frozenset[str]:
    """Words that only repeat an attribute with a column of its own."""
    values: set[str] = set()
    told = [one.column for one in map(domain().role, ("color", "person")) if one]
    for column in (*told, "article_type", "sub_category"):
        values.update(value for value in catalog[column].unique().to_pylist() if value)
    return frozenset(word for value in values for word in _forms(value))


def _forms(value: str) -> Iterable[str]:
    for word in re.findall(_WORD, value.casefold()):
        yield from (word, word.removesuffix("s"), word.removesuffix("es"))


@per_domain
def _empty() -> frozenset[str]:
    """Words at whose edge no phrase begins or ends."""
    return frozenset([*_EMPTY.split(), *domain().table("titles").get("empty", ())])


def _informative(phrase: str, naming: frozenset[str]) -> bool:
    words = phrase.split()
    if words[0] in _empty() or words[-1] in _empty():
        return False
    return not any(word in naming for word in words) and any(word.isalpha() for word in words)
