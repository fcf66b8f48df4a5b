"""Attribute weights as tables (paper, Tables 9 and 10).

In:  the content of a weights file, or what training and the gate gave.
Out: rich tables and lines of text.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from rich.markup import escape
from rich.table import Table

__all__ = ["loss_lines", "pairs_table", "sanity_line", "weights_tables"]

_TITLE = "Attribute weights"
_LOSSES_SHOWN = 8


def weights_tables(content: Mapping[str, Any]) -> list[Table | str]:
    """A weights file: one row per attribute, heaviest first, and what the whole rests on.

    Args:
        content: from ``weights_file.read_weights_file``; estimates and
            provenance may be absent, as in a file written by hand.
    """
    effects = {one["attribute"]: one for one in content.get("ablation", ())}
    ridge = content.get("ridge", {})
    table = Table(title=_TITLE)
    table.add_column("attribute")
    for name in ("w", "mean Δ", "interval", "N", "sign", "p", "ridge", "VIF"):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("tier", no_wrap=True)
    table.add_column("told apart")
    weights = content["weights"]
    for name in sorted(weights, key=lambda one: -_value(weights[one])):
        table.add_row(*_row(name, weights[name], effects.get(name, {}), ridge))
    return [table, *_lines(content)]


def _row(
    name: str, weight: float | None, effect: Mapping[str, Any], ridge: Mapping[str, Any]
) -> list[str]:
    interval = f"{_number(effect.get('low'))}, {_number(effect.get('high'))}"
    apart: dict[bool | None, str] = {True: "yes", False: "no"}
    return [
        name,
        _number(weight),
        _number(effect.get("mean")),
        interval if effect.get("low") is not None else "–",
        str(effect.get("n", "–")),
        _number(effect.get("sign_consistency"), 2),
        _p(effect.get("p_value")),
        _number(ridge.get("coefficient", {}).get(name)),
        _number(ridge.get("vif", {}).get(name), 2),
        effect.get("tier", "–"),
        apart.get(effect.get("distinguishable"), "–"),
    ]


def _lines(content: Mapping[str, Any]) -> list[str]:
    lines = []
    if "spearman" in content:
        ridge = content.get("ridge", {})
        lines.append(
            f"Spearman of the two estimates {_number(content['spearman'], 2)}; regression over "
            f"{ridge.get('n', '–')} pairs, R² {_number(ridge.get('r2'), 2)}."
        )
    if undefined := content.get("undefined"):
        lines.append(f"Without an estimate, so without a weight: {', '.join(undefined)}.")
    provenance = content.get("provenance", {})
    if "sanity" in provenance:
        lines.append(sanity_line(provenance["sanity"]))
    if "data" in provenance:
        data = provenance["data"]
        name = data.get("edition") or data.get("catalog") or "–"
        counts = f"{data.get('n_queries', '–')} queries, {data.get('n_products', '–')} products"
        lines.append(escape(f"Fitted on {name}: {counts}."))
    return lines


def sanity_line(sanity: Mapping[str, Any]) -> str:
    """The gate's verdict in a sentence."""
    verdict = "passes" if sanity["passed"] else "FAILS"
    return (
        f"Sanity set: margin {_number(sanity['margin'])} (least 0.15), pairwise accuracy "
        f"{_number(sanity['pairwise'])} (least 0.75): {verdict}."
    )


def pairs_table(counts: Sequence[Mapping[str, Any]]) -> Table:
    """The counts of 8.0.5: queries, pairs and positive rate by part and source."""
    table = Table(title="Pairs (paper 8.0.5)")
    for name in ("part", "source"):
        table.add_column(name)
    for name in ("queries", "share", "pairs", "share", "positive"):
        table.add_column(name, justify="right")
    for one in counts:
        table.add_row(
            one["part"],
            escape(str(one["source"])),
            str(one["queries"]),
            f"{one['query_share']:.1%}",
            str(one["pairs"]),
            f"{one['pair_share']:.1%}",
            _number(one["positive_rate"]),
        )
    return table


def loss_lines(losses: Sequence[Sequence[float]], quality: Mapping[str, Any]) -> list[str]:
    """Training loss at a few steps, and the quality on the validation pairs."""
    step = max(1, math.ceil(len(losses) / _LOSSES_SHOWN))
    shown = [*losses[::step], *losses[-1:]] if (len(losses) - 1) % step else losses[::step]
    curve = ", ".join(f"{int(at)}: {loss:.3f}" for at, loss in shown)
    return [
        f"Training loss by step: {curve or 'not logged'}.",
        f"Validation ({quality['n']} pairs): ROC-AUC {_number(quality['roc_auc'])}, Brier "
        f"{_number(quality['brier'])} against {_number(quality['brier_marginal'])} for the "
        f"marginal rate of {_number(quality['positive_rate'])}.",
    ]


def _value(number: float | None) -> float:
    return -1.0 if number is None else number


def _number(value: float | None, digits: int = 3) -> str:
    return "–" if value is None or math.isnan(value) else f"{value:.{digits}f}"


def _p(value: float | None) -> str:
    return "–" if value is None else "< .001" if value < 0.001 else f"{value:.3f}"
