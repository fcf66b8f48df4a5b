"""Curated terms of a domain's attributes: their synonyms, and finding them in text.

In:  texts; the domain's tables of terms (an attribute's ``terms`` names one), its table "ignore".
Out: canonical terms, found as whole tokens, the longest first.

Implements the curated vocabulary and the synonyms of the paper's section 8.0.4. Nothing here knows
a single word of it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from types import MappingProxyType

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from fashion_rq_bench.errors import ConfigError
from fashion_rq_bench.schema.attributes import Attribute, Domain
from fashion_rq_bench.schema.domain import domain, per_domain
from fashion_rq_bench.words.folding import fold
from fashion_rq_bench.words.number import singular_of

__all__ = [
    "canonical",
    "choice_of",
    "find_all_terms",
    "find_terms",
    "synonyms",
    "term_tables",
    "terms",
]

_IGNORED = ""  # the "canonical term" of phrases that match and count for nothing


@per_domain
def term_tables() -> tuple[str, ...]:
    """Names of the domain's tables of terms, in the order of the attributes that read them."""
    return tuple(dict.fromkeys(one.terms for one in domain().attributes if one.terms))


def _check(attribute: str) -> None:
    if attribute not in term_tables():
        raise ConfigError(
            "The vocabulary has no terms for this attribute.",
            given=attribute,
            allowed=term_tables(),
        )


def synonyms(attribute: str) -> Mapping[str, tuple[str, ...]]:
    """Canonical terms of an attribute and the other spellings of each.

    Raises:
        ConfigError: if the attribute is not one of :func:`term_tables`.
    """
    _check(attribute)
    return MappingProxyType({term: tuple(more) for term, more in domain().table(attribute).items()})


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
    for phrase in domain().table("ignore").get(attribute, ()):
        found[_words(phrase)] = _IGNORED
    return found


def _words(text: str) -> tuple[str, ...]:
    return tuple(singular_of(word) for word in fold(text).split())


@per_domain
def _trie(attribute: str) -> _Trie:
    number = {name: position for position, name in enumerate([*terms(attribute), _IGNORED])}
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
    singulars = [singular_of(word) for word in flat.dictionary.to_pylist()]
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
        attribute: one of :func:`term_tables`.

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


def canonical(value: str, attribute: str) -> str:
    """Canonical term of one value: "Checks" gives "checked", "100% cotton" gives "cotton".

    A value without a known term comes back folded; of several terms the first counts.

    Raises:
        ConfigError: if the attribute has no terms.
    """
    return _canonical(domain(), value, attribute)


@lru_cache(maxsize=65_536)
def _canonical(_: Domain, value: str, attribute: str) -> str:
    found = find_terms([value], attribute)[0]
    return found[0] if found else fold(value)


def choice_of(attribute: Attribute, text: str | None) -> str | None:
    """The one value of an attribute that a text names, or None: "Men" gives "male".

    A text that names several is the attribute's setting ``either`` where it has one ("men and
    women" are unisex), else the first of them ("Kids-Boys" are kids). An attribute without terms
    knows only the ``values`` of its settings.
    """
    if not attribute.terms:
        folded = fold(text or "")
        return folded if folded in attribute.settings.get("values", ()) else None
    found = find_terms([text], attribute.terms)[0]
    if not found:
        return None
    either: str | None = attribute.settings.get("either")
    return found[0] if len(found) == 1 or either is None else either
