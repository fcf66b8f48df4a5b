"""A digest of the code that a stage runs.

In:  the name of a module of this package.
Out: SHA-256 over its source, that of every module of this package it imports, directly or not,
     and the package's own data (vocabularies, colours; not the embedded edition).

A finished stage is reused only while this digest stands, so a change of code redoes exactly the
stages that it can reach.
"""

from __future__ import annotations

import ast
import importlib.resources
import importlib.util
from functools import cache
from pathlib import Path

from fashion_rq_bench.support.files import digest

__all__ = ["code_digest"]

_ROOT = "fashion_rq_bench"


@cache
def code_digest(module: str) -> str:
    """SHA-256 (hex) of ``module`` and its import closure within this package."""
    seen: dict[str, bytes] = {}
    waiting = [module]
    while waiting:
        name = waiting.pop()
        source = _source(name)
        if name in seen or source is None:
            continue
        seen[name] = source
        waiting.extend(_imports(name, source))
    parts = [part for name in sorted(seen) for part in (name, seen[name])]
    return digest(*parts, *_data())


def _data() -> list[bytes]:
    """Word lists and colours; the pages that lie beside them change nothing in an edition."""
    files = Path(str(importlib.resources.files(_ROOT))) / "schema" / "domains"
    read = (path for path in sorted(files.rglob("*.*")) if path.suffix in {".csv", ".toml"})
    return [path.read_bytes() for path in read]


def _source(name: str) -> bytes | None:
    if name == _ROOT:  # the package's front door pulls nothing in; its version is not code
        return None
    spec = importlib.util.find_spec(name)
    if spec is None or spec.origin is None or not spec.origin.endswith(".py"):
        return None
    return Path(spec.origin).read_bytes()


def _imports(name: str, source: bytes) -> list[str]:
    spec = importlib.util.find_spec(name)
    package = (spec.parent if spec else None) or _ROOT
    found = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            found += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            origin = importlib.util.resolve_name("." * node.level + (node.module or ""), package)
            found += [origin, *(f"{origin}.{alias.name}" for alias in node.names)]
    return [item for item in found if item.startswith(f"{_ROOT}.") and _exists(item)]


def _exists(name: str) -> bool:
    try:
        return importlib.util.find_spec(name) is not None
    except ModuleNotFoundError:
        return False
