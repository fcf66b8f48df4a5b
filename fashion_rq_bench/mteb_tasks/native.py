"""Sparse, late-interaction and cross-encoder models of sentence-transformers, run as we run them.

In:  such a model in mteb's wrapper.
Out: our retriever of that kind around the very same model, so that ``mteb.evaluate`` gives the
     figures of ``fashion-rq evaluate`` to the last digit: mteb's own wrappers add up in another
     order, and would hold the weights of a whole vocabulary for every text.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from fashion_rq_bench.encoders.baselines import Kind
from fashion_rq_bench.encoders.encoding import EncoderConfig
from fashion_rq_bench.encoders.loading import Located
from fashion_rq_bench.encoders.names import Target
from fashion_rq_bench.retrievers.base import Retriever
from fashion_rq_bench.retrievers.cross_encoder import Cross
from fashion_rq_bench.retrievers.late_interaction import LateInteraction
from fashion_rq_bench.retrievers.sparse import Sparse

__all__ = ["as_retriever"]

_KINDS: Mapping[str, tuple[Kind, Callable[..., Retriever]]] = {
    "SparseEncoder": ("sparse", Sparse),
    "MultiVectorEncoder": ("late-interaction", LateInteraction),
    "CrossEncoder": ("cross-encoder", Cross),
}
_OURS = {"batch_size", "show_progress_bar"}


def as_retriever(model: Any, encode_kwargs: Mapping[str, Any]) -> Retriever | None:
    """Our retriever around the model that an mteb wrapper holds.

    Args:
        model: as mteb hands it to a task.
        encode_kwargs: settings of the run.

    Returns:
        None for any other model, and where ``encode_kwargs`` ask for more than a batch size, which
        only mteb's wrapper understands.
    """
    inner = getattr(model, "model", None)
    ancestors = (one for one in type(inner).__mro__ if one.__module__.startswith("sentence_"))
    found = next((_KINDS[one.__name__] for one in ancestors if one.__name__ in _KINDS), None)
    if found is None or not set(encode_kwargs) <= _OURS:
        return None
    kind, retriever = found
    name, config = str(model.mteb_model_meta.name), EncoderConfig(**_batch(encode_kwargs))
    made = retriever(name, Target(kind, name), config, None)
    # The model is here already: what these properties would load on first use is put in its place.
    vars(made)["_located"] = Located(Path(), name, "in memory", config, None)
    vars(made)["_model"] = inner
    return made


def _batch(encode_kwargs: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in encode_kwargs.items() if name == "batch_size"}
