"""How shoppers of a domain word what they want: its tables, or those of any shop.

In:  the domain in force, ``domains/any_shop.toml``.
Out: tables of words by name, and an attribute's numbers for the query planner.

What a domain does not state is as in any shop, so that a domain of a dozen lines can be queried
(paper, section 3, asks for queries as shoppers write them).
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import Any

from fashion_rq_bench.schema.domain import domain, per_domain

__all__ = ["habit", "table"]

_UNSTATED = {"appeal": 0.0, "range": 1, "least": 0.1, "unknown": 1.0, "before": 0.5}


@cache
def _any_shop() -> dict[str, Any]:
    path = files("fashion_rq_bench").joinpath("schema", "domains", "any_shop.toml")
    return tomllib.loads(path.read_text(encoding="utf-8"))


@per_domain
def table(name: str) -> Mapping[str, Any]:
    """A table of words: the domain's, and of any shop what it lacks ("lexicon", "phrase", …)."""
    return {**_any_shop().get(name, {}), **domain().table(name)}


def habit(attribute: str, number: str) -> float:
    """A number of an attribute's ``planning``; those of its role where it states none at all."""
    one = domain().by_name[attribute]
    return float((one.planning or table("planning")[one.role]).get(number, _UNSTATED[number]))
