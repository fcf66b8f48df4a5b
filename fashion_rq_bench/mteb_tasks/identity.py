"""An identity for models that mteb cannot name.

In:  mteb's ``_sanitize_model``, through which every model given to ``mteb.evaluate`` goes.
Out: the same, except that a model loaded from a folder, or without a name or revision, is named
     after the hash of its weights.

mteb calls every such model ``no_model_name/available`` and caches scores under that name: the
second local model would be answered with the first one's score. Models with a Hub name and
revision keep theirs.
"""

from __future__ import annotations

import hashlib
import uuid
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from types import ModuleType
from typing import Any

__all__ = ["identify_unnamed_models", "weights_hash"]

_UNNAMED = "no_model_name/available"
_UNKNOWN = (None, "no_revision_available")
_MARK = "_fashion_rq_bench"


def identify_unnamed_models(evaluate: ModuleType) -> None:
    """Wrap ``_sanitize_model`` of the module ``mteb.evaluate``; once only."""
    original = getattr(evaluate, "_sanitize_model", None)
    if original is None or hasattr(original, _MARK):
        return
    wrapped = _identifying(original)
    setattr(wrapped, _MARK, True)
    vars(evaluate)["_sanitize_model"] = wrapped


def weights_hash(model: Any) -> str:
    """Hash (16 hex digits) of a torch module: its structure, prompts, parameters and buffers.

    A model without parameters has nothing to tell it by: it gets a random hash, so that it is
    never answered from a cache.
    """
    state = getattr(model, "state_dict", None)
    if state is None:
        return uuid.uuid4().hex[:16]
    total = hashlib.blake2b(digest_size=8)
    total.update(f"{model!r}{getattr(model, 'prompts', None)!r}".encode())
    for name, tensor in sorted(state().items()):
        total.update(f"{name}:{tensor.dtype}:{tuple(tensor.shape)}".encode())
        total.update(tensor.detach().cpu().contiguous().reshape(-1).view(_bytes()).numpy().data)
    return total.hexdigest()


def _bytes() -> Any:
    import torch

    return torch.uint8


def _identifying(original: Callable[[Any], Any]) -> Callable[[Any], Any]:
    @wraps(original)
    def _sanitize_model(model: Any) -> Any:
        wrapped, meta, name, revision = original(model)
        inner = getattr(wrapped, "model", None)
        folder = _local_folder(inner)
        named = name != _UNNAMED and revision not in _UNKNOWN and folder is None
        if named or wrapped is meta:  # metadata alone: mteb loads it from the Hub by its name
            return wrapped, meta, name, revision
        title = folder.name if folder is not None else type(inner or wrapped).__name__
        meta = meta.model_copy(
            update={
                "name": f"local/{title}" if name == _UNNAMED or folder is not None else name,
                "revision": weights_hash(inner),
            }
        )
        wrapped.mteb_model_meta = meta
        return wrapped, meta, meta.name, meta.revision

    return _sanitize_model


def _local_folder(model: Any) -> Path | None:
    """The folder a transformers-based model was loaded from, if it was one."""
    config = getattr(getattr(model, "transformers_model", None), "config", None)
    path = getattr(config, "_name_or_path", None)
    return Path(path).resolve() if path and Path(path).is_dir() else None
