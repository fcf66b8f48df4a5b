"""What a language model's queries would cost, as a table.

In:  what ``builders.queries.llm.price_job`` returns.
Out: a rich table.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from rich.table import Table

__all__ = ["price_table"]


def price_table(facts: Mapping[str, Any]) -> Table:
    """Calls, tokens and money, as expected and at most; no price is "not known", never 0."""
    table = Table(title="Price of the calls (none was made)")
    table.add_column("")
    table.add_column("expected", justify="right")
    table.add_column("at most", justify="right")
    expected, most = facts["expected"], facts["most"]
    table.add_row("clusters", f"{facts['clusters']:,}", "")
    table.add_row("prompts answered before", f"{facts['kept']:,}", "")
    for name in ("calls", "prompt_tokens", "output_tokens"):
        table.add_row(name.replace("_", " "), f"{expected[name]:,}", f"{most[name]:,}")
    table.add_row("cost", _money(expected["cost"]), _money(most["cost"]))
    if math.isnan(most["cost"]):
        table.caption = (
            "For the cost set llm.input_price and llm.output_price (per million tokens)."
        )
    return table


def _money(value: float) -> str:
    return "not known" if math.isnan(value) else f"{value:,.4f}"
