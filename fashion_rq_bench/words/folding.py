"""Folding a text: without case, accents and punctuation.

In:  text of queries, titles, descriptions and attribute values.
Out: words with single spaces between them.

Serves the "folded" comparisons of the paper's section 8.0.4. No word of any language is known here.
"""

from __future__ import annotations

import unicodedata

__all__ = ["fold", "plain"]

_APOSTROPHES = "'’‘ʼ`´"


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


def plain(text: str) -> str:
    """Case-folded text with single spaces; unlike :func:`fold` it keeps punctuation."""
    return " ".join(text.casefold().split())
