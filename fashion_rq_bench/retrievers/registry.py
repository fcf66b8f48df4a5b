"""Retrievers by name.

In:  "bm25", "lsa", "minilm", "random", "oracle", a Hub id, or a folder.
Out: a :class:`~fashion_rq_bench.retrievers.base.Retriever`.
"""

from __future__ import annotations

from pathlib import Path

from fashion_rq_bench.errors import ConfigError
from fashion_rq_bench.retrievers.base import Retriever
from fashion_rq_bench.retrievers.dense import Dense
from fashion_rq_bench.retrievers.encoders import EncoderConfig, is_encoder
from fashion_rq_bench.retrievers.lexical import BM25
from fashion_rq_bench.retrievers.references import Oracle, Random

__all__ = ["RETRIEVER_NAMES", "resolve"]

RETRIEVER_NAMES = ("bm25", "lsa", "minilm", "random", "oracle")
"""Retrievers known by a short name."""


def resolve(
    name: str, *, cache: Path | None = None, config: EncoderConfig | None = None
) -> Retriever:
    """The retriever of a name; loads no weights yet.

    Args:
        name: one of ``RETRIEVER_NAMES``, a Hub id ("owner/model"), or a folder of a
            sentence-transformers model.
        cache: folder in which dense retrievers keep their vectors.
        config: how to run an encoder; not used by the others.

    Raises:
        ConfigError: unknown name, with the nearest known one.
    """
    plain: dict[str, Retriever] = {"bm25": BM25(), "random": Random(), "oracle": Oracle()}
    if name in plain:
        return plain[name]
    if is_encoder(name):
        return Dense(name, config or EncoderConfig(), cache)
    raise ConfigError(
        "There is no such retriever.",
        given=name,
        allowed=RETRIEVER_NAMES,
        fix='Any Hub id ("owner/model") or folder of a sentence-transformers model works too.',
    )
