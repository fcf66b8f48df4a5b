"""The words of fashion catalogs: folding, number, synonyms, and finding terms in text.

In:  text of queries, titles, descriptions and attribute values.
Out: whole tokens folded over case, hyphens and number; canonical terms for pattern, material,
     occasion, style, gender and age group.

Implements the curated vocabulary and the synonyms of the paper's section 8.0.4. The words stand in
``domains/fashion/vocabulary.toml``; nothing here knows a single one of them.

Matching is always by whole tokens: "tan" is not in "tank", and "men" is not in "women".
"""

from __future__ import annotations

import tomllib
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from fashion_rq_bench.errors import ConfigError

__all__ = [
    "AGE_GROUPS",
    "GENDERS",
    "TERM_ATTRIBUTES",
    "age_group",
    "canonical",
    "contains",
    "find_all_terms",
    "find_terms",
    "fold",
    "gender",
    "plural",
    "singular",
    "synonyms",
    "terms",
    "token_key",
    "tokens",
]

GENDERS = ("male", "female", "unisex")
"""Genders after synonyms are folded (paper 8.0.4: "men", "man", "boys" are all male)."""

AGE_GROUPS = ("baby", "toddler", "kids", "adult")
"""The ordered scale of ages (paper 8.0.4); distances on it are positions in this tuple."""

TERM_ATTRIBUTES = ("pattern", "material", "occasion", "style", "gender", "age_group")
"""Attributes that have curated terms."""

_IGNORED = ""  # the "canonical term" of phrases that match and count for nothing
_APOSTROPHES = "'’‘ʼ`´"
_VOWELS_OR_S = frozenset("aeious")


class _Spaces(dict[int, str]):
    """Translation table, filled on demand: letters, marks and digits stay, the rest is a space."""

    def __missing__(self, code: int) -> str:
        character = chr(code)
        kept = unicodedata.category(character)[0] in "LMN"
        self[code] = found = character if kept else " "
        return found


_SPACES = _Spaces({ord(mark): "" for mark in _APOSTROPHES})
# Accents of Latin letters; the vowel signs of Indian scripts are other characters and stay.
_SPACES.update(dict.fromkeys(range(0x0300, 0x0370), ""))


@cache
def _data() -> dict[str, Any]:
    path = Path(__file__).parent.parent / "schema" / "domains" / "fashion" / "vocabulary.toml"
    return tomllib.loads(path.read_text(encoding="utf-8"))


def fold(text: str) -> str:
    """Text with case, accents, punctuation and runs of space removed.

    Hyphens and other punctuation become one space, apostrophes vanish: "Men's T-Shirt " becomes
    "mens t shirt". Idempotent. Letters of every script stay.
    """
    if not text.isascii():
        text = unicodedata.normalize("NFKD", text)
    folded = text.casefold().translate(_SPACES)
    if not folded.isascii():
        folded = unicodedata.normalize("NFC", folded)
    return " ".join(folded.split())


@dataclass(frozen=True, slots=True)
class _Number:
    """Lists that the rules of number consult, from the data file."""

    fixed: frozenset[str]
    ie_words: frozenset[str]
    f_words: Mapping[str, str]
    irregular: Mapping[str, str]
    irregular_plurals: Mapping[str, str]
    pairs: Mapping[str, str]


@cache
def _number() -> _Number:
    data = _data()["number"]
    irregular: dict[str, str] = data["irregular"]
    f_words = {f"{word.removesuffix('e').removesuffix('f')}ves": word for word in data["f_words"]}
    plurals = {word: many for many, word in f_words.items()}
    # The first plural listed for a word is the one to write.
    plurals |= {one: many for many, one in reversed(irregular.items())}
    return _Number(
        fixed=frozenset(data["plural_only"] + data["uncountable"] + data["unchanged"]),
        ie_words=frozenset(data["ie_words"]),
        f_words=f_words,
        irregular=irregular,
        irregular_plurals=plurals,
        pairs=data["pairs"],
    )


@lru_cache(maxsize=65_536)
def _one(word: str) -> str:
    """Singular of one folded word; words that have none come back as they are."""
    number = _number()
    if word in number.pairs:
        return number.pairs[word]
    if word in number.irregular:
        return number.irregular[word]
    if word in number.f_words:
        return number.f_words[word]
    if word in number.fixed or len(word) < 4 or not word.endswith("s"):
        return word
    return _regular_singular(word, number.ie_words)


def _regular_singular(word: str, ie_words: frozenset[str]) -> str:
    if word.endswith(("ss", "us")):
        return word
    if word.endswith("ies"):
        return word[:-1] if word[:-1] in ie_words else f"{word[:-3]}y"
    if word.endswith(("sses", "ches", "shes", "xes", "zzes")):
        return word[:-2]
    return word[:-1]


