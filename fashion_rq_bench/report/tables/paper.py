"""The paper's own figures for the tables that ``describe`` prints.

In:  ``paper.toml`` of the domain in force.
Out: the figures, keyed as :mod:`.statistics` keys an edition's; none for a domain without them.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from fashion_rq_bench.schema.domain import domain, per_domain

__all__ = ["paper"]

_NONE: Mapping[str, Any] = MappingProxyType({"levels": []})


@per_domain
def paper() -> Mapping[str, Any]:
    """Tables 1, 6, 7 and 8 and the counts of 8.0.3; only an empty list of levels without them."""
    path = domain().folder / "paper.toml"
    return tomllib.loads(path.read_text(encoding="utf-8")) if path.is_file() else _NONE
