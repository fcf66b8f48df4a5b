"""Weights files: what a fit of attribute weights leaves, and what R(q, p) reads (paper 8.0.5).

In:  a JSON file with "format" and "weights" (attribute to w_a); other keys tell how it came about.
Out: the weights, checked, and settings of R(q, p) that use them.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeAlias

from fashion_rq_bench.errors import ConfigError, InputError
from fashion_rq_bench.relevance.settings import RelevanceConfig
from fashion_rq_bench.schema.domain import domain
from fashion_rq_bench.support.files import read_json

__all__ = ["FORMAT", "WeightsSource", "read_weights", "read_weights_file", "relevance_config"]

FORMAT = "fashion-rq-weights/1"
_SUM_TOLERANCE = 0.01
"""The paper's ten weights sum to .999: three decimals each."""

WeightsSource: TypeAlias = Mapping[str, float] | str | Path
"""Weights by attribute, or the path of a weights file."""


def relevance_config(weights: WeightsSource | None) -> RelevanceConfig:
    """Settings of R(q, p) with these weights; None for the paper's.

    Raises:
        InputError: if a path is given and :func:`read_weights` refuses it.
        ConfigError: as :class:`~fashion_rq_bench.relevance.settings.RelevanceConfig`.
    """
    if weights is None:
        return RelevanceConfig()
    if isinstance(weights, str | Path):
        return RelevanceConfig(weights=read_weights(Path(weights)))
    if not isinstance(weights, Mapping):
        raise ConfigError(
            "Weights are a mapping of attributes to numbers, or the path of a weights file.",
            given=weights,
        )
    return RelevanceConfig(weights=weights)


def read_weights(path: Path) -> dict[str, float]:
    """Weights of a file, ready for ``RelevanceConfig(weights=…)`` and ``attr_relevance``.

    An attribute whose weight neither method could estimate (null) is left out, so weighs nothing;
    the file names it under ``undefined``.

    Raises:
        InputError: as :func:`read_weights_file`.
    """
    weights = read_weights_file(path)["weights"]
    return {name: float(weight) for name, weight in weights.items() if weight is not None}


def read_weights_file(path: Path) -> dict[str, Any]:
    """The whole file, its weights checked: known names, each in [0, 1] or null, sum 1 (±0.01).

    Raises:
        InputError: if the file is absent, no weights file of this version, or a weight is wrong.
    """
    try:
        content = read_json(path)
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        raise InputError(
            f"This weights file cannot be read ({reason}).",
            given=str(path),
            fix="Make one with: fashion-rq weights fit MODEL --out weights.json",
        ) from error
    found = content.get("format") if isinstance(content, dict) else type(content).__name__
    if found != FORMAT:
        raise InputError(
            f"{path.name} is not a weights file of this version.",
            given=found,
            allowed=[FORMAT],
            fix=f'A weights file is JSON: {{"format": "{FORMAT}", "weights": {{"brand": …, …}}}}.',
        )
    _check(content.get("weights"), path.name)
    return dict(content)


def _check(weights: object, name: str) -> None:
    if not isinstance(weights, Mapping):
        raise InputError(f'"weights" of {name} must map attributes to numbers.', given=weights)
    for attribute, weight in weights.items():
        if attribute not in domain().names:
            raise InputError(
                f"{name} gives a weight for an unknown attribute.",
                given=attribute,
                allowed=domain().names,
            )
        number = isinstance(weight, int | float) and not isinstance(weight, bool)
        if weight is not None and not (number and 0 <= weight <= 1):
            raise InputError(
                f"The weight of {attribute!r} in {name} must be a number from 0 to 1, or null.",
                given=weight,
            )
    total = math.fsum(weight for weight in weights.values() if weight is not None)
    if abs(total - 1) > _SUM_TOLERANCE:
        raise InputError(
            f"The weights of {name} must sum to 1.",
            given=round(total, 4),
            fix="Divide each by their sum.",
        )
