"""Who competes at home: a model whose vectors the edition itself rests on.

In:  a model's name as typed, and the name of an encoder.
Out: whether the one is, or contains, the other.

The grades follow from a hierarchy that was learnt from some encoder's vectors (paper, section 3).
Scoring that encoder on it says less than scoring another, so tables mark it.
"""

from __future__ import annotations

from fashion_rq_bench.editions.edition import Edition
from fashion_rq_bench.encoders.baselines import KINDS, find_baseline

__all__ = ["at_home", "embedder"]

_HYBRID = "rrf:"
_ALIASES = {"all-minilm-l6-v2": "minilm"}


def embedder(edition: Edition) -> str | None:
    """Name of the encoder whose vectors the edition's hierarchy was learnt from, if it is known."""
    found = edition.manifest.get("config", {}).get("embedding", {}).get("encoder")
    return str(found) if found else None


def at_home(model: str, encoder: str | None) -> bool:
    """Whether a model, or a part of a hybrid (``rrf:a+b``), is the encoder that something rests on.

    Names are compared by what they are loaded from: "minilm", its Hub id with or without a
    revision, and a folder of the same name are one.
    """
    if not encoder:
        return False
    parts = model.removeprefix(_HYBRID).split("+")
    return any(_sources(part) & _sources(encoder) for part in parts)


def _sources(name: str) -> set[str]:
    """What a name may be loaded from: short names in lower case."""
    found = set()
    for piece in name.split(":"):
        source = piece.strip().partition("@")[0].rstrip("/")
        baseline = find_baseline(source)
        last = (baseline.model if baseline else source).rpartition("/")[2].casefold()
        found.add(_ALIASES.get(last, last))
    return found - set(KINDS)
