"""CLIP and SigLIP models in open_clip's format, such as Marqo's, without their repository's code.

In:  a folder with ``open_clip_config.json`` and ``open_clip_model.safetensors``.
Out: a :class:`~fashion_rq_bench.encoders.encoding.TextEncoder` of texts and pictures.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from fashion_rq_bench.encoders.encoding import Role, Vectors, check_vectors, model_errors, unit_rows
from fashion_rq_bench.encoders.loading import Located
from fashion_rq_bench.encoders.sentence import settings_key
from fashion_rq_bench.errors import ModelError
from fashion_rq_bench.support.files import read_json
from fashion_rq_bench.support.optional import require

__all__ = ["OpenClipEncoder"]


class OpenClipEncoder:
    """A two-tower model run by open_clip, loaded when first asked for."""

    similarity = "cosine"

    def __init__(self, located: Located) -> None:
        self.name, self.revision = located.name, located.revision
        self._folder, self._config = located.folder, located.config
        self._baseline = located.baseline

    @cached_property
    def _loaded(self) -> tuple[Any, Any, Any]:
        """Model, picture transform and tokenizer."""
        library = require("open_clip", "siglip")
        weights = self._folder / "open_clip_model.safetensors"
        if not weights.is_file():
            raise ModelError(
                f"{self.name} has no open_clip weights as safetensors.", given=weights.name
            )
        source = f"local-dir:{self._folder}"
        with model_errors(self.name, "loading"):
            model, _, transform = library.create_model_and_transforms(
                source, device=self._config.device or "cpu"
            )
            return model.eval(), transform, library.get_tokenizer(source)

    @property
    def dim(self) -> int:
        """Length of a vector."""
        config = read_json(self._folder / "open_clip_config.json")
        return int(config["model_cfg"]["embed_dim"])

    @property
    def identity(self) -> str:
        """Name, revision and every setting that changes a vector."""
        key = settings_key(self._config, self._baseline)
        return f"{self.name}@{self.revision}#open-clip-{key}"

    def encode(self, texts: Sequence[str], role: Role = "document") -> Vectors:
        """Unit vectors (N, dim) of N texts.

        Raises:
            ModelError: the model failed, or returned the wrong shape or values not finite.
        """
        prompt = self._config.query_prompt if role == "query" else self._config.document_prompt
        model, _, tokenizer = self._loaded
        return self._encode(
            [prompt + text for text in texts], lambda part: model.encode_text(tokenizer(part))
        )

    def encode_images(self, images: Sequence[object]) -> Vectors:
        """Unit vectors (N, dim) of N PIL images; errors as :meth:`encode`."""
        torch = require("torch", "build")
        model, transform, _ = self._loaded
        return self._encode(
            images, lambda part: model.encode_image(torch.stack([transform(one) for one in part]))
        )

    def _encode(self, items: Sequence[Any], forward: Callable[[Sequence[Any]], Any]) -> Vectors:
        torch = require("torch", "build")
        found = np.empty((len(items), self.dim), dtype=np.float32)
        size = self._config.batch_size
        for start in range(0, len(items), size):
            part = items[start : start + size]
            with model_errors(self.name, "encoding"), torch.inference_mode():
                vectors = forward(part).float().cpu().numpy()
            check_vectors(vectors, len(part), self.dim, self.name)
            found[start : start + size] = vectors
        return unit_rows(found)
