"""The one place for names, types, grades and the attributes of a domain.

Lives here: Arrow schemas, grades, the attribute schema, the domains with their word lists.
May import: ``errors``, ``support``. Must not import: any other room.
"""

from __future__ import annotations

from typing import Any

_HOMES = ("tables", "grades", "attributes")
_ONCE_CONSTANT = {
    "ATTRIBUTES": "domain.domain().names",
    "CATALOG": "tables.catalog_schema()",
    "CORPUS": "tables.corpus_schema()",
    "INTENT": "tables.intent_type()",
    "LIST_ATTRIBUTES": "domain.domain().many",
    "PRODUCT_COLUMNS": "tables.product_schema()",
    "QUERIES": "tables.queries_schema()",
    "RANKING": "tables.ranking_schema()",
    "SCALAR_ATTRIBUTES": "domain.domain().single",
}
"""Names of the time when there was one domain, and what to ask instead."""


def __getattr__(name: str) -> Any:
    """What this package gave when it was a module; the domain's parts as they are in force."""
    from importlib import import_module

    if name in _ONCE_CONSTANT:
        import warnings

        text = f"{__name__}.{name} depends on the domain: ask {__name__}.{_ONCE_CONSTANT[name]}."
        warnings.warn(text, DeprecationWarning, stacklevel=2)
        module, *way = _ONCE_CONSTANT[name].split(".")
        found: Any = import_module(f"{__name__}.{module}")
        for step in way:
            found = getattr(found, step.removesuffix("()"))
            found = found() if step.endswith("()") else found
        return found
    for home in (import_module(f"{__name__}.{one}") for one in _HOMES):
        if name in home.__all__:
            return getattr(home, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
