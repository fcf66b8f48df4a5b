"""What sparse, late-interaction and cross-encoder models share: files, settings, identity, errors.

In:  a :class:`~fashion_rq_bench.encoders.names.Target` and an :class:`EncoderConfig`.
Out: a base class for retrievers that run a sentence-transformers model, loaded when first needed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import pyarrow as pa

from fashion_rq_bench.encoders.assemble import assemble
from fashion_rq_bench.encoders.encoding import EncoderConfig, Role, model_errors
from fashion_rq_bench.encoders.loading import Located, locate
from fashion_rq_bench.encoders.names import Target
from fashion_rq_bench.encoders.sentence import settings_key
from fashion_rq_bench.encoders.tokens import count_tokens
from fashion_rq_bench.encoders.vectors import Ints, Item, encode_rows

__all__ = ["ModelRetriever"]


@dataclass(frozen=True)
class ModelRetriever:
    """A model as a retriever; subclasses score with it.

    Attributes:
        name: as typed.
        target: its kind and where it lies.
        config: how it is run.
        cache: folder of finished shards; nothing is kept if None.
    """

    name: str
    target: Target
    config: EncoderConfig = field(default_factory=EncoderConfig)
    cache: Path | None = None

    @cached_property
    def _located(self) -> Located:
        """Its folder, revision and settings."""
        return locate(self.target, self.config)

    @cached_property
    def _model(self) -> Any:
        """The sentence-transformers model."""
        found = self._located
        return assemble(self.target.kind, found.folder, found.name, found.config, found.baseline)

    @property
    def identity(self) -> str:
        """Kind, weights and settings."""
        found = self._located
        key = settings_key(found.config, found.baseline)
        return f"{self.target.kind} {found.name}@{found.revision}#{key}"

    def count_tokens(self, items: Sequence[str] | Sequence[tuple[str, str]]) -> float:
        """Tokens that the model reads of items, after truncation; NaN without a tokenizer."""
        return count_tokens(self._model, items)

    def rows(
        self,
        items: Sequence[Item],
        role: str,
        encode: Callable[[list[Item]], pa.Table],
        leading: Sequence[Item] = (),
    ) -> tuple[list[pa.Table], Ints]:
        """The model's rows for items, kept, see :func:`~encoders.vectors.encode_rows`."""
        return encode_rows(
            items, encode, self.identity, role, cache=self.cache, leading=leading, counter=self
        )

    def encode(self, texts: list[str], role: Role, **form: bool) -> Any:
        """What the model makes of texts, with the role's prompt.

        Args:
            texts: N strings.
            role: "query" or "document".
            form: the form of the result, as the library's ``convert_to_...`` says.

        Raises:
            ModelError: the model failed.
        """
        config = self._located.config
        prompt = config.query_prompt if role == "query" else config.document_prompt
        with model_errors(self.name, "encoding"):
            call = self._model.encode_query if role == "query" else self._model.encode_document
            return call(
                texts,
                prompt=prompt or None,
                batch_size=config.batch_size,
                show_progress_bar=False,
                **form,
            )
