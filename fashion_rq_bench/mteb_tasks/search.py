"""Scores of every pool pair from any model that mteb accepts.

In:  an encoder, cross-encoder or search model in mteb's sense, and a collection.
Out: (U,) scores of the collection's distinct pairs, computed once per model and edition, so that
     four tasks encode once.

Encoders compared by cosine or dot product take the same path as ``fashion-rq evaluate``
(``score_dense``); all others are asked through mteb's own search wrappers. Products with equal
texts are asked once and score alike. A candidate that a search model leaves out is put last in its
pool, never dropped.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
import pyarrow as pa
from datasets import (
    Dataset,
    are_progress_bars_disabled,
    disable_progress_bars,
    enable_progress_bars,
)
from mteb._create_dataloaders import create_dataloader
from mteb.abstasks.task_metadata import TaskMetadata
from mteb.models import (
    CrossEncoderProtocol,
    EncoderProtocol,
    SearchCrossEncoderWrapper,
    SearchEncoderWrapper,
    SearchProtocol,
)
from mteb.models.model_meta import ScoringFunction
from mteb.types import PromptType

from fashion_rq_bench.errors import ModelError
from fashion_rq_bench.pools import Collection
from fashion_rq_bench.retrievers.base import Scores
from fashion_rq_bench.retrievers.dense import score_dense
from fashion_rq_bench.retrievers.encoders import Role, Vectors, unit_rows
from fashion_rq_bench.schema import SPLIT

__all__ = ["score_model"]

_DENSE = (ScoringFunction.COSINE, ScoringFunction.DOT_PRODUCT)
_log = logging.getLogger(__name__)
_KEPT: WeakKeyDictionary[Any, dict[tuple[str, ...], Scores]] = WeakKeyDictionary()


def score_model(
    model: Any, collection: Collection, metadata: TaskMetadata, encode_kwargs: Mapping[str, Any]
) -> Scores:
    """Score every pair of a collection, shape (U,).

    Args:
        model: an mteb encoder, cross-encoder or search model.
        collection: corpus and pools.
        metadata: the task's, handed on to the model (it may choose a prompt by it).
        encode_kwargs: handed on to the model.

    Raises:
        ModelError: NaN, wrong shapes, or a model of no known kind.
    """
    settings = sorted((k, v) for k, v in encode_kwargs.items() if k != "show_progress_bar")
    own_prompt = metadata.name if _has_prompt_for(model, metadata.name) else ""
    key = (collection.edition.id, own_prompt, repr(settings))
    try:
        kept = _KEPT.setdefault(model, {})
    except TypeError:  # the model cannot be referenced weakly
        kept = {}
    if key not in kept:
        kept[key] = _score(model, collection, metadata, dict(encode_kwargs))
    return kept[key]


def _has_prompt_for(model: Any, task: str) -> bool:
    return any(str(name).startswith(task) for name in getattr(model, "model_prompts", None) or {})


def _score(
    model: Any, collection: Collection, metadata: TaskMetadata, encode_kwargs: dict[str, Any]
) -> Scores:
    if isinstance(model, EncoderProtocol) and not isinstance(model, SearchProtocol):
        if model.mteb_model_meta.similarity_fn_name in _DENSE:
            return score_dense(_Encoder(model, metadata, encode_kwargs), collection, None)
        return _search(SearchEncoderWrapper(model), collection, metadata, encode_kwargs)
    if isinstance(model, CrossEncoderProtocol):
        return _search(SearchCrossEncoderWrapper(model), collection, metadata, encode_kwargs)
    if isinstance(model, SearchProtocol):
        return _search(model, collection, metadata, encode_kwargs)
    raise ModelError(
        "This model is none that mteb can search with.",
        given=type(model).__name__,
        allowed=["EncoderProtocol", "CrossEncoderProtocol", "SearchProtocol"],
    )


@contextmanager
def _without_bars() -> Iterator[None]:
    """Keep datasets from drawing a bar for every shard that mteb prepares."""
    shown = not are_progress_bars_disabled()
    disable_progress_bars()
    try:
        yield
    finally:
        if shown:
            enable_progress_bars()


class _Encoder:
    """An mteb encoder as what ``score_dense`` takes."""

    def __init__(self, model: Any, metadata: TaskMetadata, encode_kwargs: dict[str, Any]) -> None:
        self._model, self._metadata, self._kwargs = model, metadata, encode_kwargs

    @property
    def identity(self) -> str:
        return str(self._model.mteb_model_meta.name)

    def encode(self, texts: Sequence[str], role: Role = "document") -> Vectors:
        rows = Dataset.from_dict({"id": [str(row) for row in range(len(texts))], "text": texts})
        side = PromptType(role)
        with _without_bars():
            loader = create_dataloader(
                rows,
                task_metadata=self._metadata,
                prompt_type=side,
                batch_size=self._kwargs.get("batch_size", 32),
            )
        vectors = self._model.encode(
            loader,
            task_metadata=self._metadata,
            hf_split=SPLIT,
            hf_subset="default",
            prompt_type=side,
            **self._kwargs,
        )
        if hasattr(vectors, "detach"):  # a torch tensor, perhaps of half precision
            vectors = vectors.detach().float().cpu()
        found = np.asarray(vectors, dtype=np.float32)
        if self._model.mteb_model_meta.similarity_fn_name == ScoringFunction.DOT_PRODUCT:
            return found
        return unit_rows(found) if found.ndim == 2 else found  # the wrong shape is refused later


def _search(
    model: Any, collection: Collection, metadata: TaskMetadata, encode_kwargs: dict[str, Any]
) -> Scores:
    """Ask a search model for the pools; one candidate for all products of one text."""
    pairs = collection.pairs
    texts = collection.texts.take(pa.array(pairs.products)).dictionary_encode()
    place = np.searchsorted(pairs.products, pairs.product_index)
    code = texts.indices.to_numpy()[place].astype(np.int64)
    asked, inverse = np.unique(
        np.stack([pairs.query_index, code], axis=1), axis=0, return_inverse=True
    )
    top_ranked: dict[str, list[str]] = {query_id: [] for query_id in pairs.query_ids}
    for query, document in asked.tolist():
        top_ranked[pairs.query_ids[query]].append(str(document))
    corpus = texts.dictionary.to_pylist()
    common: dict[str, Any] = {
        "task_metadata": metadata,
        "hf_split": SPLIT,
        "hf_subset": "default",
        "encode_kwargs": encode_kwargs,
        "num_proc": None,
    }
    model.index(
        Dataset.from_dict({"id": [str(row) for row in range(len(corpus))], "text": corpus}),
        **common,
    )
    found = model.search(
        Dataset.from_dict({"id": pairs.query_ids, "text": pairs.queries}),
        top_k=max(map(len, top_ranked.values())),
        top_ranked=top_ranked,
        **common,
    )
    name = str(model.mteb_model_meta.name)
    answers = [found.get(pairs.query_ids[query], {}).get(str(row)) for query, row in asked.tolist()]
    return _missing_last(answers, asked[:, 0], name)[inverse.ravel()]


def _missing_last(answers: list[float | None], query: Any, name: str) -> Scores:
    """Scores with every unanswered candidate one below the least of its query."""
    missing = np.array([answer is None for answer in answers])
    scores = np.array([0.0 if answer is None else answer for answer in answers], dtype=np.float64)
    if not np.isfinite(scores).all():
        raise ModelError(f"{name} returned {int((~np.isfinite(scores)).sum())} scores not finite.")
    if missing.any():
        _log.warning("%s left out %d of %d candidates.", name, missing.sum(), len(scores))
        least = np.full(query.max() + 1, np.inf)
        np.minimum.at(least, query[~missing], scores[~missing])
        least[np.isinf(least)] = 1.0  # nothing answered at all: every candidate ties at 0
        scores[missing] = least[query[missing]] - 1.0
    return scores
