"""What real shoppers do to a query: lower case, words left out, a word misspelt.

In:  a query text and a random generator.
Out: the same wishes, typed in haste.

An optional variant of the grammar's queries (``queries.noise``, a share); those are labelled
"grammar-noisy" in ``source``.
"""

from __future__ import annotations

import re
from collections.abc import Collection

import numpy as np

__all__ = ["typed_in_haste"]

_LEFT_OUT = re.compile(
    r"^(?:i'm (?:looking|shopping) for|i am looking for|i want to buy|i'd like(?: to buy)?|i need|"
    r"i want|show me|can you show me|could you show me|please show me|do you have|looking for)\s+"
)
_SMALL_WORDS = re.compile(r"\b(?:a pair of|some|any|the|an|a)\s+")
_SLIPS = 0.5
_SHORTEST = 5


def typed_in_haste(text: str, rng: np.random.Generator, keep: Collection[str] = ()) -> str:
    """Lower case, no punctuation, some words left out, half the time one word misspelt.

    Args:
        text: a query.
        rng: source of the choices.
        keep: words that stay as they are (brands), in lower case.
    """
    hasty = re.sub(r"[.?!:,](?=\s|$)", "", text.lower())
    if rng.random() < 0.5:
        hasty = _LEFT_OUT.sub("", hasty)
    if rng.random() < 0.7:
        hasty = _SMALL_WORDS.sub("", hasty)
    words = hasty.split()
    long = [i for i, w in enumerate(words) if len(w) >= _SHORTEST and w.isalpha() and w not in keep]
    if long and rng.random() < _SLIPS:
        place = long[int(rng.random() * len(long))]
        words[place] = _misspelt(words[place], rng)
    return " ".join(words)


def _misspelt(word: str, rng: np.random.Generator) -> str:
    """Two neighbouring letters swapped, one left out or one doubled; never the first or last."""
    at = 1 + int(rng.random() * (len(word) - 3))
    slips = (word[at + 1] + word[at], word[at + 1], word[at] + word[at] + word[at + 1])
    return word[:at] + slips[int(rng.random() * len(slips))] + word[at + 2 :]
