"""Which domain is in force, and reading one from a TOML file.

In:  the name of a domain of ours ("fashion"), or the path of a TOML file.
Out: a :class:`~fashion_rq_bench.schema.attributes.Domain`; :func:`domain` gives the one in force.

The domain in force is ambient, like the precision of ``decimal``: it is fashion unless an edge (an
edition, a build, a command, a metric) enters :func:`using`. What is read is never changed. Why it
is not an argument of every function stands in ``docs/design/0014-domains.md``.
"""

from __future__ import annotations

import csv
import hashlib
import json
import tomllib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache, wraps
from pathlib import Path
from types import MappingProxyType
from typing import Any, ParamSpec, TypeVar

from fashion_rq_bench.errors import ConfigError
from fashion_rq_bench.schema.attributes import CORE_COLUMNS, Attribute, Column, Domain

__all__ = ["DEFAULT", "domain", "enter", "load_domain", "parse_domain", "per_domain", "using"]

DEFAULT = "fashion"

_HOME = Path(__file__).parent / "domains"
_KEYS = ("name", "columns", "attributes", "text", "sets", "lists", "words", "terms")
_ATTRIBUTE_KEYS = tuple(Attribute.__dataclass_fields__)
_LAST = ("image",)

P = ParamSpec("P")
T = TypeVar("T")

_active: ContextVar[Domain | None] = ContextVar("fashion_rq_bench_domain", default=None)


def domain() -> Domain:
    """The domain in force."""
    return _active.get() or load_domain(DEFAULT)


@contextmanager
def using(one: Domain) -> Iterator[Domain]:
    """Put a domain in force for the block and what it calls."""
    token = _active.set(one)
    try:
        yield one
    finally:
        _active.reset(token)


def enter(one: Domain) -> None:
    """Put a domain in force from here on: for a process or a copied context that ends with it."""
    _active.set(one)


def per_domain(function: Callable[P, T]) -> Callable[P, T]:
    """``functools.cache`` with one answer per domain in force."""

    def answer(_: Domain, *args: Any, **named: Any) -> Any:
        return function(*args, **named)

    kept: Callable[..., T] = cache(answer)

    @wraps(function)
    def call(*args: P.args, **named: P.kwargs) -> T:
        return kept(domain(), *args, **named)

    return call


@cache
def load_domain(source: str | Path) -> Domain:
    """Read a domain.

    Args:
        source: "fashion", or the path of a TOML file (docs/domains.md); its word lists lie beside
            it.

    Raises:
        ConfigError: no such file, no TOML, an unknown key, or an attribute that contradicts itself.
    """
    path = _HOME / f"{source}.toml" if str(source) == DEFAULT else Path(source)
    data = _read(path)
    lists = data.get("lists", [])
    if not isinstance(lists, list) or not all(isinstance(name, str) for name in lists):
        raise ConfigError(f"'lists' of {path.name} must name files.", given=lists)
    words = dict(data.get("words", {}))
    for name in lists:
        words |= _read(path.parent / name)
    if (colors := _colors(path.parent / path.stem / "colors.csv")) and "colors" not in words:
        words["colors"] = colors
    return parse_domain({**data, "words": words, "lists": []}, path.parent / path.stem)


def _read(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ConfigError(
            f"The domain's file cannot be read: {error.strerror}.",
            given=str(path),
            fix=f"Give the path of a TOML file, or {DEFAULT!r}.",
        ) from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path.name} is no TOML: {error}", given=str(path)) from error


def _colors(path: Path) -> dict[str, Any]:
    """Swatch (hex; "" for none) and spellings by colour; empty where a domain has no such list."""
    if not path.is_file():
        return {}
    with path.open(encoding="utf-8") as stream:
        rows = list(csv.DictReader(stream))
    return {
        row["name"]: {"hex": row["hex"], "spellings": [*filter(None, row["spellings"].split("|"))]}
        for row in rows
    }


def parse_domain(data: Mapping[str, Any], folder: Path) -> Domain:
    """A domain from the content of its file, its word lists put in (:attr:`Domain.source`).

    Raises:
        ConfigError: as :func:`load_domain`.
    """
    for key in data:
        if key not in _KEYS:
            raise ConfigError("A domain has no such setting.", given=key, allowed=_KEYS)
    attributes = tuple(_attribute(entry) for entry in data.get("attributes", ()))
    columns = _columns(data.get("columns"), attributes)
    text = data.get("text", [name for one in attributes if one.wish for name in one.columns[:1]])
    words = {**data.get("words", {}), **data.get("terms", {})}
    plain = json.dumps(data, sort_keys=True, ensure_ascii=False, default=str)
    return Domain(
        name=str(data.get("name", folder.name)),
        attributes=attributes,
        columns=columns,
        text=tuple(name for name in text if name not in ("price_tier",)),
        sets=MappingProxyType({name: tuple(found) for name, found in data.get("sets", {}).items()}),
        folder=folder,
        words=MappingProxyType(words),
        digest=hashlib.sha256(plain.encode()).hexdigest(),
        source=MappingProxyType(dict(data)),
    )


def _attribute(entry: Mapping[str, Any]) -> Attribute:
    for key in entry:
        if key not in _ATTRIBUTE_KEYS:
            raise ConfigError(
                f"The attribute {entry.get('name')!r} has no such setting.",
                given=key,
                allowed=_ATTRIBUTE_KEYS,
            )
    for key in ("name", "role", "comparator"):
        if key not in entry:
            raise ConfigError(f"An attribute lacks {key!r}.", given=dict(entry))
    settings = {
        name: tuple(value) if isinstance(value, list) else value
        for name, value in entry.get("settings", {}).items()
    }
    columns = entry.get("columns", [entry["name"]])
    fixed = {
        "columns": tuple([columns] if isinstance(columns, str) else columns),
        "settings": MappingProxyType(settings),
        "planning": MappingProxyType(dict(entry.get("planning", {}))),
    }
    return Attribute(**{**entry, **fixed})


def _columns(given: Any, attributes: tuple[Attribute, ...]) -> tuple[Column, ...]:
    """The columns stated, or the shop's own with one more per attribute, the picture last."""
    many = {one.column: one.many and one.comparator == "text" for one in attributes}
    if given is None:
        own = [name for name in many if name not in (*CORE_COLUMNS, "price_tier")]
        names = [name for name in CORE_COLUMNS if name not in _LAST]
        given = [
            {"name": name, "type": CORE_COLUMNS.get(name, "texts" if many.get(name) else "text")}
            for name in (*names, *own, *_LAST)
        ]
    found = []
    for entry in given:
        name = entry["name"]
        kind = CORE_COLUMNS.get(name, "text")
        aliases = tuple(entry.get("aliases", ()))
        found.append(Column(name, entry.get("type", kind), aliases, entry.get("heading", "")))
    missing = [name for name in CORE_COLUMNS if name not in {column.name for column in found}]
    if missing:
        raise ConfigError("A domain's columns lack one that every shop has.", given=missing[0])
    return tuple(found)
