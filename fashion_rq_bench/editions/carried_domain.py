"""The domain that an edition carries in its manifest.

In:  the domain in force where an edition is written; the manifest where one is read.
Out: what the manifest says of it, and the domain back again. Fashion's editions say nothing, for
     every reader has it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from fashion_rq_bench.schema.attributes import Domain
from fashion_rq_bench.schema.domain import DEFAULT, domain, load_domain, parse_domain

__all__ = ["carried_domain", "declared_domain"]


def carried_domain() -> dict[str, Any]:
    """What a manifest says of the domain in force: empty for fashion.

    The source is a string, for the order of its tables is part of it.
    """
    one = domain()
    if one.digest == load_domain(DEFAULT).digest:
        return {}
    source = json.dumps(dict(one.source), ensure_ascii=False, default=str)
    return {"domain": {"name": one.name, "source": source}}


def declared_domain(manifest: Mapping[str, Any]) -> Domain:
    """The domain that a manifest holds, fashion where it holds none.

    Raises:
        ConfigError: what it holds is no domain.
    """
    found = manifest.get("domain")
    return _parsed(found["name"], found["source"]) if found else load_domain(DEFAULT)


@cache
def _parsed(name: str, source: str) -> Domain:
    """One object per domain, so that what is kept per domain is kept once."""
    return parse_domain(json.loads(source), Path(name))
