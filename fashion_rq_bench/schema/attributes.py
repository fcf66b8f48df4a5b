"""What an attribute is, and the set of attributes that makes a domain.

In:  nothing.
Out: the frozen :class:`Attribute` and :class:`Domain`, checked as they are made. ``domain.py``
     reads them from a TOML file.

Implements φ(q)'s attributes (paper, section 3) and their comparators' settings (8.0.4) as data: no
other module writes an attribute's name.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from types import MappingProxyType
from typing import Any

from fashion_rq_bench.errors import ConfigError

__all__ = ["COMPARATORS", "CORE_COLUMNS", "PRICE_TIERS", "ROLES", "Attribute", "Column", "Domain"]

ROLES = ("type", "person", "age", "color", "words", "occasion", "brand", "price")
"""How an attribute is said: the noun itself, whom it is for, their age, its colour, words beside
the noun, what it is for, who makes it, what it costs. At most one attribute has each role, but any
number are ``words``; one is the ``type``."""

COMPARATORS = ("category", "choice", "scale", "color", "text", "name", "tier")
"""Names of the modules of ``relevance/comparators/``."""

COLUMN_TYPES = ("text", "texts", "integer", "number")

CORE_COLUMNS = {
    "product_id": "text",
    "title": "text",
    "description": "text",
    "master_category": "text",
    "sub_category": "text",
    "article_type": "text",
    "brand": "text",
    "price": "number",
    "image": "text",
}
"""Columns of every domain's products: the shop's own, whatever it sells."""

_CATEGORIES = ("master_category", "sub_category", "article_type")

PRICE_TIERS = ("budget", "mid-range", "premium")
"""Tiers of a price, the cheapest first (paper 8.0.4)."""


def _nothing() -> Mapping[str, Any]:
    return MappingProxyType({})


@dataclass(frozen=True)
class Column:
    """A column of a catalog.

    Attributes:
        name: ours.
        type: one of "text", "texts", "integer", "number".
        aliases: names that sources give it, best first, without case, spaces and punctuation.
        heading: what people are shown for it.
    """

    name: str
    type: str = "text"
    aliases: tuple[str, ...] = ()
    heading: str = ""

    def __post_init__(self) -> None:
        _check_choice(self.type, COLUMN_TYPES, f"The column {self.name!r} has no such type.")


@dataclass(frozen=True, eq=False)
class Attribute:
    """One attribute of φ(q).

    Attributes:
        name: its key in an intent.
        role: how it is said, one of :data:`ROLES`.
        columns: catalog columns it is read from; the first is its own, the others count beside it.
        comparator: which comparator matches it, one of :data:`COMPARATORS`.
        settings: the comparator's own settings.
        many: a query may wish for a list of values.
        weight: w_a of R(q, p) unless weights are given.
        threshold: least match at which a wish counts as satisfied; 1 for hard attributes.
        wish: a query may wish for it.
        visible: it may show in a picture.
        terms: the domain's table of its terms, found in texts; None for none.
        planning: numbers of the query planner: ``appeal`` (how readily shoppers add it), ``range``
            (most values joined by "or"), ``least`` (least share of each), ``unknown`` (share of
            known values at which the rest are given the benefit of the doubt), ``before`` (share of
            wishes said before the noun).
    """

    name: str
    role: str
    columns: tuple[str, ...]
    comparator: str
    settings: Mapping[str, Any] = field(default_factory=_nothing)
    many: bool = False
    threshold: float = 1.0
    weight: float = 0.0
    wish: bool = True
    visible: bool = False
    terms: str | None = None
    planning: Mapping[str, float] = field(default_factory=_nothing)

    def __post_init__(self) -> None:
        what = f"The attribute {self.name!r} has no such"
        _check_choice(self.role, ROLES, f"{what} role.")
        _check_choice(self.comparator, COMPARATORS, f"{what} comparator.")
        if not self.columns:
            raise ConfigError(f"The attribute {self.name!r} is read from no column.")
        if not 0.0 <= self.threshold <= 1.0:
            raise ConfigError(
                f"The threshold of {self.name!r} must be in [0, 1].", given=self.threshold
            )
        if not self.weight >= 0:
            raise ConfigError(f"The weight of {self.name!r} must be at least 0.", given=self.weight)

    @property
    def hard(self) -> bool:
        """A wish is satisfied only by a full match, not by a close one."""
        return self.threshold >= 1.0

    @property
    def column(self) -> str:
        """Its own catalog column."""
        return self.columns[0]


@dataclass(frozen=True, eq=False)
class Domain:
    """What is sold, and what can be wished of it.

    Attributes:
        name: of the TOML file.
        attributes: in the order of an intent's fields.
        columns: a product's columns, in the order of a catalog's table.
        text: columns a model reads of a product between its title and its description.
        sets: further lists of columns by purpose (docs/domains.md), such as "context".
        folder: where its word lists lie.
        words: the file's tables of words, and those of the word lists, by name.
        digest: SHA-256 (hex) of the file and its word lists.
        source: the file as it was read, with its word lists put in.
    """

    name: str
    attributes: tuple[Attribute, ...]
    columns: tuple[Column, ...]
    text: tuple[str, ...]
    sets: Mapping[str, tuple[str, ...]]
    folder: Path
    words: Mapping[str, Any]
    digest: str
    source: Mapping[str, Any] = field(default_factory=_nothing, repr=False)

    def __post_init__(self) -> None:
        names = [column.name for column in self.columns]
        for what, found in (("attribute", list(self.names)), ("column", names)):
            twice = next((name for name in found if found.count(name) > 1), None)
            if twice:
                raise ConfigError(
                    f"The domain {self.name!r} has the same {what} twice.", given=twice
                )
        if [one.role for one in self.attributes].count("type") != 1:
            raise ConfigError(f"The domain {self.name!r} needs one attribute of the role 'type'.")
        for role in ROLES:
            if role != "words" and sum(one.role == role for one in self.attributes) > 1:
                raise ConfigError(f"Two attributes of {self.name!r} have one role.", given=role)
        for one in self.attributes:
            for column in one.columns:
                if column not in (*names, "price_tier"):
                    raise ConfigError(
                        f"The attribute {one.name!r} is read from an unknown column.",
                        given=column,
                        allowed=names,
                    )
        if not sum(one.weight for one in self.attributes) > 0:
            raise ConfigError(f"No attribute of the domain {self.name!r} has a weight above 0.")

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Names of the attributes, in their order."""
        return tuple(one.name for one in self.attributes)

    @cached_property
    def many(self) -> tuple[str, ...]:
        """Names of the attributes of which a query may wish for a list."""
        return tuple(one.name for one in self.attributes if one.many)

    @cached_property
    def single(self) -> tuple[str, ...]:
        """Names of the attributes of which a query has one value at most."""
        return tuple(one.name for one in self.attributes if not one.many)

    @cached_property
    def by_name(self) -> Mapping[str, Attribute]:
        """The attributes by name."""
        return MappingProxyType({one.name: one for one in self.attributes})

    def role(self, role: str) -> Attribute | None:
        """The attribute of a role, or None."""
        return next((one for one in self.attributes if one.role == role), None)

    def name_of(self, role: str) -> str:
        """The name of the attribute of a role; "" where the domain has none."""
        found = self.role(role)
        return found.name if found else ""

    @cached_property
    def type(self) -> Attribute:
        """The attribute that is the noun."""
        return next(one for one in self.attributes if one.role == "type")

    def set_of(self, purpose: str) -> tuple[str, ...]:
        """The columns for a purpose; the attributes' own columns where the domain lists none."""
        own = tuple(dict.fromkeys(one.column for one in self.attributes))
        return self.sets.get(purpose, tuple(name for name in own if name != "price_tier"))

    def plain(self, purpose: str) -> tuple[str, ...]:
        """The columns of one value for a purpose; categories, brand and the attributes' own where
        the domain lists none.
        """
        own = (*_CATEGORIES, "brand", *(name for one in self.attributes for name in one.columns))
        skipped = {*self.lists, *self.numbers}
        found = (name for name in (*own, "price_tier") if name not in skipped)
        return self.sets.get(purpose, tuple(dict.fromkeys(found)))

    @cached_property
    def lists(self) -> tuple[str, ...]:
        """The columns that hold lists."""
        return tuple(column.name for column in self.columns if column.type == "texts")

    @cached_property
    def numbers(self) -> tuple[str, ...]:
        """The columns of measures, then those of counts."""
        kinds = ("number", "integer")
        return tuple(c.name for kind in kinds for c in self.columns if c.type == kind)

    @cached_property
    def shown(self) -> tuple[str, ...]:
        """The columns that people are shown of a product."""
        return tuple(dict.fromkeys(("title", *self.set_of("shown"), "price")))

    def table(self, name: str) -> Mapping[str, Any]:
        """A table of words; empty where the domain has none of that name."""
        found: Mapping[str, Any] = self.words.get(name, {})
        return found


def _check_choice(given: str, allowed: tuple[str, ...], message: str) -> None:
    if given not in allowed:
        raise ConfigError(message, given=given, allowed=allowed)
