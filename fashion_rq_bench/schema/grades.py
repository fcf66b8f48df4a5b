"""The four grades of relevance.

In:  nothing.
Out: :class:`Grade` and the names of its values.

Implements graded relevance read off the shared prefix (paper, section 4).
"""

from __future__ import annotations

from enum import IntEnum

__all__ = ["GRADE_NAMES", "Grade"]


class Grade(IntEnum):
    """Graded relevance read off the shared prefix (paper, section 4)."""

    IRRELEVANT = 0
    RELATED = 1
    SIBLING = 2
    EXACT = 3


GRADE_NAMES = ("irrelevant", "related", "sibling", "exact")
"""ClassLabel names; the position of a name is its grade."""