def _many(word: str) -> str:
    """Plural of one folded word."""
    number = _number()
    word = _one(word)
    if word in number.irregular_plurals:
        return number.irregular_plurals[word]
    if word in number.fixed:
        return word
    if word.endswith("y") and len(word) > 1 and word[-2] not in _VOWELS_OR_S:
        return f"{word[:-1]}ies"
    if word.endswith(("s", "x", "z", "ch", "sh")):
        return f"{word}es"
    return f"{word}s"


def singular(phrase: str) -> str:
    """Phrase, folded, with its last word in the singular: "Casual Shoes" gives "casual shoe".

    Words written only in the plural ("jeans", "sunglasses") and words without number ("swimwear")
    stay as they are.
    """
    words = fold(phrase).split()
    return " ".join([*words[:-1], _one(words[-1])]) if words else ""


def plural(phrase: str) -> str:
    """Phrase, folded, with its last word in the plural: "night dress" gives "night dresses"."""
    words = fold(phrase).split()
    return " ".join([*words[:-1], _many(words[-1])]) if words else ""


@cache
def _compounds() -> tuple[dict[str, str], dict[tuple[str, str], str]]:
    """Spellings of one word: by single word, and by pair of words (both in the singular)."""
    alone: dict[str, str] = {}
    paired: dict[tuple[str, str], str] = {}
    for joined, variants in _data()["compounds"].items():
        for variant in variants:
            words = [_one(word) for word in fold(variant).split()]
            if len(words) == 1:
                alone[words[0]] = joined
            else:
                paired[words[0], words[1]] = joined
    return alone, paired


@lru_cache(maxsize=65_536)
def tokens(text: str) -> tuple[str, ...]:
    """Folded words of a text, each in the singular, with spellings of one word made the same.

    "Men's T-Shirts" and "mens tshirt" both give ("men", "tshirt").
    """
    alone, paired = _compounds()
    words = [_one(word) for word in fold(text).split()]
    found: list[str] = []
    for word in words:
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


def _check(attribute: str) -> None:
    if attribute not in TERM_ATTRIBUTES:
        raise ConfigError(
            "The vocabulary has no terms for this attribute.",
            given=attribute,
            allowed=TERM_ATTRIBUTES,
        )


def synonyms(attribute: str) -> Mapping[str, tuple[str, ...]]:
    """Canonical terms of an attribute and the other spellings of each.

    Raises:
        ConfigError: if the attribute is not one of ``TERM_ATTRIBUTES``.
    """
    _check(attribute)
    return MappingProxyType({term: tuple(more) for term, more in _data()[attribute].items()})


def terms(attribute: str) -> tuple[str, ...]:
    """Canonical terms of an attribute, in the data file's order."""
    return tuple(synonyms(attribute))


@dataclass(frozen=True, slots=True)
class _Trie:
    """All spellings of an attribute as one automaton over word numbers.

    ``words`` maps a word to its column in ``moves`` (column 0 is any other word); ``moves`` is
    (states, columns) with -1 for no way on; ``ends`` gives the term completed in a state, or -1.
    """

    words: dict[str, int]
    moves: npt.NDArray[np.int32]
    ends: npt.NDArray[np.int32]
    depth: int


def _phrases(attribute: str) -> dict[tuple[str, ...], str]:
    """Every spelling as a tuple of words in the singular, and its canonical term."""
    found: dict[tuple[str, ...], str] = {}
    for term, spellings in synonyms(attribute).items():
        for spelling in (term, *spellings):
            found.setdefault(_words(spelling), term)
    for phrase in _data()["ignore"].get(attribute, ()):
        found[_words(phrase)] = _IGNORED
    return found


def _words(text: str) -> tuple[str, ...]:
    return tuple(_one(word) for word in fold(text).split())


@cache
def _trie(attribute: str) -> _Trie:
    names = [*terms(attribute), _IGNORED]
    number = {name: position for position, name in enumerate(names)}
    words: dict[str, int] = {}
    moves: list[dict[int, int]] = [{}]
    ends: dict[int, int] = {}
    phrases = _phrases(attribute)
    for phrase, term in phrases.items():
        state = 0
        for word in phrase:
            column = words.setdefault(word, len(words) + 1)
            state = moves[state].setdefault(column, len(moves))
            if state == len(moves):
                moves.append({})
        ends[state] = number[term]
    table = np.full((len(moves), len(words) + 1), -1, dtype=np.int32)
    for state, ways in enumerate(moves):
        table[state, list(ways)] = list(ways.values())
    finals = np.full(len(moves), -1, dtype=np.int32)
    finals[list(ends)] = list(ends.values())
    return _Trie(words, table, finals, max(map(len, phrases)))


