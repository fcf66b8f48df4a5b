"""Tokens of a text: folded words in the singular, with spellings of one word made the same.

In:  text of queries, titles, descriptions and attribute values; the domain's table "compounds".
Out: tokens, and keys in which one text's tokens can be searched for as a run.

Implements matching by whole tokens (paper, section 8.0.4): "tan" is not in "tank", and "men" is
not in "women".
"""

from __future__ import annotations

from functools import lru_cache

from fashion_rq_bench.schema.attributes import Domain
from fashion_rq_bench.schema.domain import domain, per_domain
from fashion_rq_bench.words.folding import fold
from fashion_rq_bench.words.number import singular_of

__all__ = ["contains", "token_key", "tokens"]


@per_domain
def _compounds() -> tuple[dict[str, str], dict[tuple[str, str], str]]:
    """Spellings of one word: by single word, and by pair of words (both in the singular)."""
    alone: dict[str, str] = {}
    paired: dict[tuple[str, str], str] = {}
    for joined, variants in domain().table("compounds").items():
        for variant in variants:
            words = [singular_of(word) for word in fold(variant).split()]
            if len(words) == 1:
                alone[words[0]] = joined
            else:
                paired[words[0], words[1]] = joined
    return alone, paired


def tokens(text: str) -> tuple[str, ...]:
    """Folded words of a text, each in the singular, with spellings of one word made the same.

    "Men's T-Shirts" and "mens tshirt" both give ("men", "tshirt").
    """
    return _tokens(domain(), text)


@lru_cache(maxsize=65_536)
def _tokens(_: Domain, text: str) -> tuple[str, ...]:
    alone, paired = _compounds()
    found: list[str] = []
    for word in map(singular_of, fold(text).split()):
        if found and (found[-1], word) in paired:
            found[-1] = paired[found[-1], word]
        else:
            found.append(word)
    return tuple(part for word in found for part in alone.get(word, word).split())


def token_key(text: str) -> str:
    """Tokens joined by spaces with a space at either end (" men tshirt "), or "" if there are none.

    One key contains another exactly if its tokens contain the other's as a run, so vectorised
    substring search over keys is whole-token search.
    """
    found = tokens(text)
    return f" {' '.join(found)} " if found else ""


def contains(text: str, phrase: str) -> bool:
    """Whether the tokens of ``phrase`` stand in ``text`` as a run; an empty phrase never does."""
    key = token_key(phrase)
    return bool(key) and key in token_key(text)
