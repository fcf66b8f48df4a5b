"""A digest of the code that a stage runs.

In:  the name of a module of this package.
Out: SHA-256 over its source and that of every module of this package it imports, directly or not.

A finished stage is reused only while this digest stands, so a change of code redoes exactly the
stages that it can reach.
"""

from __future__ import annotations

import ast
import importlib.util
from functools import cache
from pathlib import Path

from fashion_rq_bench._io import digest

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
    return digest(*(part for name in sorted(seen) for part in (name, seen[name])))


def _source(name: str) -> bytes | None:
    if name == _ROOT:  # the package's front door pulls nothing in; its version is not code
        return None
    spec = importlib.util.find_spec(name)
    if spec is None or spec.origin is None or not spec.origin.endswith(".py"):
        return None
    return Path(spec.origin).read_bytes()


def _imports(name: str, source: bytes) -> list[str]:
    found = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            found += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module and node.level == 0:
            found.append(node.module)
            found += [f"{node.module}.{alias.name}" for alias in node.names]
    return [item for item in found if item.startswith(f"{_ROOT}.") and _exists(item)]


def _exists(name: str) -> bool:
    try:
        return importlib.util.find_spec(name) is not None
    except ModuleNotFoundError:
        return False
