"""A sentence-transformers model as a text encoder.

In:  a folder of safetensors, an :class:`EncoderConfig`, and a record of the paper's baselines or
     None.
Out: (N, d) float32 vectors; of length 1 unless normalisation is off.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from fashion_rq_bench.encoders._weights import refuse_pickled
from fashion_rq_bench.encoders.assemble import assemble
from fashion_rq_bench.encoders.baselines import Baseline
from fashion_rq_bench.encoders.encoding import (
    EncoderConfig,
    Role,
    Vectors,
    check_vectors,
    model_errors,
    text_only,
    unit_rows,
)
from fashion_rq_bench.encoders.tokens import count_tokens
from fashion_rq_bench.support.files import digest, read_json

__all__ = ["SentenceEncoder", "settings_key"]


class SentenceEncoder:
    """A sentence-transformers model read from a folder of safetensors, on first use."""

    def __init__(
        self,
        folder: Path,
        name: str,
        revision: str,
        config: EncoderConfig,
        baseline: Baseline | None = None,
    ) -> None:
        refuse_pickled(folder, name)
        self.name, self.revision = name, revision
        self._folder, self._config, self._baseline = folder, config, baseline

    @cached_property
    def model(self) -> Any:
        """The ``SentenceTransformer``, loaded when first asked for."""
        return assemble("dense", self._folder, self.name, self._config, self._baseline)

    @property
    def dim(self) -> int:
        """Length of a vector."""
        return int(self.model.get_embedding_dimension())

    @property
    def identity(self) -> str:
        """Name, revision and every setting that changes a vector."""
        key = settings_key(self._config, self._baseline)
        return f"{self.name}@{self.revision}#{key}"

    @property
    def similarity(self) -> str:
        """How the model's vectors are meant to be compared: "cosine", "dot" or another."""
        if self._baseline is not None:
            return self._baseline.similarity
        path = self._folder / "config_sentence_transformers.json"
        declared = read_json(path).get("similarity_fn_name") if path.is_file() else None
        return str(declared or "cosine")

    @property
    def normalizes(self) -> bool:
        """Whether vectors are divided by their length."""
        return self._config.normalize

    def encode(self, texts: Sequence[str], role: Role = "document") -> Vectors:
        """Vectors (N, dim) of N texts, of length 1 unless ``normalize`` is off.

        Raises:
            ModelError: the model failed, or returned the wrong shape or values not finite.
        """
        config = self._config
        prompt = config.query_prompt if role == "query" else config.document_prompt
        # encode_query and encode_document apply the prompts that the model itself declares.
        call = self.model.encode_query if role == "query" else self.model.encode_document
        return self._encode(call, texts, prompt or None)

    def count_tokens(self, texts: Sequence[str]) -> float:
        """Tokens that the model reads of texts, after truncation; NaN without a tokenizer."""
        return count_tokens(self.model, texts)

    def encode_images(self, images: Sequence[object]) -> Vectors:
        """Unit vectors (N, dim) of N PIL images, by a model with an image tower.

        Raises:
            ConfigError: the model reads text only.
            ModelError: as :meth:`encode`.
        """
        if "image" not in self.model.modalities:
            raise text_only(self.name)
        return self._encode(self.model.encode, images, None)

    def _encode(
        self, call: Callable[..., Any], items: Sequence[object], prompt: str | None
    ) -> Vectors:
        if not items:
            return np.empty((0, self.dim), dtype=np.float32)
        with model_errors(self.name, "encoding"):
            found = call(
                list(items),
                prompt=prompt,
                batch_size=self._config.batch_size,
                show_progress_bar=False,
                convert_to_numpy=True,
            )
        vectors: Vectors = np.asarray(found, dtype=np.float32)
        check_vectors(vectors, len(items), self.dim, self.name)
        return unit_rows(vectors) if self._config.normalize else vectors


def settings_key(config: EncoderConfig, baseline: Baseline | None = None) -> str:
    """Hash (8 hex digits) of all settings that change a vector: prompts, dtype, length, record."""
    settings = (config.dtype, str(config.max_length), str(config.normalize))
    prompts = (config.query_prompt, config.document_prompt)
    record = () if baseline is None else (repr(baseline),)
    return digest(*settings, *prompts, *record)[:8]
