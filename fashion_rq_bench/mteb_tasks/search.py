"""Scores of every pool pair, and searches of the whole corpus, by any model that mteb accepts.

In:  an encoder, cross-encoder or search model in mteb's sense, or one of our retrievers
     (``retriever_model.py``), and a collection.
Out: (U,) scores of the collection's distinct pairs, computed once per model and edition, so that
     four tasks encode once; or the best products of the corpus for each of T1's queries.

Encoders compared by cosine or dot product take the same path as ``fashion-rq evaluate``
(``score_dense``), and so do sentence-transformers models of other kinds (``native.py``); all others
are asked through mteb's own search wrappers. Products with equal
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

from fashion_rq_bench.editions.pools import Collection
from fashion_rq_bench.encoders.encoding import Role, Vectors, unit_rows
from fashion_rq_bench.errors import ModelError
from fashion_rq_bench.evaluation.answers import pair_scores, search_catalog
from fashion_rq_bench.evaluation.whole_catalog import queries_of
from fashion_rq_bench.mteb_tasks.native import as_retriever
from fashion_rq_bench.mteb_tasks.retriever_model import RetrieverModel
from fashion_rq_bench.retrievers.base import Found, Retriever, Scores
from fashion_rq_bench.retrievers.dense import score_dense, search_dense
from fashion_rq_bench.retrievers.dot_search import DEPTH, checked
from fashion_rq_bench.retrievers.texts import corpus_texts, pool_texts
from fashion_rq_bench.schema.tables import SPLIT

__all__ = ["score_model", "search_model"]

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
    retriever = _retriever(model, metadata, encode_kwargs)
    if retriever is not None:
        return pair_scores(retriever, collection)
    if _is_dense(model):
        return score_dense(_Encoder(model, metadata, encode_kwargs), collection, None)
    return _score_pools(_searcher(model), collection, metadata, encode_kwargs)


def search_model(
    model: Any, collection: Collection, metadata: TaskMetadata, encode_kwargs: Mapping[str, Any]
) -> Found:
    """The best products of the whole corpus for each of T1's queries, in T1's order.

    Arguments are those of :func:`score_model`.

    Raises:
        ModelError: a cross-encoder, which would need a pass per query and product; else as
            :func:`score_model`.
    """
    if isinstance(model, CrossEncoderProtocol):
        raise ModelError(
            f"{model.mteb_model_meta.name} skips the whole corpus: a cross-encoder reads every "
            "pair, which takes a pass per query and product.",
            fix="Leave FashionRQRetrieval out, or pass raise_error=False to mteb.evaluate.",
        )
    retriever = _retriever(model, metadata, encode_kwargs)
    if retriever is not None:
        return search_catalog(retriever, collection)
    if _is_dense(model):
        encoder = _Encoder(model, metadata, dict(encode_kwargs))
        found = search_dense(encoder, collection, DEPTH, None)
    else:
        found = _search_corpus(_searcher(model), collection, metadata, dict(encode_kwargs))
    queries, products = len(collection.pairs.query_ids), len(collection.product_ids)
    found = checked(found, queries, products, str(model.mteb_model_meta.name))
    rows = queries_of(collection)
    return Found(found.scores[rows], found.product_index[rows])


def _retriever(
    model: Any, metadata: TaskMetadata, encode_kwargs: Mapping[str, Any]
) -> Retriever | None:
    """The retriever to ask in the model's place; None where mteb's wrapper must be asked."""
    if isinstance(model, RetrieverModel):
        return model.retriever
    own_prompt = _has_prompt_for(model, metadata.name)
    return None if own_prompt else as_retriever(model, encode_kwargs)


def _is_dense(model: Any) -> bool:
    """Whether vectors are asked for and compared here."""
    encodes = isinstance(model, EncoderProtocol) and not isinstance(model, SearchProtocol)
    return encodes and model.mteb_model_meta.similarity_fn_name in _DENSE


def _searcher(model: Any) -> Any:
    """A model as one that mteb can search with."""
    if isinstance(model, EncoderProtocol) and not isinstance(model, SearchProtocol):
        return SearchEncoderWrapper(model)
    if isinstance(model, CrossEncoderProtocol):
        return SearchCrossEncoderWrapper(model)
    if isinstance(model, SearchProtocol):
        return model
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


def _score_pools(
    model: Any, collection: Collection, metadata: TaskMetadata, encode_kwargs: dict[str, Any]
) -> Scores:
    """Ask a search model for the pools; one candidate for all products of one text."""
    pairs = collection.pairs
    texts, code = pool_texts(collection)
    asked, inverse = np.unique(
        np.stack([pairs.query_index, code], axis=1), axis=0, return_inverse=True
    )
    top_ranked: dict[str, list[str]] = {query_id: [] for query_id in pairs.query_ids}
    for query, document in asked.tolist():
        top_ranked[pairs.query_ids[query]].append(str(document))
    depth = max(map(len, top_ranked.values()))
    found = _answers(model, collection, texts, metadata, encode_kwargs, depth, top_ranked)
    name = str(model.mteb_model_meta.name)
    answers = [found.get(pairs.query_ids[query], {}).get(str(row)) for query, row in asked.tolist()]
    return _missing_last(answers, asked[:, 0], name)[inverse.ravel()]


def _search_corpus(
    model: Any, collection: Collection, metadata: TaskMetadata, encode_kwargs: dict[str, Any]
) -> Found:
    """Ask a search model for the best texts, and give each of their products its score."""
    texts, text_of = corpus_texts(collection)
    by_text = np.argsort(text_of, kind="stable")
    starts = np.searchsorted(text_of[by_text], np.arange(len(texts) + 1))
    found = _answers(model, collection, texts, metadata, encode_kwargs, DEPTH, None)
    queries = collection.pairs.query_ids
    scores = np.full((len(queries), DEPTH), -np.inf)
    places = np.full((len(queries), DEPTH), -1, dtype=np.int64)
    for row, query_id in enumerate(queries):
        answer = found.get(query_id, {})
        text = np.array([int(one) for one in answer], dtype=np.int64)
        sizes = starts[text + 1] - starts[text]
        products = [by_text[starts[one] : starts[one + 1]] for one in text]
        product = np.concatenate([*products, np.empty(0, dtype=np.int64)])
        score = np.repeat(np.array(list(answer.values()), dtype=np.float64), sizes)
        order = np.lexsort((product, -score))[:DEPTH]
        scores[row, : len(order)], places[row, : len(order)] = score[order], product[order]
    return Found(scores, places)


def _answers(
    model: Any,
    collection: Collection,
    texts: list[str],
    metadata: TaskMetadata,
    encode_kwargs: dict[str, Any],
    top_k: int,
    top_ranked: dict[str, list[str]] | None,
) -> Mapping[str, Mapping[str, float]]:
    """Query id to text number to score, from mteb's ``index`` and ``search``."""
    common: dict[str, Any] = {
        "task_metadata": metadata,
        "hf_split": SPLIT,
        "hf_subset": "default",
        "encode_kwargs": encode_kwargs,
        "num_proc": None,
    }
    pairs = collection.pairs
    model.index(
        Dataset.from_dict({"id": [str(row) for row in range(len(texts))], "text": texts}), **common
    )
    found: Mapping[str, Mapping[str, float]] = model.search(
        Dataset.from_dict({"id": pairs.query_ids, "text": pairs.queries}),
        top_k=top_k,
        top_ranked=top_ranked,
        **common,
    )
    return found


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
