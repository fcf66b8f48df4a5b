"""Retrievers by name.

In:  "bm25", "lsa", "minilm", "random", "oracle", a baseline's name, a Hub id, a folder, one of
     these after "KIND:", or "rrf:A+B".
Out: a :class:`~fashion_rq_bench.retrievers.base.Retriever`.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from fashion_rq_bench.encoders.baselines import BASELINES, KINDS, Kind
from fashion_rq_bench.encoders.by_name import ENCODER_NAMES, EncoderConfig
from fashion_rq_bench.encoders.names import parse_name
from fashion_rq_bench.errors import ConfigError
from fashion_rq_bench.retrievers.base import Retriever
from fashion_rq_bench.retrievers.cross_encoder import Cross
from fashion_rq_bench.retrievers.dense import Dense
from fashion_rq_bench.retrievers.hybrid import Fusion
from fashion_rq_bench.retrievers.late_interaction import LateInteraction
from fashion_rq_bench.retrievers.lexical import BM25
from fashion_rq_bench.retrievers.references import Oracle, Random
from fashion_rq_bench.retrievers.sparse import Sparse

__all__ = ["RETRIEVER_NAMES", "resolve"]

RETRIEVER_NAMES = ("bm25", "lsa", "minilm", "random", "oracle", *BASELINES)
"""Retrievers known by a short name."""

_FUSION = "rrf"
_CLASSES: dict[Kind, Callable[..., Retriever]] = {
    "sparse": Sparse,
    "late-interaction": LateInteraction,
    "cross-encoder": Cross,
}


def resolve(
    name: str, *, cache: Path | None = None, config: EncoderConfig | None = None
) -> Retriever:
    """The retriever of a name; loads no weights yet.

    Args:
        name: one of ``RETRIEVER_NAMES``; a Hub id ("owner/model", also with "@commit") or a folder,
            whose kind its configuration declares; one of these after "KIND:" or "BASELINE:"; or
            "rrf:A+B", the reciprocal rank fusion of two retrievers.
        cache: folder in which models keep what they have encoded.
        config: how to run a model; of a baseline only the device and permissions are taken from it.

    Raises:
        ConfigError: unknown name, with the nearest known one.
    """
    settings = config or EncoderConfig()
    plain: dict[str, Retriever] = {"bm25": BM25(), "random": Random(), "oracle": Oracle()}
    if name in plain:
        return plain[name]
    head, colon, rest = name.partition(":")
    if colon and head == _FUSION:
        parts = [resolve(part, cache=cache, config=settings) for part in rest.split("+")]
        return Fusion(name, tuple(parts))
    target = parse_name(name)
    if target is not None and target.kind in _CLASSES:
        return _CLASSES[target.kind](name, target, settings, cache)
    if target is not None or name in ENCODER_NAMES:
        return Dense(name, settings, cache)
    raise _unknown(name)


def _unknown(name: str) -> ConfigError:
    head, colon, rest = name.partition(":")
    prefixes = (_FUSION, *KINDS, *BASELINES)
    if colon and head in prefixes:
        return ConfigError(
            f"There is no folder or Hub model of this name to run as {head}.", given=rest
        )
    if colon:
        return ConfigError("There is no such kind of model.", given=head, allowed=prefixes)
    return ConfigError(
        "There is no such retriever.",
        given=name,
        allowed=RETRIEVER_NAMES,
        fix='Any Hub id ("owner/model") or folder works too, also as KIND:FOLDER with one of '
        f"{', '.join(KINDS)}; rrf:A+B fuses two retrievers.",
    )
