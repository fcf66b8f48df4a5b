"""The words of a domain's texts, under their old address.

In:  nothing.
Out: the public functions of ``folding``, ``number``, ``tokens`` and ``terms``; no new code imports
     this module (paper, section 8.0.4).
"""

from __future__ import annotations

from fashion_rq_bench.schema.domain import domain
from fashion_rq_bench.words.folding import fold
from fashion_rq_bench.words.number import plural, singular
from fashion_rq_bench.words.terms import (
    canonical,
    choice_of,
    find_all_terms,
    find_terms,
    synonyms,
    terms,
)
from fashion_rq_bench.words.tokens import contains, token_key, tokens

__all__ = [
    "canonical",
    "contains",
    "find_all_terms",
    "find_terms",
    "fold",
    "plural",
    "singular",
    "synonyms",
    "terms",
    "token_key",
    "tokens",
]


def age_group(value: str | None) -> str | None:
    """The age that a text names, or None."""
    found = domain().role("age")
    return choice_of(found, value) if found else None