_Encoded = tuple[npt.NDArray[np.int64], npt.NDArray[np.int64], list[str]]


def _encode(texts: Iterable[str | None]) -> _Encoded:
    """Positions of all texts' words in a row, the text each belongs to, and the distinct words.

    Each text ends with a word of its own (a line break), so that no phrase runs over its edge.
    """
    folded = pa.array([f"{fold(text or '')} \n" for text in texts], pa.large_string())
    lists = pc.split_pattern(folded, " ")
    flat = lists.flatten().dictionary_encode()
    owner = np.repeat(np.arange(len(folded)), np.diff(lists.offsets.to_numpy()))
    singulars = [_one(word) for word in flat.dictionary.to_pylist()]
    return flat.indices.to_numpy(), owner, singulars


def _matches(
    trie: _Trie, columns: npt.NDArray[np.int32]
) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.int32], npt.NDArray[np.int32]]:
    """Start, length and term of the longest match at every position that has one."""
    at = np.flatnonzero(trie.moves[0, columns] >= 0)
    state = trie.moves[0, columns[at]]
    length = np.zeros(len(at), dtype=np.int32)
    term = np.full(len(at), -1, dtype=np.int32)
    live = np.arange(len(at))
    for depth in range(1, trie.depth + 1):
        done = trie.ends[state[live]]
        hit = done >= 0
        length[live[hit]], term[live[hit]] = depth, done[hit]
        following = at[live] + depth
        inside = following < len(columns)
        live, following = live[inside], following[inside]
        state[live] = trie.moves[state[live], columns[following]]
        live = live[state[live] >= 0]
    kept = length > 0
    return at[kept], length[kept], term[kept]


def find_terms(texts: Sequence[str | None] | pa.Array, attribute: str) -> list[list[str]]:
    """Canonical terms found in each text as whole tokens, the longest first where they overlap.

    Args:
        texts: strings (null counts as empty), or an Arrow string array.
        attribute: one of ``TERM_ATTRIBUTES``.

    Returns:
        One list per text: distinct canonical terms in order of first occurrence.

    Raises:
        ConfigError: if the attribute has no terms.

    Repeated texts are searched once; 44,446 product texts take about a second.
    """
    return find_all_terms(texts, (attribute,))[attribute]


def find_all_terms(
    texts: Sequence[str | None] | pa.Array, attributes: Sequence[str]
) -> dict[str, list[list[str]]]:
    """:func:`find_terms` for several attributes, reading the texts once.

    Returns:
        Per attribute, one list per text.

    Raises:
        ConfigError: if an attribute has no terms.
    """
    for attribute in attributes:
        _check(attribute)
    if isinstance(texts, pa.Array | pa.ChunkedArray):
        texts = texts.to_pylist()
    position: dict[str | None, int] = {}
    order = [position.setdefault(text, len(position)) for text in texts]
    encoded = _encode(position)
    found = {name: _find(encoded, len(position), name) for name in attributes}
    return {name: [list(lists[index]) for index in order] for name, lists in found.items()}


def _find(encoded: _Encoded, size: int, attribute: str) -> list[list[str]]:
    """Terms of each of ``size`` encoded texts."""
    trie, names = _trie(attribute), terms(attribute)
    found: list[list[str]] = [[] for _ in range(size)]
    indices, owner, words = encoded
    lookup = np.array([trie.words.get(word, 0) for word in words], dtype=np.int32)
    starts, lengths, hits = _matches(trie, lookup[indices])
    free_from = 0
    for start, length, term, text in zip(
        starts.tolist(), lengths.tolist(), hits.tolist(), owner[starts].tolist(), strict=True
    ):
        if start < free_from:
            continue
        free_from = start + length
        if term < len(names) and names[term] not in found[text]:
            found[text].append(names[term])
    return found


@lru_cache(maxsize=65_536)
def canonical(value: str, attribute: str) -> str:
    """Canonical term of one value: "Checks" gives "checked", "100% cotton" gives "cotton".

    A value without a known term comes back folded; of several terms the first counts.

    Raises:
        ConfigError: if the attribute has no terms.
    """
    found = find_terms([value], attribute)[0]
    return found[0] if found else fold(value)


def gender(value: str | None) -> str | None:
    """One of ``GENDERS``, or None if the value names none.

    Boys are male and girls female (paper 8.0.4); their age is :func:`age_group`'s to say. A value
    that names both is unisex.
    """
    found = find_terms([value], "gender")[0]
    if not found:
        return None
    return found[0] if len(set(found)) == 1 else "unisex"


def age_group(value: str | None) -> str | None:
    """One of ``AGE_GROUPS``, or None: "Adults-Men" gives adult, "Kids-Boys" and "boys" kids."""
    found = find_terms([value], "age_group")[0]
    return found[0] if found else None
