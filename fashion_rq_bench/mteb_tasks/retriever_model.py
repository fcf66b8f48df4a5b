"""Our retrievers as models for mteb.

In:  a :class:`~fashion_rq_bench.retrievers.base.Retriever`.
Out: a model that ``mteb.evaluate`` takes and caches under the retriever's own identity. It scores
     the tasks of this package, which ask the retriever itself, so that the figures are those of
     ``fashion-rq evaluate``; other tasks of mteb are refused.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, NoReturn

from mteb.models.model_meta import ModelMeta

from fashion_rq_bench.errors import ConfigError
from fashion_rq_bench.evaluation.outcome import FLOOR
from fashion_rq_bench.evaluation.run import model_id
from fashion_rq_bench.retrievers.base import Retriever

__all__ = ["RetrieverModel", "is_floor"]


class RetrieverModel:
    """A retriever that mteb accepts as a search model.

    Attributes:
        retriever: asked for every score.
    """

    def __init__(self, retriever: Retriever) -> None:
        self.retriever = retriever
        named = {"name": _title(retriever.name), "revision": model_id(retriever)}
        self._meta = ModelMeta.create_empty(overwrites=named)

    @property
    def mteb_model_meta(self) -> ModelMeta:
        """Its name, and a revision that hashes all that decides its scores."""
        return self._meta

    def index(self, corpus: Any, **settings: Any) -> NoReturn:
        """Refused: see the module."""
        raise self._refusal()

    def search(self, queries: Any, **settings: Any) -> NoReturn:
        """Refused: see the module."""
        raise self._refusal()

    def _refusal(self) -> ConfigError:
        return ConfigError(
            f"{self.retriever.name} runs in mteb on the tasks of FashionRQBench only.",
            fix="For other tasks hand mteb.evaluate the model itself.",
        )


def _title(name: str) -> str:
    """The name in mteb's form, owner/model; a folder's own name is enough."""
    source = Path(name.rpartition(":")[2])
    if source.is_dir():
        return f"local/{source.resolve().name}"
    return name if name.count("/") == 1 else f"fashion-rq/{re.sub('[/:]', '-', name)}"


def is_floor(model: Any) -> bool:
    """Whether a model is the random floor, whose results are expectations."""
    return isinstance(model, RetrieverModel) and model.retriever.name == FLOOR
