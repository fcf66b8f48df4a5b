"""Frozen configuration dataclasses from plain mappings (TOML, command line).

In:  a dataclass type and a nested mapping, or ``section.key=value`` settings.
Out: an instance, or ConfigError naming the key, what is allowed and the nearest match.
"""

from __future__ import annotations

import dataclasses
import tomllib
import types
import typing
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

from fashion_rq_bench.errors import ConfigError

__all__ = ["from_mapping", "merge", "parse_settings", "read_toml", "to_mapping"]

Config = TypeVar("Config")


def read_toml(path: Path) -> dict[str, Any]:
    """Read a TOML file.

    Raises:
        ConfigError: if the file is absent or not TOML (with the line).
    """
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        raise ConfigError("This configuration file does not exist.", given=str(path)) from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ConfigError(f"This file is not valid TOML: {error}.", given=str(path)) from error


def to_mapping(config: object) -> dict[str, Any]:
    """A configuration as a nested dict of plain values (the inverse of :func:`from_mapping`)."""
    return dataclasses.asdict(typing.cast(Any, config))


def merge(base: Mapping[str, Any], over: Mapping[str, Any]) -> dict[str, Any]:
    """Nested merge of two mappings; ``over`` wins."""
    merged = dict(base)
    for key, value in over.items():
        both = isinstance(value, Mapping) and isinstance(merged.get(key), Mapping)
        merged[key] = merge(merged[key], value) if both else value
    return merged


def parse_settings(settings: Sequence[str]) -> dict[str, Any]:
    """Turn ``["rqvae.epochs=5", "name=shop"]`` into a nested mapping; values are TOML, else text.

    Raises:
        ConfigError: if an item has no ``=``.
    """
    nested: dict[str, Any] = {}
    for item in settings:
        path, equals, text = item.partition("=")
        if not equals or not path.strip():
            raise ConfigError(
                "A setting is written SECTION.KEY=VALUE.",
                given=item,
                fix="Example: rqvae.epochs=5.",
            )
        try:
            value = tomllib.loads(f"value = {text}")["value"]
        except tomllib.TOMLDecodeError:
            value = text
        for key in reversed(path.strip().split(".")):
            value = {key: value}
        nested = merge(nested, value)
    return nested


def from_mapping(kind: type[Config], values: Mapping[str, Any], where: str = "") -> Config:
    """Build ``kind`` from ``values``; nested dataclasses and tuples are converted.

    Args:
        kind: a dataclass type.
        values: field name to value; a missing field keeps its default.
        where: dotted path of this section, for messages.

    Raises:
        ConfigError: on an unknown key or a value of the wrong type.
    """
    hints = typing.get_type_hints(kind)
    names = [field.name for field in dataclasses.fields(typing.cast(Any, kind)) if field.init]
    for key in values:
        if key not in names:
            section = f" in [{where}]" if where else ""
            raise ConfigError(
                f"There is no setting of this name{section}.", given=key, allowed=names
            )
    converted = {
        key: _convert(hints[key], value, f"{where}.{key}" if where else key)
        for key, value in values.items()
    }
    return kind(**converted)


def _convert(hint: Any, value: Any, where: str) -> Any:
    if dataclasses.is_dataclass(hint) and isinstance(hint, type):
        if not isinstance(value, Mapping):
            raise _wrong(where, value, "a table")
        return from_mapping(hint, value, where)
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if origin in (typing.Union, types.UnionType):
        return _convert_union(arguments, value, where)
    if origin is typing.Literal:
        if value not in arguments:
            raise ConfigError(f"{where} cannot be this.", given=value, allowed=arguments)
        return value
    if origin is tuple:
        if not isinstance(value, list | tuple):
            raise _wrong(where, value, "a list")
        kinds = arguments if Ellipsis not in arguments else (arguments[0],) * len(value)
        if len(kinds) != len(value):
            raise _wrong(where, value, f"a list of {len(kinds)}")
        return tuple(_convert(kind, item, where) for kind, item in zip(kinds, value, strict=True))
    if origin in (dict, Mapping) or getattr(origin, "__name__", "") == "Mapping":
        if not isinstance(value, Mapping):
            raise _wrong(where, value, "a table")
        return {key: _convert(arguments[1], item, where) for key, item in value.items()}
    return _scalar(hint, value, where)


def _convert_union(arguments: tuple[Any, ...], value: Any, where: str) -> Any:
    if value is None and type(None) in arguments:
        return None
    problem: ConfigError | None = None
    for option in arguments:
        if option is type(None):
            continue
        try:
            return _convert(option, value, where)
        except ConfigError as error:
            problem = error
    raise problem or _wrong(where, value, "another type")


def _scalar(hint: Any, value: Any, where: str) -> Any:
    if hint is Any or hint is object:
        return value
    if hint is float and isinstance(value, int) and not isinstance(value, bool):
        return float(value)
    if hint is Path and isinstance(value, str):
        return Path(value)
    fits = isinstance(value, hint) and not (hint in (int, float) and isinstance(value, bool))
    if not fits:
        raise _wrong(where, value, hint.__name__)
    return value


def _wrong(where: str, value: object, expected: str) -> ConfigError:
    return ConfigError(f"{where} must be {expected}.", given=value)
